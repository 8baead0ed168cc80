"""Model files: what is read predicts as what was written; nothing else is read, and nothing is run."""

import io
import json
import os
import pickle
import re
import stat
import subprocess
import sys
import tracemalloc
import zipfile
from collections import OrderedDict
from contextlib import suppress
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.validation import check_is_fitted

import apnc
from apnc import (
    Embedding,
    EnsembleEmbedding,
    KernelEmbedding,
    KernelKMeans,
    NystroemEmbedding,
    StableEmbedding,
)
from apnc.discrepancy import Discrepancy
from apnc.embeddings import Coefficients
from apnc.kernels import KERNELS
from apnc.persistence import ModelFileError
from apnc.persistence.container import Member, write_container
from apnc.persistence.functions import import_name
from apnc.persistence.plain import unlike_json

WORDS = [a + b + c for a in "abcd" for b in "efgh" for c in "ijkl"]


def shared_letters(A, B, power=1):
    return np.array([[len(set(a) & set(b)) for b in B] for a in A], dtype=float) ** power


def same_keys(A, B):
    return np.array([[len(set(a) & set(b)) + (a == b) for b in B] for a in A], dtype=float)


class Halved(Embedding):
    """An embedding of the user's own."""

    def coefficients(self, landmarks, kernel, n_components, rng):
        found = NystroemEmbedding().coefficients(landmarks, kernel, n_components, rng)
        return Coefficients(found.blocks, found.discrepancy, 0.5)


class Chebyshev(Discrepancy):
    def distances(self, Y, centroids):
        return np.abs(Y[:, None] - centroids).max(axis=2).astype(np.float64)


class Unusual(Embedding):
    def coefficients(self, landmarks, kernel, n_components, rng):
        found = NystroemEmbedding().coefficients(landmarks, kernel, n_components, rng)
        return Coefficients(found.blocks, Chebyshev())


def rows(dtype=np.float64):
    return np.random.default_rng(0).uniform(0, 1, size=(200, 4)).astype(dtype)


def k_means(X=None, **options):
    options = {"n_clusters": 3, "n_landmarks": 16, "n_components": 8, "random_state": 0, **options}
    return KernelKMeans(**options).fit(rows() if X is None else X)


def again(estimator, tmp_path, **options):
    path = tmp_path / "model.apnc"
    assert estimator.save(path) == path
    return apnc.load(path, **options)


def assert_same(one, two, X):
    assert type(one) is type(two)
    methods = ("transform", "predict", "embed", "score") if isinstance(one, KernelKMeans) else ("transform",)
    for method in methods:
        mine, theirs = getattr(one, method)(X), getattr(two, method)(X)
        np.testing.assert_array_equal(mine, theirs, err_msg=method)
        assert np.asarray(mine).dtype == np.asarray(theirs).dtype


# What is read is what was written.


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("normalize", [False, True])
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.filterwarnings("ignore")
def test_vector_kernels(kernel, normalize, dtype, tmp_path):
    X = rows(dtype)
    km = k_means(X, kernel=kernel, normalize_kernel=normalize)
    assert_same(km, again(km, tmp_path), X)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", [KernelKMeans, KernelEmbedding])
@pytest.mark.parametrize(
    "embedding",
    [
        "nystroem",
        "stable",
        "ensemble",
        "neighbours",
        StableEmbedding(0.3),
        EnsembleEmbedding(2, mixture_weights=[1, 3]),
        Halved(),
    ],
)
def test_embeddings(embedding, kind, dtype, tmp_path):
    X = rows(dtype)
    estimator = kind(embedding=embedding, n_landmarks=16, n_components=8, random_state=0).fit(X)
    loaded = again(estimator, tmp_path)
    assert_same(estimator, loaded, X)
    if not isinstance(embedding, Halved):
        assert str(loaded.get_params()) == str(estimator.get_params())


@pytest.mark.parametrize("scale", ["minmax", "standard", "unit"])
def test_scaled_features(scale, tmp_path):
    X = rows() * [1, 10, 100, 1000]
    km = k_means(X, scale=scale)
    assert_same(km, again(km, tmp_path), X)


@pytest.mark.parametrize("make", [sparse.csr_array, sparse.csr_matrix])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(
    "options",
    [{}, {"embedding": "ensemble"}, {"embedding": "neighbours"}, {"kernel": "linear"}, {"scale": "unit"}],
)
def test_sparse_landmarks(make, dtype, options, tmp_path):
    X = rows(dtype)
    X[X < 0.6] = 0
    X = make(X)
    km = k_means(X, **options)
    loaded = again(km, tmp_path)
    assert type(loaded.landmarks_) is type(km.landmarks_)
    assert_same(km, loaded, X)
    assert_same(km, loaded, X.toarray())


def test_sparse_landmarks_without_any_value(tmp_path):
    X = sparse.csr_array((5, 4))
    embedding = KernelEmbedding(gamma=1.0, n_landmarks=1).fit(X)
    assert_same(embedding, again(embedding, tmp_path), X)


@pytest.mark.parametrize("dtype", [">f8", np.float16, np.int64, np.uint8, bool])
def test_the_type_of_landmarks_is_kept(dtype, tmp_path):
    X = (rows() > 0.5 if dtype is bool else rows() * 8).astype(dtype)
    km = k_means(X)
    loaded = again(km, tmp_path)
    assert loaded.landmarks_.dtype == km.landmarks_.dtype
    assert_same(km, loaded, X)


@pytest.mark.parametrize("embedding", ["nystroem", "ensemble"])
def test_the_order_in_memory_is_kept(embedding, tmp_path):
    X = np.asfortranarray(rows() + 1e3)
    km = k_means(X, embedding=embedding)
    assert_same(km, again(km, tmp_path), X)
    whole = Member.of_array(np.asfortranarray(X)[3:7])
    assert np.lib.format.read_array(io.BytesIO(b"".join(map(bytes, whole.parts)))).flags.f_contiguous


