"""Kernels on text and sets against naive loops, the algebra of kernels, and their descriptions as text."""

import json
import pickle
import subprocess
import sys
import tracemalloc
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone

import apnc
from apnc.kernels import (
    BadObjectError,
    EditSimilarity,
    Jaccard,
    KernelChoice,
    ShortestPath,
    Spectrum,
    VectorKernel,
    WeisfeilerLehman,
    kernel_spelled,
    normalized,
)
from apnc.kernels.combined import NormalizedKernel
from apnc.progress import Progress
from apnc.rows import numbers_held
from apnc.sources import SourceError

WORDS = ["banana", "bandana", "ananas", "cabana", "savanna", "a", "", "ba", "Ärger", "😀😀b"] * 3 + [
    f"{a}{b}{a}n" for a in "abcdef" for b in "xyzuvw"
]
TOKENS = [
    ["home", "cart", "home"],
    ["home", "pay"],
    [1, "1", 2],
    [],
    ["home", "cart", "home", "cart"],
    [True, 1.5],
]
SETS = [{"a", "b"}, {"b", "c", "d"}, set(), {1, 2}, {"1", 2}, frozenset({"b"})]
COUNTS = [{"a": 2, "b": 1}, {"a": 1, "c": 3.5}, {}, {"b": 0.5}]


def runs(item, shortest, longest, positional, ends):
    """All runs of an object, counted in the plainest way."""
    codes = [*["<"] * ends, *item, *[">"] * ends] if isinstance(item, str) else [
        *[("mark", 0)] * ends, *((type(token).__name__, token) for token in item), *[("mark", 1)] * ends
    ]  # fmt: skip
    found = Counter()
    for length in range(shortest, longest + 1):
        for first in range(len(codes) - length + 1):
            found[(first if positional else None, *codes[first : first + length])] += 1
    return found


def naive_spectrum(A, B, shortest, longest, positional=False, ends=False, normalize=True):
    K = np.zeros((len(A), len(B)))
    for i, a in enumerate(A):
        for j, b in enumerate(B):
            x, y = (runs(item, shortest, longest, positional, ends) for item in (a, b))
            norms = (
                np.sqrt(sum(v * v for v in x.values()) * sum(v * v for v in y.values())) if normalize else 1.0
            )
            K[i, j] = sum(value * y[run] for run, value in x.items()) / norms if norms else 0.0
    return K


@pytest.mark.parametrize(
    "options", [(1, 1), (2, 3), (3, 5), (2, 2, True), (2, 3, False, True), (1, 4, True, True)]
)
@pytest.mark.parametrize("normalize", [True, False])
@pytest.mark.parametrize("objects", [WORDS, TOKENS], ids=["text", "tokens"])
def test_spectrum_equals_a_double_loop(options, normalize, objects):
    kernel = Spectrum(*options, normalize=normalize)
    expected = naive_spectrum(objects, objects[::2], *options, normalize=normalize)
    np.testing.assert_allclose(kernel(objects, objects[::2]), expected, atol=1e-12)
    own = naive_spectrum(objects, objects, *options, normalize=normalize).diagonal()
    np.testing.assert_allclose(kernel.diagonal(kernel.read(objects)), own, atol=1e-12)


def naive_jaccard(A, B):
    def counts(item):
        if isinstance(item, dict):
            return Counter(item)
        return Counter((type(one).__name__, one) for one in item)

    K = np.zeros((len(A), len(B)))
    for i, a in enumerate(map(counts, A)):
        for j, b in enumerate(map(counts, B)):
            most = sum(max(a[key], b[key]) for key in {*a, *b})
            K[i, j] = sum(min(a[key], b[key]) for key in a) / most if most else 0.0
    return K


@pytest.mark.parametrize(
    "objects", [SETS, COUNTS, [["a", "a", "b"], ["a"], [], [1, 1.5]]], ids=["sets", "counts", "lists"]
)
def test_jaccard_equals_a_double_loop(objects):
    kernel = Jaccard()
    np.testing.assert_allclose(kernel(objects, objects), naive_jaccard(objects, objects), atol=1e-12)
    np.testing.assert_allclose(
        kernel.diagonal(kernel.read(objects)), naive_jaccard(objects, objects).diagonal()
    )


