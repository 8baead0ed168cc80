"""Lloyd's iterations and seeding, against naive loops and scikit-learn."""

from itertools import product

import numpy as np
import pytest
from scipy.spatial.distance import cdist
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning

from apnc import KernelKMeans
from apnc.clustering.lloyd import Farthest, assign_all, farthest, lloyd, refine_stacked
from apnc.clustering.seeding import greedy_k_means_plus_plus, random_rows, seed_centroids
from apnc.discrepancy import Discrepancy, Euclidean, Manhattan
from apnc.discrepancy.nearest import PartialSums
from apnc.engines.contract import SingleChunk
from apnc.engines.local import LocalChunks, split

METRICS = [(Euclidean(), "euclidean"), (Manhattan(), "cityblock")]
metrics = pytest.mark.parametrize(("discrepancy", "metric"), METRICS, ids=["L2", "L1"])


class Naive(Discrepancy):
    """A user's discrepancy that gives nothing but distances."""

    def __init__(self, metric):
        self.metric = metric

    def distances(self, Y, centroids):
        return cdist(Y, centroids, self.metric)


@pytest.fixture
def embedded():
    rng = np.random.default_rng(0)
    Y = rng.normal(size=(997, 23)).astype(np.float32)
    return Y, rng.integers(0, 4, size=997).astype(float), rng.normal(size=(11, 23))


@metrics
def test_assignment_equals_scipy(embedded, discrepancy, metric):
    Y, w, C = embedded
    expected = cdist(Y, C, metric)
    np.testing.assert_allclose(discrepancy.distances(Y, C), expected, rtol=1e-12)
    labels, partial = discrepancy.against(C).assign(Y, w, {}, exact=True)
    np.testing.assert_array_equal(labels, expected.argmin(axis=1))
    np.testing.assert_array_equal(labels, discrepancy.against(C).labels(Y))
    one_hot = (labels[:, None] == np.arange(11)) * w[:, None]
    np.testing.assert_allclose(partial.sums, one_hot.T @ Y.astype(float), atol=1e-9)
    np.testing.assert_array_equal(partial.counts, one_hot.sum(axis=0))
    assert partial.inertia == pytest.approx((w * expected.min(axis=1) ** 2).sum())
    np.testing.assert_allclose(discrepancy.against(C).own(Y, labels), expected.min(axis=1))


@metrics
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5, 8, 9, 24, 25, 60])
def test_any_number_of_centroids(embedded, discrepancy, metric, k):
    Y, _, C = embedded
    C = np.concatenate([C, Y[:60] * 0.9])
    np.testing.assert_array_equal(
        discrepancy.against(C[:k]).labels(Y), cdist(Y, C[:k], metric).argmin(axis=1)
    )


@metrics
def test_thin_margins_are_decided_in_float64(discrepancy, metric):
    """Centroids so close that float32 cannot tell which is nearer."""
    rng = np.random.default_rng(0)
    Y = (100 + rng.normal(size=(500, 10))).astype(np.float32)
    centre = Y.mean(axis=0).astype(float)
    C = centre + 1e-5 * rng.normal(size=(6, 10))
    expected, labels = cdist(Y, C, metric), discrepancy.against(C).labels(Y)
    assert (labels == expected.argmin(axis=1)).mean() > 0.97
    np.testing.assert_allclose(expected[np.arange(500), labels], expected.min(axis=1), rtol=1e-6)
    in_float32 = ((Y[:, None] - C.astype(np.float32)) ** 2).sum(axis=2).argmin(axis=1)
    assert (in_float32 == expected.argmin(axis=1)).mean() < 0.9


@metrics
def test_ties_go_to_the_lowest_cluster(discrepancy, metric):
    Y = np.zeros((5, 2), dtype=np.float32)
    C = np.array([[2.0, 0], [1, 0], [0, 1], [-1, 0]])
    np.testing.assert_array_equal(discrepancy.against(C).labels(Y), 1)
    np.testing.assert_array_equal(
        discrepancy.against(C + 1e-13 * np.array([[0, 0], [1, 0], [0, 0], [0, 0]])).labels(Y), 1
    )