@pytest.mark.parametrize("embedding", ["nystroem", "ensemble", "stable", "neighbours"])
def test_given_kernel(embedding, tmp_path):
    K = rbf_kernel(rows())
    km = k_means(K, kernel="precomputed", embedding=embedding)
    loaded = again(km, tmp_path)
    np.testing.assert_array_equal(loaded.landmark_indices_, km.landmark_indices_)
    assert_same(km, loaded, K)
    assert_same(km, loaded, K[:, km.landmark_indices_])


@pytest.mark.parametrize("normalize", [False, True])
def test_strings(normalize, tmp_path):
    km = k_means(
        WORDS, kernel=shared_letters, kernel_params={"power": 2}, normalize_kernel=normalize, n_landmarks=12
    )
    loaded = again(km, tmp_path, kernel=shared_letters)
    assert loaded.landmarks_ == km.landmarks_
    assert not hasattr(loaded, "n_features_in_")
    assert loaded.get_params() == km.get_params()
    assert_same(km, loaded, WORDS)


def test_records(tmp_path):
    keys = ["name", "size", "ä\u2028\ud800", "list", "flag", ""]
    values = [None, -0.0, 1e-310, 2**70, "line\nbreak", [1, [2.5, {"deep": True}]]]
    records = [{key: values[(i + j) % 6] for j, key in enumerate(keys[: i // 6 + 1])} for i in range(36)]
    km = k_means(records, kernel=same_keys, n_landmarks=20)
    loaded = again(km, tmp_path, kernel=same_keys)
    assert repr(loaded.landmarks_) == repr(km.landmarks_)
    assert_same(km, loaded, records)


def test_parameters_of_a_function_in_another_mapping(tmp_path):
    km = k_means(WORDS, kernel=shared_letters, kernel_params=OrderedDict(power=2))
    assert_same(km, again(km, tmp_path, kernel=shared_letters), WORDS)


def test_a_function_on_arrays(tmp_path):
    km = k_means(kernel=rbf_kernel, kernel_params={"gamma": 0.5})
    assert_same(km, again(km, tmp_path, trust="sklearn.metrics.pairwise:rbf_kernel"), rows())


def test_attributes(tmp_path):
    frame = pd.DataFrame(rows(), columns=["a", "b", "c", "d"])
    km = k_means(frame)
    loaded = again(km, tmp_path)
    names = {name for name in vars(km) if name.endswith("_")}
    assert names - {name for name in vars(loaded) if name.endswith("_")} == {"labels_"}
    for name in names - {"labels_"}:
        np.testing.assert_array_equal(getattr(loaded, name), getattr(km, name), err_msg=name)
    assert loaded.feature_names_in_.dtype == object
    with pytest.raises(ValueError, match="feature names"):
        loaded.predict(frame[["b", "a", "c", "d"]])
    with pytest.raises(AttributeError, match="not part of a model file"):
        _ = loaded.labels_


def test_a_loaded_estimator_is_like_any(tmp_path):
    X = rows()
    km = k_means()
    loaded = again(km, tmp_path)
    check_is_fitted(loaded)
    assert loaded.get_params() == km.get_params()
    assert_same(km, pickle.loads(pickle.dumps(loaded)), X)
    assert_same(km, clone(loaded).fit(X), X)
    assert_same(km, again(loaded, tmp_path), X)
    np.testing.assert_array_equal(loaded.fit(X).labels_, km.labels_)
    labels = tmp_path / "labels.csv"
    with pytest.raises(AttributeError, match=r"labels\.csv"):
        _ = loaded.fit(X, to=labels).labels_


def test_a_file_of_labels_is_forgotten(tmp_path):
    km = KernelKMeans(3, n_landmarks=16, random_state=0).fit(rows(), to=tmp_path / "labels.csv")
    with pytest.raises(AttributeError, match="not part of a model file"):
        _ = again(km, tmp_path).labels_


def test_parameters_that_json_has_not(tmp_path):
    X = rows()
    options = {"n_clusters": np.int64(3), "gamma": np.float64(2), "random_state": np.random.RandomState(0)}
    km = k_means(X, init=X[:3], embedding=EnsembleEmbedding(2, mixture_weights=(1, 3)), **options)
    loaded = again(km, tmp_path)
    assert (loaded.n_clusters, loaded.gamma, loaded.init) == (3, 2.0, "k-means++")
    assert loaded.embedding.get_params() == {"n_blocks": 2, "mixture_weights": None}
    schema = read_schema(tmp_path / "model.apnc")
    assert schema["parameters_not_stored"] == ["embedding.mixture_weights", "init", "random_state"]
    assert_same(km, loaded, X)
    assert again(k_means(embedding=Halved()), tmp_path).embedding == "nystroem"
    assert read_schema(tmp_path / "model.apnc")["parameters_not_stored"] == ["embedding"]


def test_equal_models_are_equal_files(tmp_path, monkeypatch):
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    for name in "ab":
        k_means().save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert read_schema(tmp_path / "a")["origin"]["created"] == "2023-11-14T22:13:20+00:00"


def test_members_of_many_gigabytes(tmp_path, monkeypatch):
    """Their sizes are written in another way, here from 100 bytes on."""
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    km = k_means()
    assert_same(km, again(km, tmp_path), rows())


def test_another_process(tmp_path):
    (tmp_path / "my_kernels.py").write_text(
        "import numpy as np\n"
        "def same(A, B):\n"
        "    return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])\n"
    )
    program = """
import sys, numpy as np, apnc
X, words = np.load("X.npy"), open("words").read().split()
km = apnc.load("vectors.apnc")
assert "my_kernels" not in sys.modules
by_name = apnc.load("words.apnc", trust="my_kernels:same")
np.savez("found.npz", a=km.transform(X), b=km.predict(X), c=by_name.transform(words), d=by_name.embed(words))
"""
    sys.path.insert(0, str(tmp_path))
    try:
        import my_kernels
    finally:
        sys.path.remove(str(tmp_path))
    X, km, words = rows(), k_means(), k_means(WORDS, kernel=my_kernels.same)
    np.save(tmp_path / "X.npy", X)
    (tmp_path / "words").write_text(" ".join(WORDS))
    km.save(tmp_path / "vectors.apnc")
    words.save(tmp_path / "words.apnc")
    source = str(Path(apnc.__file__).parents[1])
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(tmp_path), source])}
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    found = np.load(tmp_path / "found.npz")
    for name, value in zip(
        "abcd", [km.transform(X), km.predict(X), words.transform(WORDS), words.embed(WORDS)], strict=True
    ):
        np.testing.assert_array_equal(found[name], value)


# What cannot be stored.


def test_an_estimator_that_is_not_fitted(tmp_path):
    with pytest.raises(NotFittedError):
        KernelKMeans().save(tmp_path / "model.apnc")


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (("a", 1), "a tuple, which JSON would give back as a list"),
        ({"a": {1, 2}}, "a set"),
        (b"bytes", "a bytes"),
        ({1: "a"}, "the key 1"),
        (float("nan"), "NaN"),
        ([np.float64(1)], "a float64"),
        (np.str_("a"), "a str_"),
        ({"a": np.ones(2)}, "a ndarray"),
        (1 << 20_000, "thousands of digits"),
        (object(), "a object"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_objects_that_json_would_change(item, reason, tmp_path):
    assert reason in unlike_json(item)
    km = KernelKMeans(1, kernel=lambda A, B: np.ones((len(A), len(B))), n_landmarks=1).fit([item, item])
    with pytest.raises(ModelFileError, match=r"landmarks cannot be stored: item 0 of 1 is.*pickle"):
        km.save(tmp_path / "model.apnc")
    assert not list(tmp_path.iterdir())


def test_objects_without_end():
    endless = []
    endless.append(endless)
    assert "deep" in unlike_json(endless)


def test_parameters_of_a_function_that_json_would_change(tmp_path):
    km = k_means(WORDS, kernel=lambda A, B, w: shared_letters(A, B), kernel_params={"w": np.ones(2)})
    with pytest.raises(ModelFileError, match=r"kernel\.params cannot be stored.*ndarray.*partial"):
        km.save(tmp_path / "model.apnc")


@pytest.mark.filterwarnings("ignore")
def test_another_discrepancy(tmp_path):
    with pytest.raises(
        ModelFileError, match=r"discrepancy cannot be stored: it is a Chebyshev.*stored\.stored"
    ):
        k_means(embedding=Unusual()).save(tmp_path / "model.apnc")


def test_a_class_of_the_users_own(tmp_path):
    class Mine(KernelKMeans):
        pass

    with pytest.raises(ModelFileError, match=r"not the class .*Mine"):
        Mine(2, n_landmarks=10).fit(rows()).save(tmp_path / "model.apnc")


def test_parameters_that_were_changed_after_the_fit(tmp_path):
    path = tmp_path / "model.apnc"
    with pytest.raises(ModelFileError, match=r"model\.apnc.*'linear', but the model was fitted with 'rbf'"):
        k_means().set_params(kernel="linear").save(path)
    assert not list(tmp_path.iterdir())


def test_no_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="no folder"):
        k_means().save(tmp_path / "missing" / "model.apnc")
    assert not list(tmp_path.iterdir())


def test_a_read_only_folder(tmp_path, monkeypatch):
    """As root, who may write anywhere, by an error that the system would give to others."""
    km, real = k_means(), os.open

    def denied(path, flags, *more, **options):
        if flags & os.O_CREAT:
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, flags, *more, **options)

    if os.geteuid() == 0:
        monkeypatch.setattr(os, "open", denied)
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError, match="cannot be written"):
            km.save(tmp_path / "model.apnc")
    finally:
        tmp_path.chmod(0o700)
    assert not list(tmp_path.iterdir())


