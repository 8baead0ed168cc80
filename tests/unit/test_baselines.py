"""Exact and approximate kernel k-means: against their equations, and against KernelKMeans."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, load_iris, make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.utils.estimator_checks import parametrize_with_checks

from apnc import KernelKMeans
from apnc.baselines import ApproxKernelKMeans, ExactKernelKMeans

pytestmark = pytest.mark.filterwarnings("ignore:residual_")

BOTH = [ExactKernelKMeans, ApproxKernelKMeans]
POSITIVE = [
    {"kernel": "rbf"},
    {"kernel": "polynomial", "gamma": 0.1, "degree": 3, "coef0": 1},
    {"kernel": "polynomial", "gamma": 0.1, "degree": 2, "coef0": 0, "normalize_kernel": True},
    {"kernel": "laplacian"},
]
INDEFINITE = {"kernel": "sigmoid", "gamma": 0.05, "coef0": -1.0}
KERNELS = [*POSITIVE, INDEFINITE]
ITERATIONS = range(1, 9)


def name_of(options):
    return "-".join(str(value) for value in options.values())


def digits(n=400):
    return load_digits().data[:n] / 16.0


def blobs(n=300, k=5, seed=0):
    """Overlapping clusters without ties."""
    return make_blobs(n, n_features=6, centers=k, cluster_std=4.0, random_state=seed)[0]


def partition(n, k, seed=0):
    return np.random.default_rng(seed).permutation(np.arange(n) % k)


def matrix_of(X, kernel, gamma, coef0=1, degree=3, normalize_kernel=False):
    """The kernel matrix by scikit-learn."""
    options = {"rbf": {"gamma": gamma}, "laplacian": {"gamma": gamma}}.get(kernel)
    if options is None:
        options = {"gamma": gamma, "coef0": coef0} | ({"degree": degree} if kernel == "polynomial" else {})
    K = pairwise_kernels(X, metric=kernel, **options)
    return K / np.sqrt(np.outer(np.diag(K), np.diag(K))) if normalize_kernel else K


def equation_2(K, weights, labels, k):
    """Squared distances of every row to every centroid, sum by sum."""
    n = len(K)
    squared = np.empty((n, k))
    for c in range(k):
        members = np.flatnonzero(labels == c)
        n_c = sum(weights[a] for a in members)
        double = sum(weights[a] * weights[b] * K[a, b] for a in members for b in members)
        for i in range(n):
            single = sum(weights[a] * K[i, a] for a in members)
            squared[i, c] = K[i, i] - 2 / n_c * single + double / n_c**2
    return squared


def naive_kernel_k_means(K, weights, labels, k, max_iter):
    for _ in range(max_iter + 1):
        squared = equation_2(K, weights, labels, k)
        labels = squared.argmin(axis=1)
    return labels, float(weights @ squared.min(axis=1))


def common_letters(A, B, power=1):
    """A kernel on strings: inner product of letter counts."""
    letters = "abcdefghijklmnopqrstuvwxyz"
    counts = [np.array([[text.count(letter) for letter in letters] for text in texts]) for texts in (A, B)]
    return (counts[0] @ counts[1].T).astype(float) ** power


WORDS = [
    prefix + suffix for prefix in ("aaab", "abba", "xyzz", "zzyx", "mmno") for suffix in ("", "a", "z", "q")
]


@pytest.mark.parametrize("options", KERNELS, ids=name_of)
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_iter", [1, 2, 5])
def test_exact_is_equation_2(options, weighted, max_iter):
    X, start = blobs(60), partition(60, 3)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, size=60) if weighted else np.ones(60)
    km = ExactKernelKMeans(3, init=start, max_iter=max_iter, random_state=0, **options)
    km.fit(X, sample_weight=weights if weighted else None)
    K = matrix_of(X, **(options | {"gamma": km.gamma_}))
    labels, inertia = naive_kernel_k_means(K, weights, start, 3, max_iter)
    np.testing.assert_array_equal(km.labels_, labels)
    assert km.inertia_ == pytest.approx(inertia, rel=1e-9)
    assert km.n_iter_ <= max_iter


@pytest.mark.parametrize("options", KERNELS, ids=name_of)
def test_approx_is_its_published_update(options):
    """alpha = U-hat K_B K-hat^+ with numpy's pseudo-inverse, which keeps negative eigenvalues."""
    X, labels, k = blobs(150), partition(150, 4), 4
    weights = np.random.default_rng(1).uniform(0.2, 3.0, size=150)
    km = ApproxKernelKMeans(k, n_landmarks=20, init=labels, max_iter=4, random_state=0, **options)
    km.fit(X, sample_weight=weights)
    sampled = [int(np.flatnonzero((row == X).all(axis=1))[0]) for row in km.landmarks_]
    K = matrix_of(X, **(options | {"gamma": km.gamma_}))
    K_B, K_hat = K[:, sampled], K[np.ix_(sampled, sampled)]
    for _ in range(5):
        members = (labels == np.arange(k)[:, None]) * weights
        alpha = members / members.sum(axis=1, keepdims=True) @ K_B @ np.linalg.pinv(K_hat, hermitian=True)
        squared = np.einsum("cl,lm,cm->c", alpha, K_hat, alpha) - 2 * K_B @ alpha.T
        labels = squared.argmin(axis=1)
    np.testing.assert_array_equal(km.labels_, labels)