@metrics
def test_a_plain_discrepancy_gives_the_same_fit(embedded, discrepancy, metric):
    Y, w, C = embedded
    chunks = SingleChunk.of(Y, w)
    fast, plain = (lloyd(chunks, C, e, 20, 0.0).centroids for e in (discrepancy, Naive(metric)))
    np.testing.assert_allclose(fast, plain, atol=1e-10)


def settled_share(before, after):
    """Share of rows that were not searched: their lower bounds only fell, all by one of two amounts."""
    if before is None:
        return 0.0
    amounts, counts = np.unique((before - after).round(9), return_counts=True)
    return counts[amounts >= 0].max(initial=0) / len(before) if counts.max() > 1 else 0.0


@metrics
@pytest.mark.parametrize("k", [3, 10, 40])
@pytest.mark.parametrize("spread", [0.0, 3.0], ids=["noise", "clusters"])
def test_bounds_change_no_label(discrepancy, metric, k, spread):
    """Passes that reuse a chunk's scratch give the labels and sums of passes that search every row."""
    rng = np.random.default_rng(k)
    centers = spread * rng.normal(size=(k, 12))
    Y = (centers[rng.integers(0, k, 2000)] + rng.normal(size=(2000, 12))).astype(np.float32)
    w = rng.random(2000)
    C, scratch, settled = Y[:k].astype(float), {}, 0
    for _ in range(15):
        before = scratch["rows"].lower.copy() if scratch else None
        labels, partial = discrepancy.against(C).assign(Y, w, scratch, exact=True)
        plain, expected = discrepancy.against(C).assign(Y, w, {}, exact=True)
        np.testing.assert_array_equal(labels, plain)
        np.testing.assert_array_equal(partial.sums, expected.sums)
        assert partial.inertia == pytest.approx(expected.inertia, rel=1e-12)
        settled = max(settled, settled_share(before, scratch["rows"].lower))
        C = np.where(partial.counts[:, None] > 0, partial.sums / np.maximum(partial.counts, 1e-9)[:, None], C)
    assert settled > (0.5 if spread else 0)


@metrics
def test_inertia_on_the_way_is_nearly_exact(embedded, discrepancy, metric):
    Y, w, C = embedded
    quick = discrepancy.against(C).assign(Y, w, {})[1]
    assert quick.inertia == pytest.approx((w * cdist(Y, C, metric).min(axis=1) ** 2).sum(), rel=1e-5)


def test_lloyd_equals_scikit_learn(embedded):
    Y, w, C = embedded
    w = w + 1
    expected = KMeans(11, init=C, n_init=1, max_iter=300, tol=0.0, algorithm="lloyd").fit(
        Y.astype(float), sample_weight=w
    )
    chunks = LocalChunks.of(Y, w, split(len(Y), 100), 2)
    found = lloyd(chunks, C, Euclidean(), 300, 0.0)
    last = assign_all(chunks, found.centroids, Euclidean())
    assert found.converged
    np.testing.assert_array_equal(last.labels, expected.labels_)
    np.testing.assert_allclose(found.centroids, expected.cluster_centers_, atol=1e-6)
    assert last.sums.inertia == pytest.approx(expected.inertia_, rel=1e-6)


def test_mean_variance_is_the_weighted_variance(embedded):
    Y, w, C = embedded
    _, partial = Euclidean().against(C).assign(Y, w, {})
    mean = np.average(Y, axis=0, weights=w)
    expected = np.average((Y - mean) ** 2, axis=0, weights=w).mean()
    assert partial.mean_variance == pytest.approx(expected, rel=1e-5)