def test_a_failure_leaves_the_older_file(tmp_path, monkeypatch):
    path = tmp_path / "model.apnc"
    path.write_text("older")

    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("apnc.persistence.contents.write_container", full)
    with pytest.raises(OSError, match="No space"):
        k_means().save(path)
    assert path.read_text() == "older"
    assert list(tmp_path.iterdir()) == [path]


# Kernel functions.


def test_import_names():
    assert import_name(rbf_kernel) == "sklearn.metrics.pairwise:rbf_kernel"
    assert import_name(shared_letters) == f"{__name__}:shared_letters"
    assert import_name(lambda: 0) is None
    assert import_name(partial(shared_letters)) is None
    assert import_name(Halved().coefficients) is None


def test_a_function_of_a_script_has_no_import_name(monkeypatch):
    def of_script(A, B):
        return shared_letters(A, B)

    of_script.__module__, of_script.__qualname__ = "__main__", "of_script"
    monkeypatch.setattr(sys.modules["__main__"], "of_script", of_script, raising=False)
    assert import_name(of_script) is None


@pytest.fixture
def of_words(tmp_path):
    path = tmp_path / "words.apnc"
    k_means(WORDS, kernel=shared_letters).save(path)
    return path


def test_a_function_must_be_passed_again(of_words):
    name = f"{__name__}:shared_letters"
    with pytest.raises(ModelFileError, match=rf"kernel=function\), or apnc.load\(path, trust='{name}'\)"):
        apnc.load(of_words)
    assert apnc.load(of_words, trust=name).kernel is shared_letters
    with pytest.raises(ModelFileError, match=f"is the function {name}, but kernel= is {__name__}:same_keys"):
        apnc.load(of_words, kernel=same_keys)
    with pytest.raises(ModelFileError, match=f"is the function {name}, but kernel= is .*lambda"):
        apnc.load(of_words, kernel=lambda A, B: 0)
    with pytest.raises(ModelFileError, match="nothing was imported"):
        apnc.load(of_words, trust="os:system")
    with pytest.raises(ModelFileError, match="both given"):
        apnc.load(of_words, kernel=shared_letters, trust=name)
    with pytest.raises(ModelFileError, match="must be a function"):
        apnc.load(of_words, kernel="rbf")