def test_the_indefinite_kernel_is_indefinite():
    X = blobs(150)
    values = np.linalg.eigvalsh(matrix_of(X, **INDEFINITE))
    assert values[0] < -1e-3 * values[-1]


@pytest.mark.parametrize("options", POSITIVE, ids=name_of)
def test_exact_is_nystroem_with_all_rows_as_landmarks(options):
    X, start = digits(150), partition(150, 10)
    options = {"gamma": None} | options
    for t in ITERATIONS:
        everything = KernelKMeans(
            10, n_landmarks=150, n_components=150, init=start, max_iter=t, tol=0, random_state=0, **options
        ).fit(X)
        exact = ExactKernelKMeans(10, init=start, max_iter=t, random_state=0, **options).fit(X)
        np.testing.assert_array_equal(exact.labels_, everything.labels_)
        assert exact.inertia_ == pytest.approx(everything.inertia_, rel=1e-6)
        assert exact.n_iter_ == everything.n_iter_
        assert exact.gamma_ == everything.gamma_


@pytest.mark.parametrize("options", [o for o in POSITIVE if "normalize_kernel" not in o], ids=name_of)
def test_approx_is_untruncated_nystroem(options):
    """Not for normalised kernels, whose embedded rows are scaled to norm 1 (decision 16)."""
    X, start = digits(), partition(400, 10)
    options = {"gamma": None} | options
    for t in ITERATIONS:
        nystroem = KernelKMeans(
            10, n_landmarks=50, n_components=50, init=start, max_iter=t, tol=0, random_state=3, **options
        ).fit(X)
        approx = ApproxKernelKMeans(
            10, n_landmarks=50, init=start, max_iter=t, random_state=3, **options
        ).fit(X)
        np.testing.assert_array_equal(approx.landmarks_, nystroem.landmarks_)
        np.testing.assert_array_equal(approx.labels_, nystroem.labels_)
        assert approx.inertia_ == pytest.approx(nystroem.inertia_, rel=1e-6)
        assert approx.gamma_ == nystroem.gamma_


@pytest.mark.parametrize("init", ["random", "random-partition"])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_named_starts_are_those_of_kernel_k_means(init, seed):
    X = blobs()
    shared = {"gamma": None, "init": init, "n_init": 1, "max_iter": 2, "random_state": seed}
    everything = KernelKMeans(5, n_landmarks=300, n_components=300, tol=0, **shared).fit(X)
    np.testing.assert_array_equal(ExactKernelKMeans(5, **shared).fit(X).labels_, everything.labels_)
    nystroem = KernelKMeans(5, n_landmarks=40, n_components=40, tol=0, **shared).fit(X)
    approx = ApproxKernelKMeans(5, n_landmarks=40, **shared).fit(X)
    np.testing.assert_array_equal(approx.labels_, nystroem.labels_)


