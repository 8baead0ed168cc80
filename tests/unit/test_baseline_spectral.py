"""Spectral baselines: against naive loops, dense eigenvectors and scikit-learn's SpectralClustering."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.cluster import SpectralClustering
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from apnc.baselines import (
    BucketSpectralClustering,
    LandmarkSpectralClustering,
    SparseSpectralClustering,
    UltraScalableSpectralClustering,
)
from apnc.baselines.psc import neighbour_similarity
from apnc.baselines.signatures import at_most, buckets_of, shares, signatures, threshold
from apnc.baselines.spectral import leading_eigenvectors, spectral_vectors

BY_LANDMARKS = [LandmarkSpectralClustering, UltraScalableSpectralClustering]
ALL = [SparseSpectralClustering, BucketSpectralClustering, *BY_LANDMARKS]


def blobs(n=300, k=4, std=1.0):
    return make_blobs(n, n_features=5, centers=k, cluster_std=std, random_state=0)


def naive_similarity(X, t):
    """Neighbours by sorting all distances of each row."""
    n = len(X)
    d = [[float(np.sqrt(((a - b) ** 2).sum())) for b in X] for a in X]
    near = [sorted((j for j in range(n) if j != i), key=lambda j, i=i: d[i][j])[:t] for i in range(n)]
    scale = [np.mean([d[i][j] for j in near[i]]) for i in range(n)]
    S = np.zeros((n, n))
    for i in range(n):
        for j in near[i]:
            S[i, j] = S[j, i] = np.exp(-(d[i][j] ** 2) / (2 * scale[i] * scale[j]))
    return S


def naive_vectors(S, k):
    D = np.diag(1 / np.sqrt(S.sum(axis=1)))
    U = np.linalg.eigh(D @ S @ D)[1][:, -k:]
    return U / np.linalg.norm(U, axis=1, keepdims=True)


@pytest.mark.parametrize("t", [1, 5, 100])
def test_similarities_are_those_of_the_nearest_rows(t):
    X = blobs(60)[0]
    S = neighbour_similarity(X, t)
    np.testing.assert_allclose(S.toarray(), naive_similarity(X, min(t, 59)), rtol=1e-5)
    np.testing.assert_allclose(neighbour_similarity(sparse.csr_array(X), t).toarray(), S.toarray(), rtol=1e-5)


def test_equal_rows_are_fully_similar():
    S = neighbour_similarity(np.repeat([[0.0], [1.0]], 5, axis=0), 3).toarray()
    assert np.isfinite(S).all()
    assert S[0, 5:].max() < 1e-6
    assert (S[:5, :5] > 0).sum() >= 15


@pytest.mark.parametrize("n", [90, 700])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_vectors_are_the_leading_eigenvectors(n, kind):
    """Up to a rotation, so their inner products are compared; small and large go by different solvers."""
    S = rbf_kernel(blobs(n, std=2.0)[0], gamma=0.05)
    found = spectral_vectors(kind(S.copy()), 3, seed=0)
    expected = naive_vectors(S, 3)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-6)


def test_a_row_similar_to_nothing_stays_at_zero():
    S = np.zeros((6, 6))
    S[:5, :5] = 1
    vectors = spectral_vectors(S, 1, seed=0)
    np.testing.assert_allclose(np.abs(vectors[:, 0]), [1, 1, 1, 1, 1, 0])
    assert leading_eigenvectors(np.eye(3), 3, seed=0).shape == (3, 3)


def test_psc_is_scikit_learns_spectral_clustering():
    X, y = blobs(400, std=2.0)
    km = SparseSpectralClustering(4, n_neighbors=15, n_init=5, random_state=0).fit(X)
    other = SpectralClustering(4, affinity="precomputed", random_state=0).fit(km.affinity_matrix_.toarray())
    assert adjusted_rand_score(km.labels_, other.labels_) > 0.98
    assert adjusted_rand_score(y, km.labels_) > 0.9


def test_psc_follows_the_moons():
    X, y = make_moons(400, noise=0.05, random_state=0)
    assert (
        adjusted_rand_score(y, SparseSpectralClustering(2, n_neighbors=10, random_state=0).fit(X).labels_)
        == 1
    )


def test_threshold_is_the_edge_of_the_emptiest_bin():
    values = np.concatenate([np.linspace(0, 0.4, 50), np.linspace(0.47, 1, 60)])
    assert threshold(values) == pytest.approx(0.4)
    assert threshold(np.array([0.0, 1.0])) == pytest.approx(0.05)


def test_bits_tell_the_side_of_the_threshold():
    X = np.random.default_rng(0).normal(size=(200, 6)) * [1, 1, 1, 1, 1, 0]
    bits = signatures(X, 5, np.random.default_rng(0))
    assert bits.shape == (200, 5)
    expected = {tuple(X[:, j] > threshold(X[:, j])) for j in range(5)}
    assert {tuple(column) for column in bits.T} == expected
    np.testing.assert_array_equal(signatures(sparse.csr_array(X), 5, np.random.default_rng(0)), bits)
    assert signatures(X, "auto", np.random.default_rng(0)).shape == (200, 3)
    assert not signatures(np.ones((4, 2)), 3, np.random.default_rng(0)).any()


def test_dimensions_are_drawn_by_their_range():
    X = np.random.default_rng(0).uniform(size=(50, 3)) * [1.0, 1.0, 8.0]
    wide = X[:, 2] > threshold(X[:, 2])
    drawn = [signatures(X, 1, np.random.default_rng(seed))[:, 0] for seed in range(200)]
    assert 0.7 < np.mean([np.array_equal(bits, wide) for bits in drawn]) < 0.9


def test_a_bucket_holds_signatures_one_bit_apart():
    bits = np.random.default_rng(0).random((500, 6)) < 0.3
    buckets, leaders = buckets_of(bits)
    assert len(np.unique(buckets)) == len(leaders)
    assert ((bits != leaders[buckets]).sum(axis=1) <= 1).all()
    for signature in np.unique(bits, axis=0):
        assert len(np.unique(buckets[(bits == signature).all(axis=1)])) == 1
    counts = [(bits == leader).all(axis=1).sum() for leader in leaders]
    assert counts == sorted(counts, reverse=True)


def test_small_buckets_join_the_nearest():
    leaders = np.array([[0, 0, 0, 0], [1, 1, 1, 1], [1, 1, 0, 0], [0, 1, 1, 1]], dtype=bool)
    buckets = np.repeat([0, 1, 2, 3], [10, 8, 5, 2])
    np.testing.assert_array_equal(at_most(3, buckets, leaders), np.repeat([0, 1, 2, 1], [10, 8, 5, 2]))
    np.testing.assert_array_equal(at_most(2, buckets, leaders), np.repeat([0, 1, 0, 1], [10, 8, 5, 2]))
    np.testing.assert_array_equal(at_most(9, buckets, leaders), buckets)
    assert at_most(1, buckets, leaders).max() == 0


@pytest.mark.parametrize(
    ("sizes", "k", "expected"),
    [([90, 10], 10, [9, 1]), ([50, 50], 3, [2, 1]), ([2, 2, 1], 5, [2, 2, 1]), ([1, 99], 2, [1, 1])],
)
def test_clusters_are_given_by_size(sizes, k, expected):
    found = shares(np.array(sizes), k)
    assert sum(found) == k
    assert found == expected


def test_one_bucket_is_spectral_clustering():
    X, y = blobs(300, k=2, std=2.0)
    km = BucketSpectralClustering(2, random_state=0, n_init=3).fit(X)
    assert km.buckets_.max() == 0
    other = SpectralClustering(2, gamma=km.gamma_, random_state=0).fit(X)
    assert adjusted_rand_score(km.labels_, other.labels_) > 0.98
    assert adjusted_rand_score(y, km.labels_) > 0.95


def test_no_cluster_crosses_a_bucket():
    X = load_digits().data[:600]
    km = BucketSpectralClustering(10, random_state=0).fit(X)
    assert 1 < km.buckets_.max() + 1 <= 5
    assert len(np.unique(km.labels_)) == 10
    for label in range(10):
        assert len(np.unique(km.buckets_[km.labels_ == label])) == 1


def test_a_bucket_too_large_is_refused():
    with pytest.raises(ValueError, match=r"largest bucket holds .* rows.*Raise n_bits"):
        BucketSpectralClustering(2, memory_bytes=1000).fit(blobs()[0])


@pytest.mark.parametrize("estimator", ALL)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"init": "randon"}, "Did you mean 'random'"),
        ({"n_clusters": 301}, "needs at least 301 rows"),
        ({"max_iter": 0}, "max_iter=0 must be a positive integer"),
    ],
)
def test_wrong_parameters_are_explained(estimator, options, message):
    with pytest.raises(ValueError, match=message):
        estimator(**({"n_clusters": 4} | options)).fit(blobs()[0])


def test_parameters_of_one_alone():
    with pytest.raises(ValueError, match="n_neighbors=0"):
        SparseSpectralClustering(4, n_neighbors=0).fit(blobs()[0])
    with pytest.raises(ValueError, match="n_bits=0"):
        BucketSpectralClustering(4, n_bits=0).fit(blobs()[0])
    with pytest.raises(ValueError, match="each bucket starts separately"):
        BucketSpectralClustering(4, init=np.zeros(300, dtype=int)).fit(blobs()[0])


@pytest.mark.parametrize("init", ["random", "random-partition"])
@pytest.mark.parametrize("estimator", ALL)
def test_the_same_seed_gives_the_same_labels(estimator, init):
    X = blobs(800, std=3.0)[0]
    one, two = (estimator(6, init=init, random_state=3).fit(X).labels_ for _ in range(2))
    np.testing.assert_array_equal(one, two)


@pytest.mark.filterwarnings("ignore")
@parametrize_with_checks(
    [SparseSpectralClustering(n_neighbors=10), BucketSpectralClustering()]
    + [estimator(n_landmarks=30, n_init=2) for estimator in BY_LANDMARKS]
)
def test_scikit_learn_check(estimator, check):
    check(estimator)