def test_a_function_without_a_name(tmp_path):
    function = partial(shared_letters, power=2)
    km = k_means(WORDS, kernel=function)
    assert_same(km, again(km, tmp_path, kernel=function), WORDS)
    assert_same(km, again(km, tmp_path, kernel=lambda A, B: shared_letters(A, B, 2)), WORDS)
    with pytest.raises(ModelFileError, match="without an import name"):
        again(km, tmp_path)
    with pytest.raises(ModelFileError, match="without an import name"):
        again(km, tmp_path, trust="a:b")


@pytest.mark.parametrize("options", [{"kernel": rbf_kernel}, {"trust": "os:system"}])
def test_a_kernel_that_is_no_function(options, tmp_path):
    with pytest.raises(ModelFileError, match="the kernel is 'rbf', not a function"):
        again(k_means(), tmp_path, **options)


@pytest.mark.parametrize("name", ["sentinel_module:run", "os:system"])
def test_nothing_is_imported_by_a_file(name, of_words, tmp_path, monkeypatch):
    (tmp_path / "sentinel_module.py").write_text("raise SystemExit('imported')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(os, "system", lambda *arguments: pytest.fail("run"))
    change(of_words, lambda schema: schema["model"]["embedding"]["kernel"].update(function=name))
    for options in ({}, {"kernel": shared_letters}, {"trust": f"{__name__}:shared_letters"}):
        with pytest.raises(ModelFileError):
            apnc.load(of_words, **options)
    assert "sentinel_module" not in sys.modules


@pytest.mark.parametrize("name", ["missing_module_of_mine:f", "os:missing", "os:curdir"])
def test_a_trusted_function_that_is_not_there(name, of_words):
    change(of_words, lambda schema: schema["model"]["embedding"]["kernel"].update(function=name))
    with pytest.raises(ModelFileError, match=r"cannot be imported|not a function"):
        apnc.load(of_words, trust=name)


# Files that are not what they should be.


def read_schema(path):
    with zipfile.ZipFile(path) as archive:
        return json.loads(archive.read("schema.json"))


def read_members(path):
    with zipfile.ZipFile(path) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def write_zip(path, members, **options):
    with zipfile.ZipFile(path, "w", **options) as archive:
        for name, data in members.items():
            archive.writestr(name, data)


def change(path, edit):
    """Edit the schema; sizes and checksums stay right."""
    members = read_members(path)
    schema = json.loads(members.pop("schema.json"))
    edit(schema)
    text = json.dumps(schema).replace("Infinity", "1e999")
    write_zip(path, {"schema.json": text, **members})


def exchange(path, **arrays):
    """Exchange members; the schema is made to fit, as an attacker would."""
    members = read_members(path)
    schema = json.loads(members.pop("schema.json"))
    members |= {name.replace("__", "."): data for name, data in arrays.items()}
    del schema["members"]
    write_container(path, schema, {name: Member((data,)) for name, data in members.items()})


def npy(array, **options):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, **options)
    return out.getvalue()


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "model.apnc"
    k_means().save(path)
    return path


def refused(path, reason, **options):
    with pytest.raises(ModelFileError, match=reason) as caught:
        apnc.load(path, **options)
    assert str(path) in str(caught.value)


def test_the_helpers_leave_a_file_readable(path):
    change(path, lambda schema: None)
    apnc.load(path)
    exchange(path)
    apnc.load(path)


def test_no_file(tmp_path):
    with pytest.raises(FileNotFoundError):
        apnc.load(tmp_path / "missing")


@pytest.mark.parametrize("text", [b"", b"PK", b"\x80\x04pickle", b"x" * 1000, pickle.dumps([1, 2])])
def test_not_a_zip(text, path):
    path.write_bytes(text)
    refused(path, "is not a model file")


def test_another_zip(path):
    write_zip(path, {"a.npy": npy(np.ones(3))})
    refused(path, r"is not a model file, but another zip: schema\.json is missing")


def test_cut_off_anywhere(path):
    whole = path.read_bytes()
    for size in range(0, len(whole) - 1, 97):
        path.write_bytes(whole[:size])
        refused(path, None)


def test_flipped_bytes_anywhere(path):
    whole, X = path.read_bytes(), rows()[:20]
    expected = apnc.load(path).transform(X)
    rng = np.random.default_rng(0)
    directory = np.arange(len(whole) - 500, len(whole))
    positions = np.concatenate([rng.integers(len(whole), size=700), directory])
    for position in positions.tolist():
        damaged = bytearray(whole)
        damaged[position] ^= int(rng.integers(1, 256))
        path.write_bytes(damaged)
        try:
            loaded = apnc.load(path)
        except ModelFileError:
            continue
        np.testing.assert_array_equal(loaded.transform(X), expected)


@pytest.mark.parametrize(
    "name", ["../up.npy", "/root.npy", "folder/a.npy", "..\\up.npy", "C:\\a.npy", "a.pkl", "Ä.npy", "folder/"]
)
def test_names_that_are_not_plain(name, path):
    write_zip(path, {**read_members(path), name: b"x"})
    refused(path, "is not a valid member name")