def test_fingerprints_have_their_tanimoto_similarity():
    rng = np.random.default_rng(0)
    bits = rng.random((20, 64)) < 0.3
    shared = bits.astype(float) @ bits.T
    sizes = bits.sum(axis=1)
    objects = [np.flatnonzero(row).tolist() for row in bits]
    np.testing.assert_allclose(
        Jaccard()(objects, objects), shared / (sizes[:, None] + sizes - shared), atol=1e-12
    )


KERNELS = [
    Spectrum(1, 2), Spectrum(2, 3, ends=True, normalize=False), 2.0 * Spectrum(1, 1) + Spectrum(2, 2),
    Spectrum(1, 1) * Spectrum(2, 2, ends=True), Spectrum(1, 2).rbf(0.5), normalized(Spectrum(1, 2) + Spectrum(2, 2)),
]  # fmt: skip
TEXTS = st.lists(st.text("abcä", max_size=8), min_size=1, max_size=12)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@given(texts=TEXTS)
@settings(max_examples=30, deadline=None)
def test_properties(kernel, texts):
    K = kernel(texts, texts)
    np.testing.assert_allclose(K, K.T, atol=1e-12)
    assert kernel.psd
    assert np.linalg.eigvalsh(K).min() > -1e-9 * max(1.0, np.abs(K).max())
    np.testing.assert_allclose(kernel.diagonal(texts), K.diagonal(), atol=1e-12)
    rows = kernel.against(texts, np.float64)
    apart = np.concatenate([rows([text]) for text in texts]) * rows.factor
    np.testing.assert_array_equal(apart, K)
    if kernel.unit:
        assert set(np.round(K.diagonal(), 12)) <= {0.0, 1.0}


@given(items=st.lists(st.sets(st.sampled_from("abcdefg")), min_size=1, max_size=10))
@settings(max_examples=30, deadline=None)
def test_properties_of_jaccard(items):
    kernel = Jaccard()
    plain = kernel.read(items)
    assert kernel.read(plain) == plain
    json.dumps(plain)
    K = kernel(items, items)
    assert np.linalg.eigvalsh(K).min() > -1e-9
    np.testing.assert_array_equal(K, K.T)


def test_the_algebra_is_that_of_matrices():
    a, b = Spectrum(1, 1, normalize=False), Spectrum(2, 2)
    A, B = a(WORDS, WORDS), b(WORDS, WORDS)
    np.testing.assert_allclose((2.0 * a + b * 3)(WORDS, WORDS), 2 * A + 3 * B)
    np.testing.assert_allclose((a * b * b)(WORDS, WORDS), A * B * B)
    squares = A.diagonal()[:, None] + A.diagonal() - 2 * A
    np.testing.assert_allclose(a.rbf(0.1)(WORDS, WORDS), np.exp(-0.1 * squares), atol=1e-12)
    roots = np.sqrt(np.outer(A.diagonal(), A.diagonal()))
    expected = np.divide(A, roots, out=np.zeros_like(A), where=roots > 0)
    np.testing.assert_allclose(normalized(a)(WORDS, WORDS), expected, atol=1e-12)
    assert normalized(b) is b
    for float32 in (a + b, a * b, a.rbf(0.1), normalized(a)):
        rows = float32.against(WORDS, np.float32)
        room = np.empty((len(WORDS), len(WORDS)), np.float32)
        found = rows(WORDS, room) * rows.factor
        assert found.dtype == np.float32
        np.testing.assert_allclose(found, float32(WORDS, WORDS), rtol=1e-5, atol=1e-6)


def test_kernels_that_do_not_suit_each_other():
    with pytest.raises(ValueError, match="objects and vectors cannot be combined"):
        Spectrum() + VectorKernel("linear")
    with pytest.raises(ValueError, match="must be positive, got"):
        -1.0 * Spectrum()
    with pytest.raises(TypeError):
        Spectrum() + 3
    with pytest.raises(ValueError, match="gamma=-1"):
        Spectrum().rbf(-1)


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("jaccard", Jaccard()),
        ("spectrum", Spectrum()),
        ("spectrum(2, 3, ends=true)", Spectrum(2, 3, ends=True)),
        (" Spectrum(2,2,positional=True) ", Spectrum(2, 2, positional=True)),
        ("2 * spectrum(1,1) + jaccard", 2.0 * Spectrum(1, 1) + Jaccard()),
        ("normalized(spectrum(normalize=false) * jaccard)", normalized(Spectrum(normalize=False) * Jaccard())),
        ("spectrum(2, 2).rbf(0.5)", Spectrum(2, 2).rbf(0.5)),
        ("spectrum(2, 2).rbf()", Spectrum(2, 2).rbf()),
        ("edit_similarity", EditSimilarity()),
    ],
)  # fmt: skip
def test_descriptions(text, kernel):
    assert kernel_spelled(text) == kernel
    assert kernel_spelled(repr(kernel)) == kernel