def test_convergence_is_relative_to_the_variance(embedded):
    Y, w, C = embedded
    seen = []
    found = lloyd(
        SingleChunk.of(Y, w), C, Euclidean(), 100, 0.05, lambda n, shift, inertia, C: seen.append(shift)
    )
    _, partial = Euclidean().against(C).assign(Y, w, {})
    bar = 0.05 * partial.mean_variance
    assert found.converged
    assert found.n_iter == len(seen) < 100
    assert seen[-1] <= bar
    assert min(seen[:-1]) > bar


def test_farthest_rows_are_distinct_with_ties_by_content():
    rows = np.array([[1.0, 0], [0, 1], [0, 1], [2, 2], [0, 0]], dtype=np.float32)
    distances = np.array([3.0, 3.0, 3.0, 9.0, 0.0])
    found = farthest(rows, distances, 3)
    np.testing.assert_array_equal(found.rows, [[2, 2], [0, 1], [1, 0]])
    assert len(farthest(rows, distances, 10).rows) == 3
    order = np.array([4, 2, 0, 3, 1])
    np.testing.assert_array_equal(farthest(rows[order], distances[order], 3).rows, found.rows)
    merged = farthest(rows[:2], distances[:2], 3) + farthest(rows[2:], distances[2:], 3)
    assert isinstance(merged, Farthest)
    np.testing.assert_array_equal(merged.rows, found.rows)


def test_farthest_looks_beyond_many_copies():
    rows = np.concatenate([np.full((5000, 2), 7.0), [[1.0, 1], [2, 2]]]).astype(np.float32)
    found = farthest(rows, np.concatenate([np.full(5000, 9.0), [1, 2]]), 3)
    np.testing.assert_array_equal(found.rows, [[7, 7], [2, 2], [1, 1]])