def test_a_member_twice(path):
    centroids = read_members(path)["model_clusters_centroids.npy"]
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("model_clusters_centroids.npy", centroids)
    refused(path, "centroids.npy.*twice")


def test_a_link(path):
    members = read_members(path)
    link = zipfile.ZipInfo("model_clusters_centroids.npy")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(link if name == link.filename else name, data)
    refused(path, "centroids.npy.*link")


def test_a_bomb(path):
    write_zip(path, {**read_members(path), "zeros.npy": bytes(10_000_000)}, compression=zipfile.ZIP_DEFLATED)
    refused(path, "is compressed")


def test_members_that_overlap(path):
    """A directory whose entries point to the same bytes claims more than the file has."""
    with zipfile.ZipFile(path, "a") as archive:
        largest = max(archive.infolist(), key=lambda info: info.file_size)
        for i in range(50):
            copy = zipfile.ZipInfo(f"copy_{i}.npy")
            copy.header_offset, copy.CRC = largest.header_offset, largest.CRC
            copy.file_size = copy.compress_size = largest.file_size
            archive.filelist.append(copy)
        archive._didModify = True
    refused(path, "members of .* bytes in a file of")


def test_a_schema_that_is_too_large(path, monkeypatch):
    monkeypatch.setattr("apnc.persistence.container.SCHEMA_BYTES", 100)
    refused(path, r"schema\.json: .* the limit is 100")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[" * 100000,
        b'{"a":' * 100000,
        b'{"format": NaN}',
        b'{"a": 1, "a": 1}',
        b"1" * 10000,
        b"[]",
        b"null",
        b'"text"',
        b"{}",
    ],
)
def test_schemas_that_are_no_json_object(text, path):
    write_zip(path, {**read_members(path), "schema.json": text})
    refused(path, r"schema\.json: ")


def test_a_field_twice(path):
    members = read_members(path)
    text = members["schema.json"].replace(b'"version": 2,', b'"version": 2, "version": 2,')
    write_zip(path, {**members, "schema.json": text})
    refused(path, "a field occurs twice")


def test_another_version(path):
    change(path, lambda schema: schema.update(version=3))
    refused(path, "format version 3, but this apnc reads 2.*newer")
    change(path, lambda schema: schema.update(version=1))
    refused(path, "format version 1, but this apnc reads 2.*again")
    change(path, lambda schema: schema.update(version=2, format="other"))
    refused(path, "format is 'other', expected 'apnc-model'")


def test_members_that_are_not_listed(path):
    write_zip(path, {**read_members(path), "more.npy": npy(np.ones(1))})
    refused(path, "only in the zip: more.npy")


def test_listed_members_that_are_unknown(path):
    exchange(path, more__npy=npy(np.ones(1)))
    refused(path, "more.npy: is not part of the model")


@pytest.mark.parametrize(
    "name",
    [
        "model_clusters_centroids.npy",
        "model_embedding_coefficients_blocks_0_weights.npy",
        "model_embedding_coefficients_blocks_0_landmarks.npy",
    ],
)
def test_members_that_are_missing(name, path):
    members = read_members(path)
    schema = json.loads(members.pop("schema.json"))
    del members[name]
    write_zip(path, {"schema.json": json.dumps(schema), **members})
    refused(path, f"only in the zip: {name}")
    del schema["members"][name]
    write_zip(path, {"schema.json": json.dumps(schema), **members})
    refused(path, f"{name}: is missing")


def test_wrong_sizes_and_checksums(path):
    original = read_members(path)
    change(path, lambda schema: schema["members"]["model_clusters_centroids.npy"].update(size=10**15))
    refused(path, "centroids.npy: has .* bytes, but the schema declares 1000000000000000")
    other = npy(np.zeros((3, 8)))
    assert len(other) == len(original["model_clusters_centroids.npy"])
    write_zip(path, {**original, "model_clusters_centroids.npy": other})
    refused(path, "centroids.npy: its SHA-256")


def test_a_pickle_inside(path):
    class Run:
        def __reduce__(self):
            return pytest.fail, ("run",)

    objects = np.array([[Run()] * 8] * 3, dtype=object)
    exchange(path, model_clusters_centroids__npy=npy(objects, allow_pickle=True))
    refused(path, "centroids.npy: values of type object")
    exchange(path, model_clusters_centroids__npy=pickle.dumps(Run()))
    refused(path, "centroids.npy: damaged")


@pytest.mark.parametrize(
    ("array", "reason"),
    [
        (np.zeros((3, 7)), r"centroids have 7 components, expected 8"),
        (np.zeros((2, 8)), r"sizes have shape \(3,\), expected \(2,\)"),
        (np.zeros(24), r"shape \(24,\)"),
        (np.full((3, 8), 1e19), "centroids are beyond"),
        (np.full((3, 8), np.nan), "24 values are NaN"),
        (np.full((3, 8), "a"), "type <U1"),
        (np.zeros((3, 8), dtype=complex), "complex"),
        (np.zeros((3, 8), dtype=[("a", float)]), "type"),
    ],
)
def test_arrays_that_do_not_fit(array, reason, path):
    exchange(path, model_clusters_centroids__npy=npy(array))
    refused(path, f"model(_clusters_centroids.npy|.clusters)?: .*{reason}")


def test_a_header_that_promises_more(path):
    good = npy(np.zeros((3, 8)))
    exchange(path, model_clusters_centroids__npy=good[:-8])
    refused(path, "centroids.npy: 184 bytes of values, but shape .* needs 192")
    exchange(path, model_clusters_centroids__npy=good + b"more")
    refused(path, "centroids.npy: 196 bytes")
    huge = good.replace(b"(3, 8), }" + b" " * 16, b"(3, 8000000000000000), }" + b" ")
    assert len(huge) == len(good)
    exchange(path, model_clusters_centroids__npy=huge)
    refused(path, "centroids.npy: 192 bytes of values, but shape .* needs")
    for header in (b"{'descr': (", b"__import__('os')", b"'" * 50, b"{}", b"\x00"):
        broken = good[:10] + header.ljust(118) + good[128:]
        exchange(path, model_clusters_centroids__npy=broken)
        refused(path, "centroids.npy: damaged")


