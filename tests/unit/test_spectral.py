"""SpectralClustering: the clusters it finds, and what they do not depend on."""

import numpy as np
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles, make_moons
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from apnc import SpectralClustering
from apnc.run import budget


def nmi(y, labels):
    return normalized_mutual_info_score(y, labels)


def spirals(n=3000, noise=0.05, seed=0):
    rng = np.random.default_rng(seed)
    angle, y = 1.5 + 3 * np.pi * np.sqrt(rng.uniform(size=n)), rng.integers(0, 2, size=n)
    X = np.column_stack([np.cos(angle + np.pi * y), np.sin(angle + np.pi * y)]) * angle[:, None] / 3
    return X + noise * rng.normal(size=X.shape), y


def moons(noise=0.05, n=3000):
    return make_moons(n, noise=noise, random_state=0)


SHAPES = {
    "moons": (moons(), 0.97),
    "noisy moons": (moons(0.1), 0.95),
    "rings": (make_circles(3000, factor=0.5, noise=0.05, random_state=0), 0.97),
    "spirals": (spirals(), 0.97),
}


def blobs(sizes=(200, 200, 200, 200), at=(0.0, 8.0, 100.0, 300.0), seed=0):
    """Pieces along a line, without a link between them."""
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(len(sizes)), sizes)
    X = 0.5 * rng.normal(size=(len(y), 2))
    X[:, 0] += np.array(at)[y]
    return X, y


def noise(n=1000, d=10):
    """Rows without clusters on a coarse lattice: thin margins, equal distances, equal rows."""
    return np.random.default_rng(0).integers(0, 3, size=(n, d)).astype(float)


def fitted(X, n_clusters=2, weights=None, **options):
    return SpectralClustering(n_clusters, **({"random_state": 0} | options)).fit(X, sample_weight=weights)


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("shape", SHAPES)
def test_connected_shapes(shape, seed):
    (X, y), least = SHAPES[shape]
    km = fitted(X, random_state=seed)
    assert nmi(y, km.labels_) >= least
    np.testing.assert_array_equal(km.predict(X), km.labels_)


@pytest.mark.parametrize("shape", SHAPES)
def test_unseen_rows(shape):
    (X, y), _ = SHAPES[shape]
    km = fitted(X[::2])
    assert abs(nmi(y[1::2], km.predict(X[1::2])) - nmi(y[::2], km.labels_)) <= 0.03


def test_digits(digits):
    X, y = digits
    for seed in range(2):
        found = nmi(y, fitted(X, 10, random_state=seed).labels_)
        assert found >= 0.84
        assert found > 0.05 + nmi(y, KMeans(10, n_init=3, random_state=seed).fit_predict(X))
    half = fitted(X[::2], 10)
    assert nmi(y[1::2], half.predict(X[1::2])) >= nmi(y[::2], half.labels_) - 0.03


@pytest.mark.parametrize("share", [0.002, 0.01])
@pytest.mark.parametrize("shape", ["moons", "noisy moons"])
def test_far_outliers_do_not_take_the_clusters(shape, share):
    (X, y), _ = SHAPES[shape]
    far = np.random.default_rng(3).uniform(-40, 40, size=(int(share * len(X)), 2))
    km = fitted(np.concatenate([X, far]))
    assert nmi(y, km.labels_[: len(X)]) >= 0.95


@pytest.fixture(scope="module", params=["linear", "rbf", "cosine"])
def reference(request):
    return request.param, fitted(noise(), 9, kernel=request.param, n_landmarks=120)


def assert_same(km, expected, order=slice(None)):
    np.testing.assert_array_equal(np.asarray(km.landmarks_), np.asarray(expected.landmarks_))
    np.testing.assert_array_equal(km.eigenvalues_, expected.eigenvalues_)
    np.testing.assert_array_equal(km.labels_, expected.labels_[order])


def test_row_order_does_not_matter(reference):
    kernel, expected = reference
    order = np.random.default_rng(1).permutation(len(noise()))
    assert_same(fitted(noise()[order], 9, kernel=kernel, n_landmarks=120), expected, order)