def test_approx_chooses_auto_landmarks_as_kernel_k_means_does():
    X = blobs(1000)
    expected = KernelKMeans(5, init="random", n_init=1, max_iter=1, random_state=0).fit(X)
    approx = ApproxKernelKMeans(5, random_state=0, max_iter=1).fit(X)
    assert approx.n_landmarks_ == expected.n_landmarks_ == 300
    np.testing.assert_array_equal(approx.landmarks_, expected.landmarks_)


@pytest.mark.parametrize("options", KERNELS, ids=name_of)
def test_blocks_do_not_matter(options):
    X = digits(700)
    kept, blocked = (
        ExactKernelKMeans(10, memory_bytes=memory, random_state=0, **options).fit(X)
        for memory in (1 << 30, 0)
    )
    np.testing.assert_array_equal(blocked.labels_, kept.labels_)
    assert blocked.inertia_ == pytest.approx(kept.inertia_, rel=1e-12)


@pytest.mark.parametrize(("memory", "reads"), [(8 * 700**2, 1), (8 * 700**2 - 1, 4)])
def test_matrix_is_kept_only_if_it_fits(memory, reads):
    """Too little memory: one reading of all blocks for norms, one for each of three assignments."""
    shapes = []

    def recording(A, B):
        shapes.append((len(A), len(B)))
        return A @ B.T

    X = digits(700)
    ExactKernelKMeans(5, kernel=recording, init=partition(700, 5), max_iter=2, memory_bytes=memory).fit(X)
    assert sum(rows * columns for rows, columns in shapes) == reads * 700**2
    assert max(rows for rows, _ in shapes) < 700


@pytest.mark.parametrize("init", ["random", "random-partition"])
@pytest.mark.parametrize("estimator", BOTH)
def test_weights_are_repetitions(estimator, init):
    X = blobs(200)
    weights = np.random.default_rng(2).integers(1, 4, size=200)
    km = estimator(5, init=init, n_init=3, random_state=0)
    weighted = km.fit(X, sample_weight=weights)
    labels, inertia, gamma = weighted.labels_, weighted.inertia_, weighted.gamma_
    repeated = km.fit(np.repeat(X, weights, axis=0))
    np.testing.assert_array_equal(repeated.labels_, np.repeat(labels, weights))
    assert repeated.inertia_ == pytest.approx(inertia, rel=1e-9)
    assert repeated.gamma_ == pytest.approx(gamma, rel=1e-12)
    assert adjusted_rand_score(km.fit(X).labels_, labels) < 1


@pytest.mark.parametrize("init", ["random", "random-partition", "labels"])
@pytest.mark.parametrize("estimator", BOTH)
def test_rows_of_weight_zero_are_labelled_but_do_not_count(estimator, init):
    X, strangers = blobs(200), np.vstack([blobs(30, seed=9), np.full((1, 6), 1e8)])
    mixed = np.insert(X, 100, strangers, axis=0)
    weights = np.insert(np.ones(200), 100, np.zeros(31))
    start, start_mixed = init, init
    if init == "labels":
        start = partition(200, 5)
        start_mixed = np.insert(start, 100, np.zeros(31))
    alone = estimator(5, init=start, random_state=0).fit(X)
    km = estimator(5, init=start_mixed, random_state=0).fit(mixed, sample_weight=weights)
    np.testing.assert_array_equal(km.labels_, np.insert(alone.labels_, 100, alone.predict(strangers)))
    assert km.inertia_ == pytest.approx(alone.inertia_, rel=1e-12)
    assert km.gamma_ == alone.gamma_


