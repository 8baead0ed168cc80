"""LSC and U-SPEC: against naive loops, the published singular vectors and the eigenvectors of the whole graph."""

import numpy as np
import pytest
from scipy import linalg, sparse
from sklearn.datasets import make_blobs, make_moons
from sklearn.metrics import adjusted_rand_score

from apnc.baselines import LandmarkSpectralClustering, UltraScalableSpectralClustering
from apnc.baselines.landmark_graph import cross_affinity, landmarks_by_kmeans, nearest_landmarks
from apnc.baselines.spectral import bipartite_vectors
from apnc.baselines.uspec import approximate_nearest, coarse_clusters, parts_of

BOTH = [LandmarkSpectralClustering, UltraScalableSpectralClustering]


def blobs(n=300, std=1.0):
    return make_blobs(n, n_features=5, centers=4, cluster_std=std, random_state=0)


def naive_affinity(X, landmarks, near):
    """B by loops, from the numbers of each row's nearest landmarks."""
    d = [[float(np.linalg.norm(x - landmarks[j])) for j in js] for x, js in zip(X, near, strict=True)]
    B, sigma = np.zeros((len(X), len(landmarks))), np.mean(d)
    for i, js in enumerate(near):
        for j, distance in zip(js, d[i], strict=True):
            B[i, j] = np.exp(-(distance**2) / (2 * sigma**2))
    return B


def by_sorting(X, landmarks, t, among=None):
    """The t nearest landmarks of each row, of those listed in ``among`` if given."""
    listed = [range(len(landmarks))] * len(X) if among is None else among
    return [
        sorted(js, key=lambda j, x=x: float(((x - landmarks[j]) ** 2).sum()))[:t]
        for x, js in zip(X, listed, strict=True)
    ]


def naive_codes(Z, k):
    """LSC as published: singular vectors 2 to k + 1 of Z D^(-1/2), scaled to norm 1."""
    U = np.linalg.svd(Z / np.sqrt(Z.sum(axis=0)), full_matrices=False)[0][:, 1 : k + 1]
    return U / np.linalg.norm(U, axis=1, keepdims=True)


def naive_cut(B, k):
    """U-SPEC without the transfer: eigenvectors of the Laplacian of the whole graph, (n + p) x (n + p)."""
    n, p = B.shape
    W = np.block([[np.zeros((n, n)), B], [B.T, np.zeros((p, p))]])
    D = np.diag(W.sum(axis=1))
    U = linalg.eigh(D - W, D, subset_by_index=(0, k - 1))[1][:n]
    return U / np.linalg.norm(U, axis=1, keepdims=True)


def overlapping(n=400, p=60):
    X = blobs(n, std=4.0)[0]
    return X, landmarks_by_kmeans(X, X[:p], 5)


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("t", [1, 5, 60, 100])
def test_affinities_are_those_of_the_nearest_landmarks(kind, t):
    X, landmarks = overlapping()
    B = cross_affinity(*nearest_landmarks(kind(X), landmarks, t), len(landmarks))
    assert B.nnz == min(t, 60) * len(X)
    expected = naive_affinity(X, landmarks, by_sorting(X, landmarks, t))
    np.testing.assert_allclose(B.toarray(), expected, rtol=1e-6)


def test_far_rows_keep_their_landmarks():
    X = np.concatenate([np.random.default_rng(0).normal(size=(999, 2)), [[1e6, 1e6]]])
    B = cross_affinity(*nearest_landmarks(X, X[:50], 3), 50)
    assert (B.data > 0).all()
    assert (cross_affinity(np.zeros((4, 1)), np.zeros((4, 1), dtype=int), 1).toarray() == 1).all()


@pytest.mark.parametrize("k", [1, 3, 7])
def test_codes_give_the_published_singular_vectors(k):
    X, landmarks = overlapping()
    B = cross_affinity(*nearest_landmarks(X, landmarks, 5), len(landmarks)).toarray()
    Z = B / B.sum(axis=1, keepdims=True)
    found, expected = bipartite_vectors(sparse.csr_array(Z), k, trivial=False), naive_codes(Z, k)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-5)


@pytest.mark.parametrize("k", [1, 3, 7])
def test_the_transfer_cut_is_that_of_the_whole_graph(k, monkeypatch):
    monkeypatch.setattr("apnc.baselines.spectral.ROWS_AT_A_TIME", 150)
    X, landmarks = overlapping()
    B = cross_affinity(*nearest_landmarks(X, landmarks, 5), len(landmarks))
    found, expected = bipartite_vectors(B, k), naive_cut(B.toarray(), k)
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-5)


def test_components_are_told_apart_without_the_constant_vector():
    B = sparse.csr_array(np.kron(np.eye(4), np.ones((6, 2))))
    Y = bipartite_vectors(B, 3, trivial=False)
    same = np.kron(np.eye(4), np.ones((6, 6))) > 0
    np.testing.assert_allclose((Y @ Y.T)[same], 1, atol=1e-6)
    assert (Y @ Y.T)[~same].max() < 0.5