@pytest.mark.parametrize("n_chunks", [1, 6])
def test_empty_clusters_are_seeded_again(n_chunks):
    X, y = make_blobs(600, centers=[[0, 0], [40, 0], [0, 40]], random_state=0)
    far = np.full((3, 2), 500.0)
    far[0] = 0
    chunks = LocalChunks.of(X.astype(np.float32), np.ones(600), split(600, 600 // n_chunks), 2)
    found = lloyd(chunks, far, Euclidean(), 50, 1e-6)
    labels = assign_all(chunks, found.centroids, Euclidean()).labels
    assert len(set(labels)) == len(set(zip(labels, y, strict=True))) == 3


def test_partial_sums_add_up(embedded):
    Y, w, C = embedded
    _, whole = Euclidean().against(C).assign(Y, w, {})
    parts = [Euclidean().against(C).assign(Y[i : i + 100], w[i : i + 100], {})[1] for i in range(0, 997, 100)]
    total = parts[0]
    for part in parts[1:]:
        total = total + part
    assert isinstance(total, PartialSums)
    np.testing.assert_allclose(total.sums, whole.sums, atol=1e-9)
    assert total.squares == pytest.approx(whole.squares)


def test_k_means_plus_plus_finds_separated_blobs():
    X, y = make_blobs(900, centers=9, cluster_std=0.05, random_state=0)
    Y = X.astype(np.float32)
    for seed, e in product(range(5), (Euclidean(), Manhattan(), Naive("euclidean"))):
        C = greedy_k_means_plus_plus(Y, np.ones(900), 9, e, [np.random.default_rng(seed)])[0]
        assert len(np.unique(y[cdist(C, Y).argmin(axis=1)])) == 9


def test_weight_zero_is_never_drawn():
    Y = np.arange(20, dtype=np.float32)[:, None]
    w = np.where(np.arange(20) < 5, 1.0, 0.0)
    for choose in (greedy_k_means_plus_plus, random_rows):
        for seed in range(10):
            assert choose(Y, w, 4, Euclidean(), [np.random.default_rng(seed)])[0].max() < 5


@metrics
def test_stacked_restarts_equal_single_ones(embedded, discrepancy, metric):
    Y, w, _ = embedded
    starts = [Y[i : i + 5].astype(float) for i in (0, 100, 200)]
    chunks = LocalChunks.of(Y, w, split(len(Y), 300), 2)
    with chunks.cached() as kept:
        stacked = refine_stacked(kept, starts, discrepancy, 12, 1e-4)
    for start, found in zip(starts, stacked, strict=True):
        np.testing.assert_allclose(found, lloyd(chunks, start, discrepancy, 12, 1e-4).centroids, atol=1e-12)


@metrics
def test_squared_discrepancies_to_draw_by(embedded, discrepancy, metric):
    Y, _, _ = embedded
    found = discrepancy.squared_to(Y)(Y[:5])
    np.testing.assert_allclose(found, cdist(Y, Y[:5], metric) ** 2, rtol=1e-4)
    assert (np.diag(found[:5]) == 0).all()


def test_restarts_keep_the_best():
    X, _ = make_blobs(500, centers=12, cluster_std=0.3, random_state=3)
    Y, w = X.astype(np.float32), np.ones(500)

    def inertia(n_init):
        C = seed_centroids(Y, w, 12, Euclidean(), "random", n_init, 0)
        centroids = lloyd(SingleChunk.of(Y, w), C, Euclidean(), 100, 0).centroids
        return Euclidean().against(centroids).assign(Y, w, {})[1].inertia

    assert inertia(20) < inertia(2)


def test_start_labels_and_start_instances_agree(digits):
    X, y = digits
    options = {"n_landmarks": 100, "random_state": 0, "kernel": "linear", "max_iter": 3, "tol": 0}
    means = np.array([X[y == c].mean(axis=0) for c in range(10)])
    by_labels = KernelKMeans(10, init=y, **options).fit(X)
    by_means = KernelKMeans(10, init=means, **options).fit(X)
    np.testing.assert_array_equal(by_labels.labels_, by_means.labels_)


@pytest.mark.parametrize("embedding", ["nystroem", "stable", "ensemble"])
def test_random_partition_is_nearly_balanced_and_runs(digits, embedding):
    km = KernelKMeans(10, init="random-partition", embedding=embedding, n_landmarks=50, random_state=0)
    assert len(np.unique(km.fit(digits[0]).labels_)) == 10


def test_not_converged_warns(digits):
    with pytest.warns(ConvergenceWarning, match="Not converged after 1 iteration. Raise max_iter"):
        KernelKMeans(10, max_iter=1, init="random", n_init=1, n_landmarks=50, random_state=0).fit(digits[0])


def test_verbose_prints_iterations(digits, capsys):
    km = KernelKMeans(5, n_landmarks=50, random_state=0, verbose=1).fit(digits[0])
    assert capsys.readouterr().out.count("iteration") == km.n_iter_


@pytest.mark.parametrize(("discrepancy", "metric"), [(Euclidean(), "euclidean"), (Manhattan(), "cityblock")])
@pytest.mark.parametrize("m", [511, 512, 513, 1300])
@pytest.mark.parametrize("k", [3, 40])
@pytest.mark.parametrize("offset", [0, 300])
def test_long_rows_are_summed_in_parts(discrepancy, metric, m, k, offset):
    """Products and maxima are taken 512 components at a time; far from the origin most of them cancel."""
    rng = np.random.default_rng(m)
    Y = (rng.normal(size=(61, m)) + offset).astype(np.float32)
    C = rng.normal(size=(k, m)) + offset
    expected = cdist(Y.astype(np.float64), C, metric)
    labels, partial = discrepancy.against(C).assign(Y, np.ones(61), {}, exact=True)
    np.testing.assert_array_equal(labels, expected.argmin(axis=1))
    assert partial.inertia == pytest.approx((expected.min(axis=1) ** 2).sum())
    squared = discrepancy.squared_to(Y)(C.astype(np.float32))
    np.testing.assert_allclose(squared, expected**2, rtol=1e-4 if offset == 0 else 0.2)