def test_linear_kernel_is_k_means():
    X, start = load_iris().data, partition(150, 4)
    centers = np.array([X[start == c].mean(axis=0) for c in range(4)])
    expected = KMeans(4, init=centers, n_init=1, tol=0, algorithm="lloyd").fit(X)
    for estimator in BOTH:
        km = estimator(4, kernel="linear", init=start).fit(X)
        np.testing.assert_array_equal(km.labels_, expected.labels_)
        assert km.inertia_ == pytest.approx(expected.inertia_, rel=1e-9)


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize("options", KERNELS, ids=name_of)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_predicting_the_data_gives_its_labels(estimator, options, dtype):
    X = digits(200).astype(dtype)
    km = estimator(10, init="random-partition", max_iter=3, random_state=0, **options).fit(X)
    assert len(np.unique(km.labels_)) == 10
    np.testing.assert_array_equal(km.predict(X), km.labels_)
    np.testing.assert_array_equal(km.predict(X[::7]), km.labels_[::7])


@pytest.mark.parametrize("estimator", BOTH)
def test_sparse_is_dense(estimator):
    X = digits(200)
    dense = estimator(10, random_state=0).fit(X)
    km = estimator(10, random_state=0).fit(sparse.csr_array(X))
    np.testing.assert_array_equal(km.labels_, dense.labels_)
    np.testing.assert_array_equal(km.predict(X), dense.labels_)


@pytest.mark.parametrize("estimator", BOTH)
def test_precomputed_kernel(estimator):
    X, start = blobs(), partition(300, 5)
    weights = np.arange(300) % 3
    K = matrix_of(X, "rbf", 0.01)
    options = {} if estimator is ExactKernelKMeans else {"n_landmarks": 60}
    km = estimator(5, kernel="precomputed", init=start, random_state=0, **options)
    km.fit(K, sample_weight=weights)
    np.testing.assert_array_equal(km.predict(K), km.labels_)
    if estimator is ExactKernelKMeans:
        expected = estimator(5, gamma=0.01, init=start).fit(X, sample_weight=weights)
        np.testing.assert_array_equal(km.labels_, expected.labels_)
    else:
        expected = KernelKMeans(
            5, kernel="precomputed", n_landmarks=60, n_components=60, init=start, tol=0, random_state=0
        ).fit(K, sample_weight=weights)
        np.testing.assert_array_equal(km.landmark_indices_, expected.landmark_indices_)
        np.testing.assert_array_equal(km.labels_, expected.labels_)
    with pytest.raises(ValueError, match="expecting 300 features"):
        km.predict(K[:, :50])


@pytest.mark.parametrize("estimator", BOTH)
def test_strings_with_a_kernel_function(estimator):
    start = np.repeat([0, 1, 2], [7, 8, 5])
    km = estimator(3, kernel=common_letters, kernel_params={"power": 2}, init=start, random_state=0).fit(
        WORDS
    )
    labels, inertia = naive_kernel_k_means(
        common_letters(WORDS, WORDS, power=2), np.ones(len(WORDS)), start, 3, km.n_iter_
    )
    np.testing.assert_array_equal(km.labels_, labels)
    np.testing.assert_array_equal(km.labels_, np.repeat([0, 1, 2], [8, 8, 4]))
    assert km.inertia_ == pytest.approx(inertia, rel=1e-9)
    np.testing.assert_array_equal(km.predict(WORDS), km.labels_)
    assert km.predict(["aaabb"])[0] == km.labels_[WORDS.index("aaaba")]


@pytest.mark.parametrize("estimator", BOTH)
def test_empty_clusters_go_to_the_farthest_distinct_rows(estimator):
    X = np.random.default_rng(0).normal(size=(40, 2))
    X[[7, 30]] = [10.0, 0.0]
    X[20] = [0.0, -8.0]
    start = np.zeros(40, dtype=int)
    km = estimator(3, kernel="linear", init=start, max_iter=1).fit(X)
    expected = np.zeros(40, dtype=int)
    expected[[7, 30]], expected[20] = 1, 2
    np.testing.assert_array_equal(km.labels_, expected)
    np.testing.assert_array_equal(
        km.labels_, KernelKMeans(3, kernel="linear", init=start, max_iter=1).fit(X).labels_
    )