@pytest.mark.parametrize(
    "text",
    ["spectrum(", "spectrum(2,", "nope(1)", "spectrum(bogus=1)", "spectrum(3, 2)", "spectrum(1, 2, 3, 4, 5, 6)",
     "1 + 1", "__import__('os').system('true')", "spectrum.__class__", "(lambda: 1)()", "spectrum(open('x'))",
     "[jaccard]", "spectrum(2.5)", "spectrum('a')", "jaccard - jaccard", "jaccard.rbf(1, 2, 3)", "f'{1}'",
     "spectrum(**{})",     "jaccard + 1", "(" * 500, "2 * 3", "spectrum(1 if 1 else 2)"],
)  # fmt: skip
def test_bad_descriptions_are_refused_and_nothing_is_run(text):
    with pytest.raises(ValueError, match=r"^kernel="):
        kernel_spelled(text)


def test_names_of_kernels_on_vectors_stay_names():
    assert apnc.checks.TABLE["kernel"].check("rbf") == "rbf"
    with pytest.raises(ValueError, match="Did you mean 'jaccard'"):
        apnc.KernelKMeans(2, kernel="jacard").fit([{1}, {2}, {3}])


def groups(seed=0):
    rng = np.random.default_rng(seed)
    letters = ("abcd", "efgh", "ijkl")
    labels = rng.integers(0, 3, 240)
    return ["".join(rng.choice(list(letters[k]), rng.integers(3, 9))) for k in labels], labels


@pytest.mark.parametrize("kernel", [Spectrum(1, 2), "spectrum(1, 2)", 0.5 * Spectrum(1, 1) + Spectrum(2, 2),
                                    Spectrum(1, 1).rbf(), normalized(Spectrum(1, 1, normalize=False)),
                                    EditSimilarity()],
                         ids=repr)  # fmt: skip
@pytest.mark.parametrize("estimator", [apnc.KernelKMeans, apnc.SpectralClustering])
def test_clusters_of_words(kernel, estimator, tmp_path):
    if isinstance(kernel, EditSimilarity):
        pytest.importorskip("rapidfuzz")
    words, truth = groups()
    km = estimator(3, kernel=kernel, n_landmarks=60, random_state=0).fit(words)
    assert len({(a, b) for a, b in zip(km.labels_, truth, strict=True)}) == 3
    loaded = apnc.load(km.save(tmp_path / "words.apnc"))
    np.testing.assert_array_equal(loaded.predict(words), km.labels_)
    assert loaded.kernel == kernel
    for n_jobs in (1, 2):
        again = clone(km).set_params(n_jobs=n_jobs).fit(words)
        np.testing.assert_array_equal(again.labels_, km.labels_)


def test_a_tuned_width_is_not_what_was_asked_for(tmp_path):
    words, _ = groups()
    km = apnc.KernelKMeans(3, kernel=Spectrum(1, 1).rbf(), random_state=0).fit(words)
    assert km.gamma_ > 0
    assert km.kernel.gamma is None
    assert apnc.load(km.save(tmp_path / "radial.apnc")).kernel == km.kernel


def test_normalising_a_normalised_kernel_changes_nothing():
    words, _ = groups()
    choice = KernelChoice(Spectrum(1, 2), normalize=True)
    assert choice.resolve(words, np.ones(len(words)), 0) == Spectrum(1, 2)
    raw = KernelChoice(Spectrum(1, 2, normalize=False), normalize=True).resolve(words, np.ones(len(words)), 0)
    assert raw == NormalizedKernel(Spectrum(1, 2, normalize=False))
    with pytest.raises(ValueError, match="normalize_kernel=False contradicts"):
        apnc.KernelKMeans(3, kernel=Spectrum(), normalize_kernel=False).fit(words)


def test_size_is_signal_without_normalising():
    words = ["a" * n for n in [2, 3, 4] * 20 + [40, 41, 42] * 20]
    km = apnc.KernelKMeans(2, kernel=Spectrum(1, 1, normalize=False), random_state=0).fit(words)
    assert len(set(km.labels_[:60])) == len(set(km.labels_[60:])) == 1
    assert km.labels_[0] != km.labels_[-1]