K, M, C = "model.embedding.kernel", "model.embedding.coefficients", "model.clusters"
WRONG = {
    "estimator": ["KMeans", 1, None],
    "parameters": [[], None, {"other": 1}, {"kernel": "linear"}, {"embedding": 1}, {"embedding": {}}],
    "parameters.embedding": [
        {"type": "Halved"},
        {"type": "StableEmbedding", "n_blocks": 1},
        {"n_blocks": 1},
        [],
    ],
    "parameters_not_stored": [None, [1], "a"],
    "origin": [None, {}, {"type": "Origin"}, {"type": "Features", "number": 0, "names": None}],
    "origin.created": [1, None],
    "origin.written_by": [None, {"apnc": 1}],
    "origin.configuration": [None, 1],
    "model": [None, [], {}, {"type": "Clusters"}, {"type": ["Model"]}],
    "model.features": [None, 1, {"number": 4, "names": None}],
    "model.features.number": [5, -4, None, 4.0],
    "model.features.names": [["a"], [1, 2, 3, 4], "abcd"],
    "model.embedding.scaling": [1, {}, {"type": "Euclidean"}, {"type": "Scaling", "kind": "unit"}],
    "model.embedding.residual": [None, "0", 1e999],
    K: [
        None,
        {},
        {"type": "Euclidean"},
        {"type": "os:system"},
        {"type": "PrecomputedKernel", "n_instances": 4},
    ],
    f"{K}.name": ["os", None],
    f"{K}.gamma": [0, -1.0, None, "local", 1e309],
    f"{K}.coef0": [None, "1"],
    f"{K}.degree": [0, -1, None],
    f"{K}.more": [1],
    f"{M}.discrepancy": ["Euclidean", None, [], {}, {"type": "Chebyshev"}, {"type": "Euclidean", "more": 1}],
    f"{M}.beta": ["1", None, True, 1e999, 10**400, 0, -1.0, 1e300],
    f"{M}.dropped": [-1, 0.5, True],
    f"{M}.negative": [None, -0.1, 1.5],
    f"{M}.blocks": [None, [], {}, [1], [{}], [{"type": "Block"}]],
    C: [None, 1, {}, {"type": "Clusters"}],
    f"{C}.centroids": [None, "other.npy", "../centroids.npy", 1, ["model_clusters_centroids.npy"]],
    f"{C}.inertia": [None, 1e999],
    f"{C}.n_iter": [-1, 1.5, None],
    f"{C}.sizes": ["model_clusters_centroids.npy", True],
    f"{C}.quantiles": [1, {}, {"type": "Euclidean"}, {"type": "Quantiles", "unit": 1.0}],
    f"{C}.quantiles.unit": [0, None, "1", 0.3],
    f"{C}.quantiles.diagonal": [0, -1.0, "1", 1e999],
    f"{C}.groups": ["model_clusters_sizes.npy", 1, [0, 0, 0]],
    "members": [None, [], {}],
    "version": ["1", None, 0, 1.0, True],
    "unknown": [1],
}


def put(schema, field, value):
    *way, last = field.split(".")
    for name in way:
        schema = schema[name]
    schema[last] = value


@pytest.mark.parametrize(("field", "value"), [(field, value) for field in WRONG for value in WRONG[field]])
def test_fields_of_a_wrong_type_or_value(field, value, path):
    change(path, lambda schema: put(schema, field, value))
    last = field.rsplit(".", 1)[-1]
    refused(
        path, f"schema.json: {re.escape(field)}|model[a-z.]*: .*{last}|{field.replace('.', '_')}_.*not part"
    )


PARAMETERS = {
    "n_clusters": ["3", True, 0, -1, 2**60],
    "kernel": ["os", ["rbf"], None],
    "gamma": [-1, "tuned", True, []],
    "coef0": [None, "1", True],
    "degree": [0, None],
    "kernel_params": [[], "a", {"power": 2}],
    "normalize_kernel": [1, None],
    "scale": ["other", 1],
    "embedding": ["other"],
    "n_landmarks": [0, "all", 1.5],
    "n_components": [-1, None],
    "init": ["other", [0, 1, 2], None],
    "n_init": [0, "all"],
    "max_iter": [0, 1.5],
    "tol": [-1, "0", 1e309],
    "random_state": [-1, 2**32, 0.5, "0"],
    "n_jobs": [0, "all", 1.5],
    "memory_limit": ["../../etc/passwd", 1, "4XB", True, 10**400, {}],
    "verbose": ["a", None],
}


def test_every_parameter_has_a_check():
    assert set(PARAMETERS) == set(KernelKMeans().get_params(deep=False))
    assert set(PARAMETERS) >= set(KernelEmbedding().get_params(deep=False))


@pytest.mark.parametrize(("name", "value"), [(n, value) for n in PARAMETERS for value in PARAMETERS[n]])
def test_parameters_that_the_constructor_would_take(name, value, path):
    change(path, lambda schema: schema["parameters"].update({name: value}))
    refused(path, f"parameters.*{name}")


@pytest.mark.parametrize(
    ("embedding", "name", "value"),
    [
        *(("EnsembleEmbedding", "n_blocks", value) for value in (0, True, 1.5, None)),
        *(("EnsembleEmbedding", "mixture_weights", value) for value in ([], [0, 0], [-1, 2], ["a"], 1)),
        *(("StableEmbedding", "subset_size", value) for value in (0, -1, "a", None, True)),
    ],
)
def test_parameters_of_embeddings(embedding, name, value, path):
    change(path, lambda schema: schema["parameters"].update(embedding={"type": embedding, name: value}))
    refused(path, f"parameters.embedding.{name}")