@pytest.mark.parametrize("threads", [1, 2])
def test_threads_do_not_matter(reference, threads):
    kernel, expected = reference
    assert_same(fitted(noise(), 9, kernel=kernel, n_landmarks=120, n_jobs=threads), expected)


@pytest.mark.parametrize("n_chunks", [1, 7, 150])
def test_chunks_do_not_matter(reference, n_chunks, set_chunks):
    kernel, expected = reference
    set_chunks(n_chunks)
    assert_same(fitted(noise(), 9, kernel=kernel, n_landmarks=120), expected)


def test_a_memory_limit_does_not_matter(reference, monkeypatch):
    monkeypatch.setattr(budget, "resident", lambda: 100_000_000)
    kernel, expected = reference
    assert_same(fitted(noise(), 9, kernel=kernel, n_landmarks=120, memory_limit="1GB"), expected)


@pytest.mark.parametrize("limit", ["1GB", "4GB"])
def test_a_memory_limit_leaves_small_automatic_sizes_alone(limit, monkeypatch):
    monkeypatch.setattr(budget, "resident", lambda: 100_000_000)
    X, _ = moons(0.1, 1200)
    assert_same(fitted(X, memory_limit=limit), fitted(X))


def test_single_rows_are_predicted_as_many(reference):
    _, km = reference
    alone = [km.predict(row[None])[0] for row in noise()[:200]]
    np.testing.assert_array_equal(alone, km.labels_[:200])


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("X", [noise(500), moons(0.1, 500)[0]], ids=["lattice", "moons"])
def test_weights_are_repetitions(X, kernel):
    weights = np.random.default_rng(4).integers(0, 3, size=len(X))
    weighted = fitted(X, 5, weights, kernel=kernel)
    repeated = fitted(np.repeat(X, weights, axis=0), 5, kernel=kernel)
    without = fitted(X[weights > 0], 5, weights[weights > 0], kernel=kernel)
    np.testing.assert_array_equal(np.repeat(weighted.labels_, weights), repeated.labels_)
    np.testing.assert_array_equal(weighted.labels_[weights > 0], without.labels_)
    np.testing.assert_array_equal(weighted.labels_, weighted.predict(X))
    assert weighted.inertia_ == pytest.approx(repeated.inertia_)
    np.testing.assert_array_equal(weighted.cluster_sizes_, np.bincount(repeated.labels_, minlength=5))


def test_equal_rows_share_a_cluster():
    X = np.random.default_rng(0).integers(0, 4, size=(2000, 3))
    km = fitted(X, 6)
    _, instance = np.unique(X, axis=0, return_inverse=True)
    assert all(len(np.unique(km.labels_[instance == i])) == 1 for i in range(instance.max() + 1))
    assert km.n_landmarks_ <= 64


@pytest.mark.parametrize("rows", [np.ones((50, 3)), np.zeros((40, 12)), np.full((1, 2), 7.0)])
def test_a_single_instance(rows):
    km = fitted(rows, 1)
    assert (km.n_landmarks_, km.n_connected_components_) == (1, 1)
    assert km.eigenvalues_.shape == (km.n_components_,)
    assert not km.labels_.any()
    if len(rows) > 1:
        with pytest.warns(UserWarning, match="Only 1 of 3 clusters hold rows"):
            assert not fitted(rows, 3).labels_.any()


@pytest.mark.parametrize("n_distinct", [2, 3, 7, 40])
def test_fewer_instances_than_landmarks(n_distinct):
    instances = np.random.default_rng(0).normal(size=(n_distinct, 3))
    km = fitted(np.repeat(instances, 9, axis=0), 2)
    assert km.n_landmarks_ <= n_distinct
    assert len(np.unique(km.labels_)) == 2
    with pytest.warns(UserWarning, match=f"more than the {n_distinct} distinct instances"):
        fitted(instances, 2, n_landmarks=50)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 12, 60])