@pytest.mark.parametrize("estimator", BOTH)
def test_equally_far_rows_are_taken_in_order(estimator):
    X = np.array([[0.0, 0.0], [0.0, 3.0], [3.0, 0.0], [0.0, -3.0], [-3.0, 0.0]])
    km = estimator(3, kernel="linear", init=np.zeros(5, dtype=int), max_iter=1).fit(X)
    np.testing.assert_array_equal(km.labels_, [0, 1, 2, 0, 0])


@pytest.mark.parametrize("estimator", BOTH)
def test_fewer_distinct_rows_than_clusters(estimator):
    X = np.repeat([[0.0, 1.0], [5.0, 1.0]], 6, axis=0)
    with pytest.warns(UserWarning, match="Only 2 of 4 clusters hold rows"):
        km = estimator(4, kernel="linear", n_init=2, random_state=0).fit(X)
    assert km.inertia_ == pytest.approx(0, abs=1e-9)
    assert km.n_iter_ < 300


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize("ends", [[0, 1], [1, 0]])
def test_a_tie_goes_to_the_lowest_cluster(estimator, ends):
    """The middle of a symmetric line, in coordinates that are not exact: a tie only within rounding."""
    offsets = np.random.default_rng(0).uniform(0.1, 0.3, size=20)
    x = np.concatenate([0.4 - offsets, [0.4], 0.4 + offsets])
    weights = np.where(x == 0.4, 1e-12, 1.0)
    start = np.repeat([ends[0], 0, ends[1]], [20, 1, 20])
    for shift in range(1, 6):
        km = estimator(2, kernel="polynomial", gamma=1.0, degree=1, coef0=1, init=start)
        km.fit((x + shift)[:, None], sample_weight=weights)
        assert km.labels_[20] == 0
        np.testing.assert_array_equal(np.delete(km.labels_, 20), np.repeat(ends, 20))


@pytest.mark.parametrize("estimator", BOTH)
def test_the_best_of_several_starts_is_kept(estimator):
    X = make_blobs(200, centers=12, cluster_std=0.3, random_state=0)[0]
    one, several = (estimator(12, kernel="linear", n_init=n, random_state=0).fit(X) for n in (1, 8))
    assert several.inertia_ < 0.99 * one.inertia_


@pytest.mark.parametrize("estimator", BOTH)
def test_stopping_at_max_iter_draws_a_warning(estimator):
    X, start = blobs(), partition(300, 5)
    with pytest.warns(ConvergenceWarning, match="max_iter=1 "):
        estimator(5, init=start, max_iter=1).fit(X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        km = estimator(5, init=start, max_iter=100).fit(X)
    assert 1 < km.n_iter_ < 100
    again = estimator(5, init=km.labels_, max_iter=1).fit(X)
    assert again.n_iter_ == 1
    np.testing.assert_array_equal(again.labels_, km.labels_)


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"init": "random_partition"}, "Did you mean 'random-partition'"),
        ({"init": "randon"}, "Did you mean 'random'"),
        ({"init": np.zeros(300)}, "300 integer start labels"),
        ({"init": np.full(300, 5)}, "integers from 0 to 4"),
        ({"init": partition(300, 5), "n_init": 2}, "n_init=2 has no effect"),
        ({"n_clusters": 301}, "needs at least 301 rows"),
        ({"max_iter": 0}, "max_iter=0 must be a positive integer"),
        ({"kernel": "rfb"}, "Did you mean 'rbf'"),
        ({"kernel": "polynomial", "degree": 400, "gamma": 1.0}, "overflows"),
    ],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_wrong_parameters_are_explained(estimator, options, message):
    with pytest.raises(ValueError, match=message):
        estimator(**({"n_clusters": 5} | options)).fit(blobs())


def test_parameters_of_one_alone():
    with pytest.raises(ValueError, match="memory_bytes=-1"):
        ExactKernelKMeans(5, memory_bytes=-1).fit(blobs())
    with pytest.raises(ValueError, match="n_landmarks=0"):
        ApproxKernelKMeans(5, n_landmarks=0).fit(blobs())


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [
        ExactKernelKMeans(memory_bytes=0, kernel="polynomial", init="random-partition"),
        ApproxKernelKMeans(),
    ]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