BAD = [
    (Spectrum(), ["abc"] * 5 + [None], "X, row 5: found None, expected text"),
    (Spectrum(), ["abc", b"abc"], "X, row 1: found bytes b'abc', expected text. Decode it first"),
    (Spectrum(), ["abc", 3], "X, row 1: found int 3, expected text"),
    (Spectrum(), [["a"], "abc"], "X, row 1: found str 'abc', expected text or a list of tokens"),
    (Spectrum(), [["a"], ["b", None]], "X, row 1: found None in a list"),
    (Jaccard(), [{"a"}, "abc"], "X, row 1: found str 'abc', expected a set"),
    (Jaccard(), [{"a": 1}, {"a": -1}], "X, row 1: the count of 'a' is -1"),
    (Jaccard(), [{"a": 1}, {"a": float("nan")}], "X, row 1: the count of 'a' is nan"),
    (Jaccard(), [{"a": 1}, {3: 1}], "X, row 1: found the item 3 in a dict"),
    (EditSimilarity(), ["a", {"b"}], "X, row 1: found set {'b'}, expected text"),
]


@pytest.mark.parametrize(
    ("kernel", "objects", "reason"), BAD, ids=lambda case: case if isinstance(case, str) else ""
)
def test_bad_objects_are_named(kernel, objects, reason):
    with pytest.raises(SourceError, match=f"^{reason}".replace("(", r"\(")):
        apnc.KernelKMeans(2, kernel=kernel).fit(objects)


def test_bad_objects_of_files_are_named(tmp_path):
    path = tmp_path / "words.jsonl"
    path.write_text("".join(f'"w{i}"\n' for i in range(12_344)) + "[3]\n")
    with pytest.raises(SourceError, match=r"words.jsonl, line 12345: found list \[3\], expected text"):
        apnc.KernelKMeans(2, kernel="spectrum").fit(path)


def test_objects_and_vectors_are_not_confused(tmp_path):
    with pytest.raises(
        ValueError, match=r"Spectrum takes a list of objects, got a csr_array of shape \(4, 4\)"
    ):
        apnc.KernelKMeans(2, kernel=Spectrum()).fit(sparse.csr_array(np.eye(4)))
    np.save(tmp_path / "rows.npy", np.eye(4))
    with pytest.raises(ValueError, match="has vectors of 4 numbers, but Spectrum takes objects"):
        apnc.KernelKMeans(2, kernel=Spectrum()).fit(tmp_path / "rows.npy")
    with pytest.raises(ValueError, match="Choose a kernel on objects"):
        apnc.KernelKMeans(2, kernel="cosine").fit(["abc", "abd"])


def test_objects_without_features_are_similar_to_nothing():
    words = ["abc", "abd", "", "a"] * 10
    km = apnc.KernelKMeans(2, kernel=Spectrum(2, 2), random_state=0).fit(words)
    assert len(km.labels_) == 40
    np.testing.assert_array_equal(Spectrum(2, 2)(["", "a"], words), 0.0)


def test_files_and_lists_give_the_same_labels(tmp_path):
    words, _ = groups()
    path = tmp_path / "words.jsonl"
    path.write_text("".join(json.dumps(word) + "\n" for word in words))
    km = apnc.KernelKMeans(3, kernel=Spectrum(1, 2), n_landmarks=50, random_state=0)
    np.testing.assert_array_equal(clone(km).fit(path).labels_, clone(km).fit(words).labels_)


def test_hashes_are_the_same_in_every_process():
    script = (
        "from apnc.kernels import Spectrum; print(Spectrum(2,3).features(['banana', 'Ärger']).ids.tolist())"
    )
    found = {subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout
             for _ in range(2)}  # fmt: skip
    assert found == {f"{Spectrum(2, 3).features(['banana', 'Ärger']).ids.tolist()}\n"}


class Stopping(Progress):
    def iteration(self, *_):
        raise KeyboardInterrupt