ODD = [None, True, -1, 0, 1, 2**60, 0.5, -1e308, "", "os:system", [], [1], {}, {"a": 1}, float("inf")]


def leaves(value, where=()):
    yield where
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from leaves(part, (*where, name))


def test_any_value_anywhere_in_the_schema(path):
    """Another model may come out, but no other error, and one that predicts."""
    original, X = path.read_bytes(), rows()[:20]
    for where in list(leaves(read_schema(path)))[1:]:
        for odd in ODD:

            def exchanged(schema, where=where, odd=odd):
                for name in where[:-1]:
                    schema = schema[name]
                schema[where[-1]] = odd

            change(path, exchanged)
            with suppress(ModelFileError):
                assert np.isfinite(apnc.load(path).transform(X)).all(), (where, odd)
            path.write_bytes(original)


@pytest.mark.parametrize("odd", [1e308, -1e300, 1e150, 1e38, 1e19, 1e-308, 0])
@pytest.mark.parametrize(
    "options", [{}, {"kernel": "linear"}, {"embedding": "stable"}, {"scale": "standard"}]
)
@pytest.mark.filterwarnings("ignore")
def test_any_value_in_an_array(options, odd, tmp_path):
    """As in the schema: another model that predicts, or none."""
    path, X = tmp_path / "model.apnc", rows()[:20]
    k_means(**options).save(path)
    original, members = path.read_bytes(), read_members(path)
    for name in set(members) - {"schema.json"}:
        array = np.lib.format.read_array(io.BytesIO(members[name]))
        array[(-1,) * array.ndim] = odd
        exchange(path, **{name.replace(".", "__"): npy(array)})
        with suppress(ModelFileError):
            assert np.isfinite(apnc.load(path).transform(X)).all(), name
        path.write_bytes(original)


def test_clusters_are_for_estimators_with_clusters(path, tmp_path):
    change(path, lambda schema: schema.update(estimator="KernelEmbedding"))
    refused(path, "parameters.init is not a parameter|model.clusters is there")
    k_means().save(path)
    members = {name: data for name, data in read_members(path).items() if "clusters" not in name}
    schema = json.loads(members.pop("schema.json"))
    schema["model"]["clusters"] = None
    del schema["members"]
    write_container(path, schema, {name: Member((data,)) for name, data in members.items()})
    refused(path, "model.clusters is null, which is not for a KernelKMeans")


def test_flipped_bytes_in_arrays_whose_checksum_is_made_to_fit(path):
    original, good = path.read_bytes(), read_members(path)["model_clusters_centroids.npy"]
    rng = np.random.default_rng(0)
    for position in range(140):
        damaged = bytearray(good)
        damaged[position] ^= int(rng.integers(1, 256))
        exchange(path, model_clusters_centroids__npy=bytes(damaged))
        with suppress(ModelFileError):
            assert apnc.load(path).cluster_centers_.shape == (3, 8)
        path.write_bytes(original)


#: Files of an older version lack them.
ADDED_LATER = [
    ("model", "clusters", "quantiles"),
    ("model", "clusters", "quantiles", "diagonal"),
    ("model", "clusters", "groups"),
]


def test_every_field_is_needed(path):
    original = path.read_bytes()
    for where in list(leaves(read_schema(path)))[1:]:
        if (
            isinstance(where[-1], str)
            and where[0] not in ("parameters", "members")
            and where[1:2] != ("written_by",)
            and where not in ADDED_LATER
        ):

            def without(schema, where=where):
                for name in where[:-1]:
                    schema = schema[name]
                del schema[where[-1]]

            change(path, without)
            refused(path, f"{where[-1]} is missing")
            path.write_bytes(original)


@pytest.mark.parametrize(
    ("member", "array"),
    [
        ("indices", [0, 1, 4]),
        ("indices", [-1, 0, 1]),
        ("indices", [0, 1]),
        ("indptr", [0, 2, 1, 3]),
        ("indptr", [1, 1, 2, 3]),
        ("indptr", [0, 1, 2, 4]),
        ("indptr", [0, 3]),
    ],
)
def test_sparse_rows_that_would_read_elsewhere(member, array, tmp_path):
    path = tmp_path / "model.apnc"
    KernelEmbedding(gamma=1.0, n_landmarks=3).fit(sparse.csr_array(np.eye(3, 4))).save(path)
    apnc.load(path)
    name = f"model_embedding_coefficients_blocks_0_landmarks_{member}"
    exchange(path, **{f"{name}__npy": npy(np.array(array, dtype=np.int32))})
    refused(path, f"{name}.npy: ")


def test_sparse_rows_that_claim_to_be_wide(tmp_path):
    """The width is the file's word alone: no memory is taken for it."""
    path = tmp_path / "model.apnc"
    KernelEmbedding(gamma=1.0, n_landmarks=3).fit(sparse.csr_array(np.eye(3, 4))).save(path)

    def widen(schema):
        schema["model"]["features"]["number"] = 2**50
        schema["model"]["embedding"]["coefficients"]["blocks"][0]["landmarks"]["shape"] = [3, 2**50]

    change(path, widen)
    assert apnc.load(path).n_features_in_ == 2**50


@pytest.mark.parametrize("numbers", [[0, 1, 1], [-1, 0, 1], [0, 1, 200], [3, 4, 5]])
def test_given_rows_that_are_elsewhere(numbers, tmp_path):
    path = tmp_path / "model.apnc"
    KernelEmbedding(kernel="precomputed", n_landmarks=3, random_state=0).fit(np.eye(3)).save(path)
    change(path, lambda schema: schema["model"]["embedding"]["kernel"].update(landmark_numbers=numbers))
    refused(path, "model.embedding.*landmark")