def test_as_many_clusters_as_rows(n):
    km = fitted(np.random.default_rng(n).normal(size=(n, 3)), n)
    np.testing.assert_array_equal(np.sort(km.labels_), np.arange(n))


def test_one_cluster():
    km = fitted(moons(n=500)[0], 1)
    assert not km.labels_.any()
    assert km.cluster_sizes_.tolist() == [500]


@pytest.mark.parametrize("n_nearest", [2, 100, 10_000])
def test_more_neighbours_than_landmarks(n_nearest):
    km = fitted(moons(n=500)[0], n_nearest=n_nearest, n_landmarks=60)
    assert km._model.embedding.coefficients.blocks[0].n_nearest == min(60, n_nearest)
    assert len(np.unique(km.labels_)) == 2


@pytest.mark.parametrize("n_landmarks", [1, 2, 3, 4])
def test_very_few_landmarks(n_landmarks):
    X, _ = blobs()
    if n_landmarks == 1:
        with pytest.warns(UserWarning, match="Only 1 of 2"):
            fitted(X, n_landmarks=1)
    else:
        km = fitted(X, n_landmarks=n_landmarks)
        np.testing.assert_array_equal(km.predict(X), km.labels_)


@pytest.mark.parametrize("n_landmarks", ["auto", 120])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_as_many_clusters_as_pieces(n_landmarks, kernel):
    X, y = blobs()
    km = fitted(X, 4, n_landmarks=n_landmarks, kernel=kernel)
    assert adjusted_rand_score(y, km.labels_) == 1


def test_fewer_clusters_than_pieces_join_the_nearest_first():
    X, y = blobs()
    for n_clusters, expected in ((3, [0, 0, 1, 2]), (2, [0, 0, 0, 1])):
        km = fitted(X, n_clusters, n_landmarks=120)
        assert km.n_connected_components_ == 4
        assert adjusted_rand_score(np.array(expected)[y], km.labels_) == 1


def test_more_clusters_than_pieces_split_pieces():
    X, y = blobs()
    km = fitted(X, 6)
    assert len(np.unique(km.labels_)) == 6
    assert all(len(np.unique(y[km.labels_ == label])) == 1 for label in range(6))


def test_many_pieces():
    X, y = blobs((50,) * 30, np.arange(30) * 20.0)
    km = fitted(X, 30)
    assert adjusted_rand_score(y, km.labels_) == 1
    few = fitted(X, 30, n_components=2)
    assert few.n_components_ == 2


def test_pieces_without_weight_to_speak_of_are_no_clusters():
    """Isolated landmarks: a few rows far away, linked to nothing else."""
    X, y = blobs((800, 800), (0.0, 12.0))
    far = np.array([500.0, 500.0]) + 0.1 * np.random.default_rng(0).normal(size=(12, 2))
    km = fitted(np.concatenate([X, far]), n_landmarks=600)
    assert km.n_connected_components_ >= 3
    assert adjusted_rand_score(y, km.labels_[:1600]) == 1
    assert len(np.unique(km.labels_[1600:])) == 1


def test_rows_of_zeros():
    X = np.concatenate([np.zeros((100, 5)), 3 + np.random.default_rng(0).normal(size=(200, 5))])
    for kernel in ("linear", "cosine", "rbf", "polynomial"):
        km = fitted(X, kernel=kernel)
        np.testing.assert_array_equal(km.predict(X), km.labels_)
        assert len(np.unique(km.labels_[:100])) == 1
        assert (km.labels_[100:] != km.labels_[0]).mean() > 0.8


def test_groups_that_fewer_landmarks_do_not_join_keep_their_landmarks():
    """Forty groups and one cluster fewer: two of them share a cluster, and no other is split."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(40), 100)
    centers = 20 * np.column_stack([np.arange(40) % 8, np.arange(40) // 8])
    X = centers[group] + rng.normal(size=(4000, 2))
    km = SpectralClustering(39, random_state=0).fit(X)
    assert km.n_landmarks_ > 900
    assert all(len(np.unique(km.labels_[group == one])) == 1 for one in range(40))