def test_checkpoints_know_the_kernel(tmp_path):
    words, _ = groups()
    km = apnc.KernelKMeans(3, kernel=Spectrum(1, 2), random_state=0)
    expected = clone(km).fit(words).labels_
    np.testing.assert_array_equal(clone(km).fit(words, checkpoint=tmp_path / "kept").labels_, expected)
    with pytest.raises(KeyboardInterrupt):
        clone(km).fit(words, checkpoint=tmp_path / "stopped", progress=Stopping())
    with pytest.raises(ValueError, match=r"kernel.*Spectrum\(shortest=1, longest=2"):
        clone(km).set_params(kernel=Spectrum(1, 3)).fit(words, checkpoint=tmp_path / "stopped")


def test_checkpoints_know_the_field_and_the_weights(tmp_path):
    path = tmp_path / "words.jsonl"
    path.write_text("".join(json.dumps({"x": word, "y": word[::-1], "w": 1}) + "\n" for word in groups()[0]))
    km = apnc.KernelKMeans(3, kernel=Spectrum(1, 2), random_state=0)
    with pytest.raises(KeyboardInterrupt):
        clone(km).fit(apnc.open(path, object_field="x"), checkpoint=tmp_path / "stopped", progress=Stopping())
    for other in ({"object_field": "y"}, {"object_field": "x", "weight_column": "w"}):
        with pytest.raises(ValueError, match=r"object_field|weight_column"):
            clone(km).fit(apnc.open(path, **other), checkpoint=tmp_path / "stopped")


def test_text_is_not_compared_with_tokens():
    km = apnc.KernelKMeans(2, kernel=Spectrum(1, 2), random_state=0).fit(["abab", "xyxy", "abba", "yxxy"])
    with pytest.raises(
        ValueError, match=r"The rows are lists of tokens, but the landmarks are text: pass text\."
    ):
        km.predict([list("abab")])
    with pytest.raises(ValueError, match="Some rows are text, others lists of tokens"):
        Spectrum().features(["abc", ["a"]])


@pytest.mark.parametrize(
    "text",
    [
        "spectrum(ends='no')",
        "spectrum(positional=1)",
        "weisfeiler_lehman(normalize='false')",
        "shortest_path(normalize=none)",
        "NormalizedKernel(3)",
        "VectorKernel('nonsense')",
        "VectorKernel('rbf', -1)",
        "RadialKernel(3)",
        "SumKernel((1, 2), (1, 1))",
        "ProductKernel((1, 2))",
        "'a' * 99999999999999",
        "1 + 2",
    ],
)
def test_descriptions_of_nothing_that_works_are_refused(text):
    with pytest.raises(ValueError, match="kernel="):
        kernel_spelled(text)


def test_a_normalised_kernel_is_loaded_as_it_was_asked_for(tmp_path):
    asked = Spectrum(1, 2, normalize=False)
    km = apnc.KernelKMeans(3, kernel=asked, normalize_kernel=True, random_state=0).fit(groups()[0])
    found = apnc.load(km.save(tmp_path / "words.apnc"))
    assert found.kernel == asked
    np.testing.assert_array_equal(found.predict(groups()[0]), km.labels_)


def test_errors_about_objects_can_be_sent_between_processes():
    found = pickle.loads(pickle.dumps(BadObjectError(3, "found None")))
    assert (found.position, str(found)) == (3, "found None")


def test_numbers_of_numpy_are_tokens_and_long_numbers_are_refused():
    assert Spectrum().read([[np.int64(1), np.str_("a")]]) == [[1, "a"]]
    with pytest.raises(BadObjectError, match="more than 1,000 digits"):
        Spectrum().read([[10**5000]])
    with pytest.raises(BadObjectError, match=r"is 1\.7e\+308, expected a number from 0 to 1e\+100"):
        Jaccard().read([{"a": 1.7e308}])


def test_a_width_too_small_to_be_squared():
    rows = ["ab", "ba", "abc"]
    assert (1e-320 * Spectrum(1, 1)).rbf().tuned(rows, np.ones(3)).gamma == 1.0


@pytest.mark.parametrize(
    ("kernel", "objects"),
    [
        (Spectrum(1, 50), ["".join("abcdefgh"[(i * j) % 7] for j in range(4000)) for i in range(12)]),
        (Jaccard(), [[f"{i}-{j}" for j in range(20_000)] for i in range(12)]),
        (
            ShortestPath(),
            [
                {
                    "n": 400,
                    "node_labels": [f"{i}-{j}" for j in range(400)],
                    "edges": [[j, j + 1] for j in range(399)],
                }
                for i in range(4)
            ],
        ),
        (WeisfeilerLehman(3), [{"n": 500_000 + i, "edges": [[0, 1]]} for i in range(12)]),
    ],
    ids=repr,
)
def test_memory_of_features_is_charged(kernel, objects):
    held = numbers_held(kernel.read(objects))
    rows = kernel.against(objects, np.float64)
    rows(objects)
    tracemalloc.start()
    rows = kernel.against(objects, np.float64)
    rows(objects)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    charged = len(objects) * (kernel.landmark_bytes(held) + kernel.work_bytes(held, len(objects), np.float64))
    assert peak < charged + 1_000_000


