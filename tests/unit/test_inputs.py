"""Every kind of input works, or is refused with a message that helps."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.metrics.pairwise import rbf_kernel

from apnc import KernelEmbedding, KernelKMeans, StableEmbedding

SMALL = {"n_landmarks": 40, "random_state": 0, "init": "random", "n_init": 1}


@pytest.fixture
def whole():
    return np.random.default_rng(0).integers(0, 100, size=(300, 4))


def labels(X, **options):
    return KernelKMeans(4, **(SMALL | options)).fit(X).labels_


@pytest.mark.parametrize(
    "dtype", [np.int8, np.uint8, np.int16, np.int32, np.int64, np.uint64, np.float16, np.float32]
)
def test_numeric_types(whole, dtype):
    expected = labels(whole.astype(np.float64))
    assert (labels(whole.astype(dtype)) == expected).mean() > 0.99


def test_long_double(whole):
    np.testing.assert_array_equal(labels(whole.astype(np.longdouble)), labels(whole.astype(float)))


def test_memory_layouts_and_read_only(whole):
    X = whole.astype(float)
    expected = labels(X)
    frozen = X.copy()
    frozen.flags.writeable = False
    wide = np.zeros((600, 8))
    wide[::2, ::2] = X
    for same in (np.asfortranarray(X), frozen, wide[::2, ::2], X.tolist()):
        np.testing.assert_array_equal(labels(same), expected)


@pytest.mark.parametrize(
    "kind", ["csr_matrix", "csr_array", "csc_matrix", "coo_array", "lil_matrix", "dok_array"]
)
def test_sparse_formats(whole, kind):
    X = whole * (whole > 50)
    expected = labels(X.astype(float))
    np.testing.assert_array_equal(labels(getattr(sparse, kind)(X.astype(float))), expected)


def test_input_is_never_written_to(whole):
    X = sparse.csr_array(whole.astype(float))
    copy = X.copy()
    w = np.ones(300)
    KernelKMeans(4, **SMALL).fit(X, sample_weight=w)
    assert (copy != X).nnz == 0
    assert (w == 1).all()


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame])
def test_frames(whole, frame):
    data = frame({name: whole[:, i].astype(float) for i, name in enumerate("abcd")})
    km = KernelKMeans(4, **SMALL).fit(data)
    np.testing.assert_array_equal(km.labels_, labels(whole.astype(float)))
    assert list(km.feature_names_in_) == list("abcd")
    np.testing.assert_array_equal(km.predict(data), km.labels_)


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output(whole, container):
    data = pd.DataFrame(whole.astype(float), columns=list("abcd"))
    out = KernelEmbedding(n_landmarks=20, random_state=0).set_output(transform=container).fit_transform(data)
    assert type(out).__module__.split(".")[0] == container
    assert list(out.columns) == [f"kernelembedding{i}" for i in range(20)]
    distances = KernelKMeans(4, **SMALL).set_output(transform=container).fit(data).transform(data)
    assert list(distances.columns) == [f"kernelkmeans{i}" for i in range(4)]


def shared_letters(A, B):
    return np.array([[len(set(a) & set(b)) for b in B] for a in A])


WORDS = ["aab", "abb", "ab", "ba", "xyz", "zyx", "xxy", "yz", "", "abxy"] * 3


@pytest.mark.parametrize("container", [list, tuple, np.array, pd.Series, lambda w: np.array(w, dtype=object)])
def test_strings_with_a_kernel_function(container):
    km = KernelKMeans(2, kernel=shared_letters, n_landmarks=9, random_state=0).fit(container(WORDS))
    assert km.labels_[0] == km.labels_[1] == km.labels_[2]
    assert km.labels_[4] == km.labels_[5] != km.labels_[0]
    np.testing.assert_array_equal(km.predict(["aab", "zyx"]), km.labels_[[0, 5]])
    assert isinstance(km.landmarks_[0], str)


def test_objects_in_any_order():
    graphs = [{"n": i % 7, "edges": [[0, i % 5]]} for i in range(200)]

    def kernel(A, B):
        return np.array([[1.0 + a["n"] * b["n"] + a["edges"][0][1] * b["edges"][0][1] for b in B] for a in A])

    order = np.random.default_rng(0).permutation(200)
    straight = KernelKMeans(3, kernel=kernel, random_state=0).fit(graphs)
    shuffled = KernelKMeans(3, kernel=kernel, random_state=0).fit([graphs[i] for i in order])
    np.testing.assert_array_equal(straight.labels_[order], shuffled.labels_)
    assert straight.n_landmarks_ == 35


class Opaque:
    def __init__(self, value):
        self.value = value


def test_opaque_objects_are_sampled_by_row_number():
    things = [Opaque(float(i % 2)) for i in range(60)]

    def kernel(A, B):
        return np.exp(-(np.subtract.outer([a.value for a in A], [b.value for b in B]) ** 2))

    km = KernelKMeans(2, kernel=kernel, n_landmarks=10, random_state=0).fit(things)
    assert len(set(km.labels_[::2])) == 1
    assert km.labels_[0] != km.labels_[1]


def test_kernel_function_on_arrays_gets_arrays(digits):
    X = digits[0][:200]
    own = KernelKMeans(5, kernel=rbf_kernel, kernel_params={"gamma": 0.1}, n_landmarks=50, random_state=0)
    named = KernelKMeans(5, kernel="rbf", gamma=0.1, n_landmarks=50, random_state=0)
    np.testing.assert_array_equal(own.fit(X).labels_, named.fit(X).labels_)
    np.testing.assert_array_equal(own.predict(X), own.labels_)


@pytest.mark.parametrize("layout", [np.asarray, sparse.csr_array])
def test_precomputed(digits, layout):
    X = digits[0][:300]
    K = rbf_kernel(X, gamma=0.1)
    km = KernelKMeans(5, kernel="precomputed", n_landmarks=60, n_components=60, random_state=0).fit(layout(K))
    assert len(np.unique(km.landmark_indices_)) == 60
    new = rbf_kernel(digits[0][300:400], X, gamma=0.1)
    expected = km.predict(layout(new))
    np.testing.assert_array_equal(km.predict(layout(new[:, km.landmark_indices_])), expected)
    np.testing.assert_array_equal(km.predict(layout(K)), km.labels_)
    C = K[:, km.landmark_indices_]
    nystroem = C @ np.linalg.pinv(K[np.ix_(km.landmark_indices_, km.landmark_indices_)]) @ C.T
    np.testing.assert_allclose(km.embed(K) @ km.embed(K).T, nystroem, atol=1e-4)
    assert km.residual_ == pytest.approx(1 - np.diag(nystroem).mean(), abs=1e-4)


def test_precomputed_with_all_rows_as_landmarks(digits):
    K = rbf_kernel(digits[0][:50], gamma=0.1)
    km = KernelKMeans(4, kernel="precomputed", n_landmarks=50, n_components=50, random_state=0).fit(K)
    np.testing.assert_array_equal(km.predict(K), km.labels_)
    np.testing.assert_allclose(km.embed(K) @ km.embed(K).T, K, atol=1e-5)


@pytest.mark.parametrize("embedding", ["nystroem", StableEmbedding(0.4), "ensemble"])
@pytest.mark.parametrize(
    ("X", "k"),
    [
        (np.random.default_rng(0).normal(size=(50, 1)), 3),
        (np.zeros((20, 3)), 1),
        (np.full((20, 3), 7.5), 1),
        (np.repeat([[1.0, 2], [3, 4]], 10, axis=0), 2),
        (np.array([[1.0, 2.0]]), 1),
    ],
    ids=["one feature", "all zero", "constant", "duplicates", "one row"],
)
def test_small_and_degenerate_data_works(X, k, embedding):
    km = KernelKMeans(k, embedding=embedding, random_state=0).fit(X)
    assert len(np.unique(km.labels_)) == k
    np.testing.assert_array_equal(km.predict(X), km.labels_)
    assert np.isfinite(km.transform(X)).all()


def test_fewer_distinct_rows_than_clusters_warns_and_leaves_the_surplus_empty():
    X = np.repeat([[0.0, 0], [5, 5], [9, 0]], 10, axis=0)
    with pytest.warns(UserWarning, match="Only 3 of 5 clusters hold rows"):
        km = KernelKMeans(5, random_state=0).fit(X)
    assert len(np.unique(km.labels_)) == 3
    assert np.isfinite(km.cluster_centers_).all()
    assert set(km.predict(X + 0.1)) <= set(km.labels_)


def test_landmarks_beyond_the_data_are_capped_with_a_warning(whole):
    with pytest.warns(UserWarning, match="n_landmarks=1000 is more than the 300 distinct"):
        km = KernelKMeans(3, n_landmarks=1000, random_state=0).fit(whole)
    assert km.n_landmarks_ == 300


NAN = np.array([[1.0, np.nan], [1, 2], [3, 4]])
X3 = np.arange(12.0).reshape(6, 2)


@pytest.mark.parametrize(
    ("options", "X", "message"),
    [
        ({}, NAN, "NaN"),
        ({}, np.where(np.isnan(NAN), np.inf, NAN), "is infinite"),
        ({}, sparse.csr_array(np.where(np.isnan(NAN), np.inf, NAN)), "is infinite"),
        ({"n_clusters": 10}, X3, "n_clusters=10 needs at least 10 rows, got n_samples=6"),
        ({}, np.empty((0, 3)), "0 sample"),
        ({}, np.empty((3, 0)), "0 feature"),
        ({"kernel": shared_letters}, [], "0 sample"),
        (
            {"kernel": lambda A, B: np.zeros((len(B), len(A) + 1))},
            WORDS,
            r"returned shape .*, expected a numeric matrix of shape",
        ),
        ({"kernel": lambda A, B: [["x"] * len(B)] * len(A)}, WORDS, "numeric matrix"),
        ({"kernel": lambda A, B: np.full((len(A), len(B)), np.nan)}, WORDS, "NaN or infinity"),
        ({}, WORDS, "list of str.*or pass a function.*TfidfVectorizer"),
        ({"kernel": "rfb"}, X3, "Did you mean 'rbf'"),
        ({"kernel": "gaussian"}, X3, "Did you mean 'rbf'"),
        ({"kernel": "RBF"}, X3, "Did you mean 'rbf'"),
        ({"kernel": "levenshtein"}, WORDS, "is unknown"),
        ({}, pd.Series(WORDS), "list of str.*or pass a function.*TfidfVectorizer"),
        ({}, np.array(WORDS), "list of str.*or pass a function.*TfidfVectorizer"),
        ({}, [{1}, {2}, {3}], "list of set.*or pass a function"),
        ({"kernel": lambda a, b: float(np.dot(a, b))}, X3, "called with two collections"),
        ({"kernel": "precomputed"}, 1.0 - np.eye(6), "look like distances"),
        ({"kernel": "precomputed"}, np.random.default_rng(0).random((6, 6)), "not symmetric"),
        ({"kernel": "polynomial", "degree": 0}, X3, "degree"),
        ({"kernel": "polynomial", "coef0": np.nan}, X3, "coef0"),
        ({"gamma": True}, X3, "positive number"),
        ({"n_jobs": "x"}, X3, "n_jobs"),
        ({"kernel": 3}, X3, "must be a name, a kernel or a function"),
        ({"embedding": "nystrom"}, X3, "Did you mean 'nystroem'"),
        ({"embedding": StableEmbedding}, X3, "instance, not the class"),
        ({"init": "kmeans++"}, X3, r"Did you mean 'k-means\+\+'"),
        ({"gamma": -1}, X3, "positive number"),
        ({"gamma": "locl"}, X3, "must be a positive number, None or one of auto, mean, narrow, local"),
        ({"gamma": "local", "kernel": "sigmoid"}, X3, "takes a number"),
        ({"gamma": 2.0, "kernel": "linear"}, X3, "no effect"),
        ({"kernel_params": {"p": 1}}, X3, r"kernel_params=\{'p': 1\} has no effect with kernel='rbf'"),
        ({"coef0": 0}, X3, "coef0=0 has no effect with kernel='rbf'; leave it out"),
        ({"degree": 2}, X3, "degree=2 has no effect with kernel='rbf'; leave it out"),
        ({"kernel": "sigmoid", "degree": 2}, X3, "degree=2 has no effect with kernel='sigmoid'"),
        (
            {"kernel": "precomputed", "coef0": 2.0},
            np.eye(6),
            "coef0=2.0 has no effect with kernel='precomputed'",
        ),
        ({"kernel": shared_letters, "degree": 2}, WORDS, "degree=2 has no effect with a kernel function"),
        ({"n_clusters": 0}, X3, "positive integer"),
        ({"n_clusters": 2.5}, X3, "positive integer"),
        ({"max_iter": 0}, X3, "max_iter"),
        ({"tol": -1}, X3, "tol"),
        ({"n_init": 0}, X3, "n_init"),
        ({"n_init": 5, "init": "random-partition"}, X3, "no effect"),
        ({"n_landmarks": "many"}, X3, "n_landmarks='many'"),
        ({"n_components": -3}, X3, "n_components"),
        ({"n_jobs": 0}, X3, "n_jobs"),
        ({"embedding": StableEmbedding(4), "n_landmarks": 4}, X3, "below the number of landmarks, 4"),
        ({"kernel": "precomputed"}, X3, "square"),
        ({"kernel": "precomputed", "normalize_kernel": True}, np.eye(6), "normalize_kernel"),
        ({"kernel": "chi2"}, X3 - 5, "chi2.*>= 0"),
        ({"init": np.array([0, 1, 2, 0, 1, 9])}, X3, "start labels"),
        ({"init": np.zeros((5, 2))}, X3, "expected n_clusters=3"),
    ],
)
def test_bad_input_is_refused(options, X, message):
    with pytest.raises(ValueError, match=message):
        KernelKMeans(**({"n_clusters": 3} | options)).fit(X)


def test_a_text_is_taken_for_a_path():
    with pytest.raises(FileNotFoundError, match="text: there is no such file or folder"):
        KernelKMeans(3, kernel=shared_letters).fit("text")


def test_predict_names_what_does_not_fit(whole):
    km = KernelKMeans(3, **SMALL).fit(whole)
    with pytest.raises(ValueError, match="3 features, but KernelKMeans is expecting 4"):
        km.predict(whole[:, :3])


def test_an_outlier_beyond_float32_is_refused_wherever_it_is():
    X = np.random.default_rng(0).normal(size=(20_000, 3))
    km = KernelKMeans(3, kernel="linear", random_state=1).fit(X)
    X[7] = 1e40
    with pytest.raises(ValueError, match="too large to compute with"):
        km.predict(X)
    with pytest.raises(ValueError, match="too large to compute with"):
        KernelKMeans(3, kernel="linear", random_state=1).fit(X)


def test_start_labels_as_a_list(whole):
    given = [i % 4 for i in range(300)]
    expected = KernelKMeans(4, n_landmarks=40, random_state=0, init=np.array(given)).fit(whole).labels_
    for same in (given, pd.Series(given), tuple(given)):
        np.testing.assert_array_equal(
            KernelKMeans(4, n_landmarks=40, random_state=0, init=same).fit(whole).labels_, expected
        )


@pytest.mark.parametrize("bad", [np.full((2, 6), np.nan), np.eye(2)])
def test_start_instances_of_a_precomputed_kernel_are_checked(bad):
    with pytest.raises(ValueError, match=r"NaN|features"):
        KernelKMeans(2, kernel="precomputed", init=bad).fit(np.eye(6))


def test_a_new_fit_leaves_no_stale_attributes(whole):
    km = KernelKMeans(2, kernel="precomputed", random_state=0).fit(np.eye(30))
    km.set_params(kernel="rbf").fit(whole)
    assert not hasattr(km, "landmark_indices_")
    km.set_params(kernel="precomputed").fit(np.eye(30))
    assert not hasattr(km, "landmarks_")
