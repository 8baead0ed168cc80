"""RFF, SV-RFF and 2-Stage: against their definitions, scipy's SVD, scikit-learn's kernels and the exact method."""

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.datasets import load_digits, make_blobs
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from apnc.baselines import (
    ExactKernelKMeans,
    FourierKMeans,
    SingularFourierKMeans,
    TwoStageKernelKMeans,
)
from apnc.baselines.fourier import FourierFeatures, draw_frequencies

FOURIER = [FourierKMeans, SingularFourierKMeans]
ALL = [*FOURIER, TwoStageKernelKMeans]


def blobs(n=300, k=5, seed=0):
    return make_blobs(n, n_features=6, centers=k, cluster_std=4.0, random_state=seed)[0]


def partition(n, k, seed=0):
    return np.random.default_rng(seed).permutation(np.arange(n) % k)


def naive_k_means(Y, weights, labels, k, max_iter):
    """Row by row, with ties to the lowest number; no cluster may empty."""
    for _ in range(max_iter + 1):
        centroids = [
            sum(w * y for w, y, c in zip(weights, Y, labels, strict=True) if c == j)
            / sum(w for w, c in zip(weights, labels, strict=True) if c == j)
            for j in range(k)
        ]
        labels = [int(np.argmin([((y - c) ** 2).sum() for c in centroids])) for y in Y]
    return np.array(labels)


def naive_features(X, frequencies):
    """cos and sin of every product, one at a time."""
    D = frequencies.shape[1]
    features = np.empty((len(X), 2 * D))
    for i, x in enumerate(X):
        for j in range(D):
            phase = sum(a * b for a, b in zip(x, frequencies[:, j], strict=True))
            features[i, j], features[i, D + j] = np.cos(phase), np.sin(phase)
    return features / np.sqrt(D)


@pytest.mark.parametrize(("kernel", "exact"), [("rbf", rbf_kernel), ("laplacian", laplacian_kernel)])
def test_inner_products_of_features_are_about_the_kernel(kernel, exact):
    X = np.random.default_rng(0).normal(size=(40, 3))
    frequencies = draw_frequencies(kernel, 0.3, 3, 50_000, np.random.default_rng(1))
    Z = FourierFeatures(frequencies).features(X)
    np.testing.assert_allclose(Z @ Z.T, exact(X, gamma=0.3), atol=0.025)
    np.testing.assert_allclose((Z**2).sum(axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("max_iter", [1, 4])
def test_rff_is_k_means_on_the_features(weighted, max_iter):
    X, start = blobs(80), partition(80, 4)
    weights = np.random.default_rng(1).uniform(0.2, 3.0, size=80) if weighted else np.ones(80)
    km = FourierKMeans(4, n_frequencies=30, init=start, max_iter=max_iter, random_state=0)
    km.fit(X, sample_weight=weights if weighted else None)
    expected = naive_k_means(naive_features(X, km.frequencies_), weights, start, 4, max_iter)
    np.testing.assert_array_equal(km.labels_, expected)
    assert km.frequencies_.shape == (6, 30)


@pytest.mark.parametrize("max_iter", [1, 4])
def test_sv_rff_is_k_means_on_the_left_singular_vectors(max_iter):
    X, start = blobs(80), partition(80, 4)
    km = SingularFourierKMeans(4, n_frequencies=30, init=start, max_iter=max_iter, random_state=0).fit(X)
    U = linalg.svd(naive_features(X, km.frequencies_))[0][:, :4]
    np.testing.assert_array_equal(km.labels_, naive_k_means(U, np.ones(80), start, 4, max_iter))
    assert km.cluster_centers_.shape == (4, 4)


def test_fewer_singular_vectors_than_clusters():
    X = np.repeat(np.eye(3), 10, axis=0)
    km = SingularFourierKMeans(4, gamma=1.0, n_frequencies=50, init=partition(30, 4), random_state=0)
    with pytest.warns(UserWarning, match="Only 3 of 4 clusters"):
        km.fit(X)
    assert km.cluster_centers_.shape == (4, 3)
    assert len(np.unique(km.labels_.reshape(3, 10), axis=1)[0]) == 1


@pytest.mark.parametrize("init", ["random", "random-partition"])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_start_is_that_of_the_exact_method(init, seed):
    """With many frequencies the first steps are the exact ones, under the same cluster numbers."""
    X = blobs(200)
    shared = {"init": init, "max_iter": 1, "random_state": seed}
    exact = ExactKernelKMeans(5, **shared).fit(X)
    fourier = FourierKMeans(5, n_frequencies=20_000, **shared).fit(X)
    assert (exact.labels_ == fourier.labels_).mean() > 0.95
    assert fourier.gamma_ == exact.gamma_


def test_empty_clusters_go_to_the_farthest_rows():
    X = np.random.default_rng(0).normal(size=(40, 2))
    X[7], X[20] = [9.0, 0.0], [0.0, -8.0]
    km = FourierKMeans(3, gamma=1e-3, n_frequencies=2000, init=np.zeros(40, dtype=int), max_iter=1).fit(X)
    assert sorted(np.bincount(km.labels_).tolist()) == [1, 1, 38]
    assert len({km.labels_[7], km.labels_[20], km.labels_[0]}) == 3


@pytest.mark.parametrize("estimator", FOURIER)
def test_only_kernels_of_differences(estimator):
    for kernel in ("polynomial", "linear", "precomputed", lambda A, B: A @ B.T):
        with pytest.raises(
            ValueError, match=r"no random Fourier features.*'rbf' or 'laplacian'.*KernelKMeans"
        ):
            estimator(3, kernel=kernel).fit(blobs())


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"init": "randon"}, "Did you mean 'random'"),
        ({"n_clusters": 301}, "needs at least 301 rows"),
        ({"max_iter": 0}, "max_iter=0 must be a positive integer"),
        ({"gamma": -1.0}, "gamma=-1.0 must be a positive number"),
    ],
)
def test_wrong_parameters_are_explained(estimator, options, message):
    with pytest.raises(ValueError, match=message):
        estimator(**({"n_clusters": 5} | options)).fit(blobs())