@pytest.mark.parametrize(
    "kernel", [Spectrum(2, 3), Jaccard(), EditSimilarity(), 2.0 * Spectrum(2, 3)], ids=repr
)
def test_what_shares_nothing_with_the_landmarks_is_an_outlier(kernel):
    words = groups()[0]
    odd = ["1234567", "äöüß"]
    if isinstance(kernel, Jaccard):
        words, odd = [list(word) for word in words], [list(word) for word in odd]
    km = apnc.KernelKMeans(3, kernel=kernel, random_state=0).fit(words)
    assert km.outlier_score(odd).min() > 0.99
    assert np.median(km.outlier_score(words)) < 0.9


@pytest.mark.parametrize("estimator", [apnc.KernelKMeans, apnc.SpectralClustering])
@pytest.mark.parametrize(
    "kernel",
    [
        2.0 * Spectrum(1, 2),
        Spectrum(1, 2) + EditSimilarity(),
        Spectrum(1, 2) * EditSimilarity(),
        Spectrum(1, 2) * Spectrum(1, 1).rbf(1.0),
        (Spectrum(1, 2) + EditSimilarity()) * Spectrum(1, 1),
    ],
    ids=repr,
)
def test_combinations_of_normalised_kernels_are_normalised(kernel, estimator, tmp_path):
    words = groups()[0]
    km = estimator(3, kernel=kernel, random_state=0).fit(words)
    explicit = clone(km).set_params(normalize_kernel=True).fit(words)
    np.testing.assert_array_equal(km.labels_, explicit.labels_)
    assert km.inertia_ == explicit.inertia_
    found = apnc.load(km.save(tmp_path / "words.apnc"))
    assert found.kernel == kernel
    np.testing.assert_array_equal(found.predict(words), km.predict(words))


def test_a_factor_changes_nothing():
    words = groups()[0]
    km = apnc.SpectralClustering(3, kernel=Spectrum(2, 3), random_state=0)
    np.testing.assert_array_equal(
        clone(km).set_params(kernel=2.0 * Spectrum(2, 3)).fit(words).labels_, km.fit(words).labels_
    )
    assert 1.0 * Spectrum(2, 3) == Spectrum(2, 3) == sum([Spectrum(2, 3)])


@pytest.mark.parametrize(
    "kernel",
    [
        2.0 * Spectrum(2, 3) + Jaccard(),
        (Spectrum(1, 2) + EditSimilarity()) * Spectrum(1, 1),
        (Spectrum(1, 2) + EditSimilarity()).rbf(),
        normalized(Spectrum(1, 2, normalize=False)).rbf(0.5),
    ],
    ids=repr,
)
def test_representations_can_be_pasted(kernel):
    assert eval(repr(kernel), vars(apnc.kernels)) == kernel == kernel_spelled(repr(kernel))


@pytest.mark.parametrize(
    "text", ["EditSimilarity", "editsimilarity", "WeisfeilerLehman(2)", "timewarp(band=0.1)"]
)
def test_names_with_and_without_underscores(text):
    assert type(kernel_spelled(text)).__name__.lower() == text.split("(")[0].lower()


def test_messages_for_people():
    with pytest.raises(ValueError, match=r"did you mean 'spectrum'\? Write it as"):
        kernel_spelled("spektrum(2, 2)")
    with pytest.raises(ValueError, match="'found' is found by a fit and cannot be set"):
        kernel_spelled("time_warp(found=true)")
    with pytest.raises(ValueError, match=r"expected a set, a list of items or a dict of counts\.$"):
        Jaccard().read([None])
    with pytest.raises(ValueError, match="Pass an instance, not the class"):
        apnc.KernelKMeans(2, kernel=Spectrum).fit(["ab", "cd"])
    assert Jaccard().read([{"a": 1, "b": None}]) == [{"a": 1.0}]