def test_blocks_that_differ(tmp_path):
    path = tmp_path / "model.apnc"
    k_means(embedding=EnsembleEmbedding(2)).save(path)
    exchange(path, model_embedding_coefficients_blocks_1_landmarks__npy=npy(np.zeros((8, 5))))
    refused(path, "blocks are missing, or differ")


def test_objects_that_are_not_as_many(of_words):
    lines = read_members(of_words)["model_embedding_coefficients_blocks_0_landmarks.jsonl"]
    for text, reason in [
        (lines + b'"a"\n', "expected one column for each of 17 landmarks"),
        (lines.replace(b'"', b""), "damaged"),
        (b"[" * 100_000 + b"\n", "damaged"),
        (lines.replace(b'"\n', b'", NaN\n'), "damaged"),
        (b"NaN\n" * 16, "NaN is not JSON"),
    ]:
        exchange(of_words, model_embedding_coefficients_blocks_0_landmarks__jsonl=text)
        refused(of_words, reason, kernel=shared_letters)


def test_a_configuration_is_kept_and_not_needed(path, tmp_path):
    km = apnc.load(path)
    km.save(tmp_path / "told.apnc", {"clusters": 3})
    assert read_schema(tmp_path / "told.apnc")["origin"]["configuration"] == {"clusters": 3}
    assert apnc.load(tmp_path / "told.apnc").get_params() == km.get_params()


def changed_graph(path, name, change, **options):
    """A graph model with one of its arrays changed."""
    apnc.SpectralClustering(2, n_landmarks=10, random_state=0, **options).fit(rows()).save(path)
    member = f"model_embedding_coefficients_blocks_0_{name}.npy"
    found = np.load(io.BytesIO(read_members(path)[member]))
    exchange(path, **{member.replace(".", "__"): npy(change(found))})
    return path


@pytest.mark.parametrize("name", ["weights", "landmarks", "scales"])
@pytest.mark.parametrize("dtype", [np.uint8, np.float16, ">f8", np.longdouble])
def test_types_for_which_the_loops_of_a_graph_would_be_compiled(name, dtype, tmp_path):
    path = changed_graph(tmp_path / "graph.apnc", name, lambda array: array.astype(dtype))
    refused(path, "vectors are of type" if name == "landmarks" else "must be float64")


@pytest.mark.parametrize("name", ["weights", "scales", "root"])
def test_coefficients_of_a_graph_are_float64(name, tmp_path):
    path = changed_graph(
        tmp_path / "graph.apnc", name, lambda array: array.astype(np.float32), kernel="rbf", gamma=1.0
    )
    refused(path, "weights, scales, basis and root must be float64")


@pytest.mark.parametrize("dtype", [np.uint8, np.float32, bool])
def test_vectors_of_a_graph_are_of_the_compute_type_of_its_instances(dtype, tmp_path):
    path = changed_graph(
        tmp_path / "graph.apnc", "landmarks", lambda array: array.astype(dtype), kernel="rbf", gamma=1.0
    )
    refused(path, "vectors are of type float64, expected float32")


@pytest.mark.parametrize("dtype", [np.uint8, np.int64, np.float16, np.float32])
def test_graphs_of_instances_of_any_type_are_kept(dtype, tmp_path):
    X = (8 * rows()).astype(dtype)
    km = apnc.SpectralClustering(2, kernel="rbf", gamma=1.0, n_landmarks=10, random_state=0).fit(X)
    np.testing.assert_array_equal(apnc.load(km.save(tmp_path / "graph.apnc")).predict(X), km.labels_)


def test_vectors_of_a_graph_are_stored_row_by_row(tmp_path):
    refused(changed_graph(tmp_path / "graph.apnc", "landmarks", np.asfortranarray), "row by row")


@pytest.mark.parametrize("embedding", ["nystroem", "stable"])
def test_no_loop_is_compiled_for_centroids_in_another_order(embedding, tmp_path):
    from apnc.loops import nearest

    km = k_means(embedding=embedding)
    path, X = km.save(tmp_path / "model.apnc"), rows()
    expected = km.transform(X)
    exchange(path, model_clusters_centroids__npy=npy(np.asfortranarray(km.cluster_centers_)))
    loops = [loop for loop in vars(nearest).values() if hasattr(loop, "signatures")]
    before = [len(loop.signatures) for loop in loops]
    np.testing.assert_array_equal(apnc.load(path).transform(X), expected)
    np.testing.assert_array_equal(apnc.load(path).predict(X), km.predict(X))
    assert [len(loop.signatures) for loop in loops] == before


def test_vectors_of_a_graph_whose_squares_overflow(tmp_path):
    options = {"kernel": "rbf", "gamma": 1.0}
    refused(
        changed_graph(tmp_path / "a.apnc", "centers", lambda C: C * 1e200, **options), "vectors are beyond"
    )
    refused(changed_graph(tmp_path / "b.apnc", "landmarks", lambda L: L * 1e200), "vectors are beyond")


def test_vectors_of_a_graph_that_cannot_be_rounded(tmp_path):
    path = changed_graph(tmp_path / "a.apnc", "centers", lambda C: 0 * C + 1e-320, kernel="rbf", gamma=1.0)
    refused(path, "vectors reach 9.99.*e-321, expected at least")


def test_loading_takes_at_most_twice_the_file(tmp_path):
    """Landmarks are most of a model; the rbf kernel prepares one copy of them."""
    X = np.random.default_rng(0).random((400, 4000))
    km = apnc.KernelKMeans(2, gamma=1e-3, n_landmarks=400, n_components=5, n_init=1, random_state=0).fit(X)
    path = km.save(tmp_path / "wide.apnc")
    tracemalloc.start()
    apnc.load(path)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 2.2 * path.stat().st_size