def test_parameters_of_one_alone():
    with pytest.raises(ValueError, match="n_frequencies=0"):
        FourierKMeans(5, n_frequencies=0).fit(blobs())
    with pytest.raises(ValueError, match="n_landmarks=4 must be at least n_clusters=5"):
        TwoStageKernelKMeans(5, n_landmarks=4).fit(blobs())
    with pytest.raises(ValueError, match="start labels would be those of a sample"):
        TwoStageKernelKMeans(5, init=partition(300, 5)).fit(blobs())


@pytest.mark.parametrize("estimator", ALL)
def test_weights_are_repetitions(estimator):
    X = blobs(200)
    weights = np.random.default_rng(2).integers(1, 4, size=200)
    km = estimator(5, n_init=2, random_state=0)
    labels = km.fit(X, sample_weight=weights).labels_
    repeated = km.fit(np.repeat(X, weights, axis=0))
    np.testing.assert_array_equal(repeated.labels_, np.repeat(labels, weights))


@pytest.mark.parametrize("estimator", ALL)
def test_rows_of_weight_zero_are_labelled_but_do_not_count(estimator):
    X, strangers = blobs(200), blobs(30, seed=9)
    weights = np.insert(np.ones(200), 100, np.zeros(30))
    alone = estimator(5, random_state=0).fit(X)
    km = estimator(5, random_state=0).fit(np.insert(X, 100, strangers, axis=0), sample_weight=weights)
    np.testing.assert_array_equal(km.labels_, np.insert(alone.labels_, 100, alone.predict(strangers)))


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_predicting_the_data_gives_its_labels(estimator, dtype):
    X = (load_digits().data[:300] / 16).astype(dtype)
    km = estimator(10, max_iter=3, random_state=0).fit(X)
    assert len(np.unique(km.labels_)) == 10
    np.testing.assert_array_equal(km.predict(X), km.labels_)


@pytest.mark.parametrize("estimator", ALL)
def test_sparse_is_dense(estimator):
    X = load_digits().data[:200] / 16
    dense = estimator(10, random_state=0).fit(X)
    km = estimator(10, random_state=0).fit(sparse.csr_array(X))
    np.testing.assert_array_equal(km.labels_, dense.labels_)


@pytest.mark.parametrize("estimator", ALL)
def test_the_best_of_several_starts_is_kept(estimator):
    X = make_blobs(200, centers=12, cluster_std=0.3, random_state=0)[0]
    one, several = (estimator(12, gamma=0.05, n_init=n, random_state=0).fit(X) for n in (1, 8))
    assert several.inertia_ < 0.99 * one.inertia_


@pytest.mark.parametrize("init", ["random", "random-partition"])
@pytest.mark.parametrize(
    "options",
    [{"kernel": "rbf"}, {"kernel": "polynomial", "gamma": 0.1}, {"kernel": "sigmoid", "gamma": 0.01}],
    ids=lambda options: options["kernel"],
)
def test_two_stage_on_all_rows_is_exact(init, options):
    X = blobs(200)
    exact = ExactKernelKMeans(5, init=init, random_state=0, **options).fit(X)
    two_stage = TwoStageKernelKMeans(5, n_landmarks=200, init=init, random_state=0, **options).fit(X)
    np.testing.assert_array_equal(two_stage.labels_, exact.labels_)
    assert two_stage.inertia_ == pytest.approx(exact.inertia_, rel=1e-9)


def test_two_stage_carries_labels_on_by_frozen_centroids():
    """Eq. 2 with the sums over the sample alone."""
    X = blobs(300)
    km = TwoStageKernelKMeans(4, n_landmarks=40, random_state=0).fit(X)
    assert km.landmarks_.shape == (40, 6)
    sampled = km.predict(km.landmarks_)
    K, K_L = rbf_kernel(X, km.landmarks_, km.gamma_), rbf_kernel(km.landmarks_, gamma=km.gamma_)
    squared = np.empty((300, 4))
    for c in range(4):
        members = sampled == c
        squared[:, c] = 1 - 2 * K[:, members].mean(axis=1) + K_L[np.ix_(members, members)].mean()
    np.testing.assert_array_equal(km.labels_, squared.argmin(axis=1))


def test_two_stage_on_a_given_kernel():
    X = blobs(200)
    km = TwoStageKernelKMeans(4, kernel="precomputed", n_landmarks=50, random_state=0)
    km.fit(rbf_kernel(X, gamma=0.01))
    assert len(km.landmark_indices_) == km.n_landmarks_ == 50
    np.testing.assert_array_equal(km.predict(rbf_kernel(X, gamma=0.01)), km.labels_)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [FourierKMeans(n_frequencies=50), SingularFourierKMeans(n_frequencies=50), TwoStageKernelKMeans()]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