def test_landmarks_without_rows_and_too_few_of_them_do_no_harm():
    B = sparse.csr_array(np.kron(np.eye(2), np.ones((5, 1))) @ np.eye(2, 3))
    Y = bipartite_vectors(B, 8)
    assert Y.shape == (10, 3)
    assert np.isfinite(Y).all()
    np.testing.assert_allclose(Y @ Y.T, np.kron(np.eye(2), np.ones((5, 5))), atol=1e-6)
    assert not bipartite_vectors(sparse.csr_array(np.ones((4, 1))), 2, trivial=False).any()


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array])
def test_the_approximate_search_follows_its_description(kind, monkeypatch):
    monkeypatch.setattr("apnc.baselines.uspec.CHUNK_BYTES", 5000)
    X, landmarks = overlapping(900, 200)
    t = 3
    distances, near = approximate_nearest(kind(X), landmarks, t, seed=0)
    centroids, members = coarse_clusters(landmarks, seed=0)
    assert len(centroids) == len(members) == 14
    coarse = [js[0] for js in by_sorting(X, centroids, 1)]
    first = [js[0] for js in by_sorting(X, landmarks, 1, [members[c] for c in coarse])]
    around = by_sorting(landmarks, landmarks, 31)
    expected = by_sorting(X, landmarks, t, [around[j] for j in first])
    assert [sorted(js) for js in near.tolist()] == [sorted(js) for js in expected]
    np.testing.assert_allclose(distances, np.linalg.norm(X[:, None] - landmarks[near], axis=2), atol=1e-6)


def test_the_approximate_search_finds_most():
    X, landmarks = overlapping(2000, 300)
    exact, found = nearest_landmarks(X, landmarks, 5)[1], approximate_nearest(X, landmarks, 5, seed=0)[1]
    assert np.mean([np.isin(a, b).mean() for a, b in zip(exact, found, strict=True)]) > 0.95
    few = landmarks[:20]
    np.testing.assert_array_equal(
        np.sort(approximate_nearest(X, few, 5, seed=0)[1]), np.sort(nearest_landmarks(X, few, 5)[1])
    )


def test_parts_hold_every_row_once():
    groups = np.random.default_rng(0).integers(0, 7, 500) * 3
    parts = list(parts_of(groups, 20))
    assert max(len(which) for _, which in parts) <= 20
    assert all((groups[which] == group).all() for group, which in parts)
    np.testing.assert_array_equal(np.sort(np.concatenate([which for _, which in parts])), np.arange(500))


@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, np.float32])
@pytest.mark.parametrize("estimator", BOTH)
def test_landmarks_find_the_groups(estimator, kind):
    X, y = blobs(600)
    km = estimator(4, n_landmarks=50, random_state=0).fit(kind(X))
    assert adjusted_rand_score(y, km.labels_) == 1
    assert km.landmarks_.shape == (km.n_landmarks_, 5) == (50, 5)
    assert km.inertia_ >= 0
    assert km.n_iter_ >= 1


@pytest.mark.parametrize("estimator", BOTH)
def test_landmarks_follow_the_moons(estimator):
    X, y = make_moons(1000, noise=0.05, random_state=0)
    assert adjusted_rand_score(y, estimator(2, n_landmarks=100, random_state=0).fit(X).labels_) > 0.99


@pytest.mark.parametrize("estimator", BOTH)
def test_the_same_seed_gives_the_same_landmarks(estimator):
    X = blobs(800, std=3.0)[0]
    one, two, other = (estimator(6, n_landmarks=60, random_state=seed).fit(X) for seed in (3, 3, 4))
    np.testing.assert_allclose(one.landmarks_, two.landmarks_, rtol=1e-12)
    np.testing.assert_array_equal(one.labels_, two.labels_)
    assert not np.array_equal(one.landmarks_, other.landmarks_)


@pytest.mark.parametrize("estimator", BOTH)
def test_fewer_rows_than_landmarks(estimator):
    X, y = blobs(80)
    km = estimator(4, random_state=0).fit(X)
    assert km.n_landmarks_ == 80
    assert adjusted_rand_score(y, km.labels_) == 1
    assert estimator(1, random_state=0).fit(X[:1]).labels_.tolist() == [0]
    assert sorted(estimator(3, random_state=0).fit(X[:3]).labels_) == [0, 1, 2]


@pytest.mark.filterwarnings("ignore:Only")
@pytest.mark.parametrize("estimator", BOTH)
def test_repeated_rows_are_one_landmark(estimator):
    X = np.repeat(blobs(40)[0], 20, axis=0)
    km = estimator(4, n_landmarks=200, random_state=0).fit(X)
    assert km.n_landmarks_ == 40
    assert (km.labels_.reshape(40, 20) == km.labels_[::20, None]).all()
    assert len(np.unique(km.labels_)) == 4
    equal = estimator(3, random_state=0).fit(np.ones((30, 2)))
    assert equal.n_landmarks_ == 1
    assert len(np.unique(equal.labels_)) == 1


@pytest.mark.parametrize("estimator", BOTH)
@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_landmarks": 0}, "n_landmarks=0 must be a positive integer"),
        ({"n_landmarks": "auto"}, "n_landmarks='auto' must be a positive integer"),
        ({"n_landmarks": 3}, "n_landmarks=3 must be at least n_clusters=4"),
        ({"n_nearest": 0}, "n_nearest=0 must be a positive integer"),
        ({"init": np.zeros(300, dtype=int)}, "use n_init=1"),
    ],
)
def test_parameters_of_landmarks(estimator, options, message):
    with pytest.raises(ValueError, match=message):
        estimator(4, **options).fit(blobs()[0])
