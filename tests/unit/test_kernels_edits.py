"""The edit similarity of texts against naive dynamic programming and rapidfuzz."""

import inspect
import json
import sys

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import adjusted_rand_score
from typer.testing import CliRunner

import apnc
from apnc import KernelKMeans, SpectralClustering
from apnc.cli.app import app
from apnc.kernels import BadObjectError, EditSimilarity, kernel_spelled

#: Older versions mix both streams unless told not to.
APART = {"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}


@pytest.fixture
def rapidfuzz():
    return pytest.importorskip("rapidfuzz")


@pytest.fixture
def no_rapidfuzz(monkeypatch):
    for name in ("rapidfuzz", "rapidfuzz.distance", "rapidfuzz.process"):
        monkeypatch.setitem(sys.modules, name, None)


def naive(x, y):
    """By the length of the longest common subsequence."""
    table = np.zeros((len(x) + 1, len(y) + 1), int)
    for i, a in enumerate(x):
        for j, b in enumerate(y):
            table[i + 1, j + 1] = table[i, j] + 1 if a == b else max(table[i, j + 1], table[i + 1, j])
    total = len(x) + len(y)
    return 2 * table[-1, -1] / total if total else 1.0


def words(n=60, seed=0):
    """Misspelt forms of three words."""
    rng = np.random.default_rng(seed)
    found, kinds = [], np.arange(n) % 3
    for kind in kinds:
        letters = list(("kilimanjaro", "bougainville", "st. petersburg")[kind])
        letters[rng.integers(len(letters))] = str(rng.choice(list("xyzqv")))
        letters.insert(rng.integers(len(letters)), str(rng.choice(list("xyzqv"))))
        found.append("".join(letters))
    return found, kinds


text = st.text(st.sampled_from("abcä\u4e2d\U0001f600e\u0301 \0"), max_size=9)


@given(st.lists(text, min_size=1, max_size=5), st.lists(text, min_size=1, max_size=5))
@settings(deadline=None, max_examples=60)
def test_equals_dynamic_programming(A, B):
    pytest.importorskip("rapidfuzz")
    K = EditSimilarity()(A, B)
    np.testing.assert_allclose(K, [[naive(a, b) for b in B] for a in A], rtol=1e-12)
    np.testing.assert_array_equal(EditSimilarity()(B, A), K.T)
    np.testing.assert_array_equal(np.diag(EditSimilarity()(A, A)), EditSimilarity().diagonal(A))
    rows = EditSimilarity().against(B, np.float64)
    np.testing.assert_array_equal(np.vstack([rows([item]) for item in A]), K)
    assert EditSimilarity().read(EditSimilarity().read(A)) == A


def test_equals_rapidfuzz(rapidfuzz):
    from rapidfuzz.distance import Indel

    A, B = words(20)[0], words(15, seed=1)[0]
    expected = [[Indel.normalized_similarity(a, b) for b in B] for a in A]
    np.testing.assert_allclose(EditSimilarity()(A, B), expected, rtol=1e-12)
    rows = EditSimilarity().against(B, np.float32)(A)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(rows, expected, atol=1e-7)


def test_empty_text(rapidfuzz):
    np.testing.assert_array_equal(EditSimilarity()(["", "a"], ["", "a"]), np.eye(2))


def test_halves_of_surrogate_pairs(rapidfuzz):
    """JSON may contain them."""
    half = json.loads('"\\ud83d"')
    np.testing.assert_allclose(EditSimilarity()([half + "a", "a"], [half, "a"]), [[2 / 3, 2 / 3], [0, 1]])


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (None, "found None, expected text"),
        (b"a", "found bytes b'a', expected text. Decode it first."),
        (3, "found int 3, expected text"),
        (["a"], r"found list \['a'\], expected text"),
    ],
)
def test_bad_texts_are_named(rapidfuzz, bad, reason):
    with pytest.raises(BadObjectError, match=reason) as caught:
        EditSimilarity().read(["a", bad])
    assert caught.value.position == 1
    with pytest.raises(ValueError, match=f"X, row 1: {reason}"):
        KernelKMeans(2, kernel=EditSimilarity()).fit(["a", bad])


def test_clusters_of_words(rapidfuzz, tmp_path):
    texts, kinds = words()
    one = KernelKMeans(3, kernel=EditSimilarity(), n_landmarks=20, n_jobs=1, random_state=0).fit(texts)
    two = KernelKMeans(3, kernel="edit_similarity", n_landmarks=20, n_jobs=2, random_state=0).fit(texts)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert adjusted_rand_score(kinds, one.labels_) == 1.0
    loaded = apnc.load(one.save(tmp_path / "model.apnc"))
    assert loaded.kernel == EditSimilarity()
    np.testing.assert_array_equal(loaded.predict(texts), one.predict(texts))
    spectral = SpectralClustering(3, kernel=EditSimilarity(), random_state=0).fit(texts)
    assert adjusted_rand_score(kinds, spectral.labels_) == 1.0


def test_spelling():
    assert kernel_spelled(repr(EditSimilarity())) == kernel_spelled("edit_similarity") == EditSimilarity()


# Without the package


def test_a_missing_package_is_named(no_rapidfuzz):
    with pytest.raises(ImportError, match=r'needs rapidfuzz: pip install "apnc\[objects\]"'):
        KernelKMeans(2, kernel=EditSimilarity()).fit(["a", "b", "c"])


def test_a_missing_package_is_one_line_on_the_command_line(no_rapidfuzz, tmp_path):
    path = tmp_path / "words.jsonl"
    path.write_text('"a"\n"b"\n"c"\n')
    words = [
        "fit",
        str(path),
        "-k",
        "2",
        "--kernel",
        "edit_similarity",
        "--model",
        str(tmp_path / "m.apnc"),
        "--quiet",
    ]
    done = CliRunner(**APART).invoke(app, words)
    assert done.exit_code == 2
    assert done.stderr == 'apnc: The kernel EditSimilarity needs rapidfuzz: pip install "apnc[objects]".\n'
    assert [file.name for file in tmp_path.iterdir()] == ["words.jsonl"]
