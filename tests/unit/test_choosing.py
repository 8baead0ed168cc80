"""Choosing the number of clusters: measures against naive loops, and recommendations on data that are known."""

import sys
import tracemalloc
from dataclasses import replace
from itertools import combinations

import numpy as np
import pytest
from scipy import sparse
from scipy.cluster.hierarchy import cut_tree, linkage
from sklearn.cluster import KMeans
from sklearn.datasets import make_blobs, make_circles, make_moons
from sklearn.metrics import adjusted_rand_score, mutual_info_score
from sklearn.model_selection import GridSearchCV, KFold

import apnc
from apnc import KernelEmbedding, KernelKMeans, SpectralClustering, checks, choose, stability_scorer
from apnc.choosing import Measures, agreement, measuring, pictures, rule, scorer, starts, valleys
from apnc.choosing.probe import probe, sampling_within_limit
from apnc.choosing.starts import Clustering, merging
from apnc.discrepancy import Euclidean, Manhattan
from apnc.engines.local import Spread
from apnc.progress import Progress
from apnc.run import costs
from apnc.run.budget import Budget
from apnc.settings import Sizes

SMALL = {"n_landmarks": 80, "n_init": 4, "random_state": 0, "n_jobs": 1}
KS = range(2, 8)


def blobs(n=600, k=4, seed=1, d=2):
    centres = np.random.default_rng(seed).permutation(np.eye(max(k, d)))[:k, :d] if d >= k else None
    if centres is None:
        angles = 2 * np.pi * np.arange(k) / k
        centres = np.column_stack([np.cos(angles), np.sin(angles)])
    return make_blobs(n, centers=10 * centres, cluster_std=1.0, random_state=seed)


@pytest.fixture(scope="module")
def four():
    return blobs()


@pytest.fixture(scope="module")
def chosen(four):
    return choose(four[0], KernelKMeans(**SMALL), KS)


@pytest.fixture
def labelled():
    rng = np.random.default_rng(0)
    one = rng.integers(0, 4, 60)
    two = np.where(rng.random(60) < 0.7, one, rng.integers(0, 4, 60))
    return one, two, rng.integers(1, 4, 60).astype(float)


def naive_strength(own, predicted, weights, k):
    shares = []
    for cluster in range(k):
        members = np.flatnonzero(own == cluster)
        pairs = [(i, j, weights[i] * weights[j]) for i, j in combinations(members, 2)]
        kept = sum(w for i, j, w in pairs if predicted[i] == predicted[j])
        shares.append(kept / sum(w for *_, w in pairs) if pairs else 0.0)
    return min(shares)


def test_prediction_strength_equals_a_loop_over_pairs(labelled):
    one, two, weights = labelled
    found = agreement.prediction_strength(one, two, weights, 4)
    assert found == pytest.approx(naive_strength(one, two, weights, 4))
    assert 0 < found < 1
    assert agreement.prediction_strength(one, one, weights, 4) == 1
    assert agreement.prediction_strength(one, one, weights, 5) == 0, "nothing speaks for an empty cluster"


def test_adjusted_rand_equals_scikit_learn(labelled):
    one, two, weights = labelled
    found = agreement.adjusted_rand(one, two, np.ones(60), 4)
    assert found == pytest.approx(adjusted_rand_score(one, two))
    # Rows of weight 2 count as pairs with others twice, but not as a pair with themselves.
    assert agreement.adjusted_rand(one, two, weights, 4) == pytest.approx(naive_rand(one, two, weights))
    assert agreement.adjusted_rand(one, (one + 1) % 4, weights, 4) == pytest.approx(1)
    assert agreement.adjusted_rand(one * 0, one * 0, weights, 4) == 1


def naive_rand(one, two, weights):
    pairs = [(i, j, weights[i] * weights[j]) for i, j in combinations(range(len(one)), 2)]
    total = sum(w for *_, w in pairs)
    first = sum(w for i, j, w in pairs if one[i] == one[j])
    second = sum(w for i, j, w in pairs if two[i] == two[j])
    both = sum(w for i, j, w in pairs if one[i] == one[j] and two[i] == two[j])
    expected = first * second / total
    return (both - expected) / ((first + second) / 2 - expected)


def test_valleys_equal_a_loop_over_pairs():
    rng = np.random.default_rng(1)
    centres = np.array([[0.0, 0], [4, 0], [1, 5]])
    rows = np.concatenate([centre + rng.normal(size=(100, 2)) for centre in centres])
    labels, weights = np.repeat(np.arange(3), 100), rng.uniform(0.5, 2, 300)
    depths, apart = valleys.valleys(rows, weights, labels, centres)
    for i, j in combinations(range(3), 2):
        middle, line = (centres[i] + centres[j]) / 2, centres[j] - centres[i]
        both = np.flatnonzero((labels == i) | (labels == j))
        t = np.array([(rows[row] - middle) @ line / (line @ line) for row in both])
        at = [weights[both][np.abs(t - place) < 0.1].sum() for place in (0, -0.5, 0.5)]
        assert depths[i, j] == depths[j, i] == pytest.approx(at[0] / min(at[1:]))
        right = (t > 0) == (labels[both] == j)
        assert apart[i, j] == min(right[labels[both] == i].mean(), right[labels[both] == j].mean())


def test_a_gap_is_a_valley_and_a_plateau_is_none():
    rng = np.random.default_rng(0)
    gap = np.concatenate([rng.normal(-0.5, 0.1, 1000), rng.normal(0.5, 0.1, 1000)])
    assert valleys.valley(gap, np.ones(2000)) < 0.01
    assert valleys.valley(rng.uniform(-1, 1, 2000), np.ones(2000)) == pytest.approx(1, abs=0.3)
    assert valleys.valley(rng.normal(0, 0.5, 2000), np.ones(2000)) > 1.3
    assert valleys.valley(np.zeros(3), np.ones(3)) == valleys.MOST


def test_merging_is_that_of_ward():
    rng = np.random.default_rng(0)
    centroids = rng.normal(size=(12, 3))
    merged = merging(centroids, np.ones(12), range(2, 12))
    tree = linkage(centroids, "ward")
    for k in range(2, 12):
        parts = cut_tree(tree, k).ravel()
        expected = np.array([centroids[parts == part].mean(axis=0) for part in np.unique(parts)])
        np.testing.assert_allclose(np.sort(merged[k], axis=0), np.sort(expected, axis=0), atol=1e-12)


@pytest.mark.parametrize("discrepancy", [Euclidean(), Manhattan()], ids=["L2", "L1"])
def test_clusterings_of_all_numbers_are_as_good_as_one_by_one(discrepancy):
    Y = blobs(500, 6, d=6)[0].astype(np.float32)
    found = Clustering(discrepancy, 4).centroids(Y, np.ones(len(Y)), [2, 3, 5, 6, 9], 0)
    for k, centroids in found.items():
        assert centroids.shape == (k, 6)
        if discrepancy.of_products:
            nearest = discrepancy.distances(Y, centroids).min(axis=1)
            expected = KMeans(k, n_init=10, random_state=0).fit(Y).inertia_
            assert (nearest**2).sum() <= 1.02 * expected


def test_groups_are_counted_and_fitted(four, chosen):
    assert chosen.n_clusters == 4
    assert chosen.hint is None
    assert chosen.estimator.n_clusters == 4
    assert adjusted_rand_score(four[1], chosen.estimator.labels_) > 0.99
    alone = KernelKMeans(4, **SMALL).fit(four[0])
    np.testing.assert_array_equal(chosen.estimator.labels_, alone.labels_)
    assert chosen.reason.startswith("4 clusters: ")
    assert "With 5 it is" in chosen.reason
    by_k = {one.n_clusters: one for one in chosen.measures}
    assert by_k[4].prediction_strength == pytest.approx(1)
    assert by_k[4].stability == pytest.approx(1)
    assert by_k[4].smallest == pytest.approx(0.25)
    assert by_k[4].valley < 0.1 < 0.5 < by_k[5].valley
    assert by_k[4].stability_null < 0.95


def test_the_largest_number_that_was_tried(four):
    found = choose(four[0], KernelKMeans(**SMALL), [2, 4], fit=False)
    assert found.n_clusters == 4
    assert "try more" in found.reason
    assert found.estimator is None


def test_a_single_number(four):
    km = KernelKMeans(**SMALL)
    assert choose(four[0], km, [4], fit=False).n_clusters == 4
    none = choose(four[0], km, [5], fit=False)
    assert none.n_clusters is None
    assert "with 5 clusters are clusters both" in none.reason


NOISE = {
    "Gaussian": lambda rng: rng.normal(size=(800, 2)),
    "uniform": lambda rng: rng.uniform(size=(800, 3)),
    "heavy tails": lambda rng: rng.standard_t(3, size=(800, 5)),
    "a bar": lambda rng: rng.uniform(size=(1500, 2)) * [6, 1],
}


@pytest.mark.parametrize("kind", NOISE)
def test_noise_has_no_clear_structure(kind):
    found = choose(NOISE[kind](np.random.default_rng(3)), KernelKMeans(**SMALL), KS)
    assert found.n_clusters is None
    assert found.estimator is None
    assert found.reason.startswith("No clear structure: for no number of clusters from 2 to 7 ")


def embedded(X, km):
    job = km._job(X, reset=True)
    return probe(job, checks.settings_of(km, job.source))


def test_a_bar_needs_the_rows_themselves():
    """Its image under the kernel is crowded at the ends, which looks like a gap."""
    X = np.random.default_rng(0).uniform(size=(3000, 2)) * [4, 1]
    sample = embedded(X, KernelKMeans(2, **SMALL))
    (with_rows,) = measuring.measure(sample, [2], lambda n: None)
    (without,) = measuring.measure(replace(sample, rows=None), [2], lambda n: None)
    assert with_rows.valley > 0.8
    assert without.valley < with_rows.valley - 0.1


def spirals(n, seed=0):
    rng = np.random.default_rng(seed)
    t, arm = 3 * np.pi * np.sqrt(rng.uniform(0.1, 1, n)), rng.integers(0, 2, n)
    angle = t + np.pi * arm
    return np.column_stack([t * np.cos(angle), t * np.sin(angle)]) + 0.25 * rng.normal(size=(n, 2))


SHAPES = {
    "half-moons": lambda: make_moons(1200, noise=0.08, random_state=0)[0],
    "rings": lambda: make_circles(1200, factor=0.5, noise=0.06, random_state=0)[0],
    "spirals": lambda: spirals(1200),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_shapes_of_a_graph(shape):
    found = choose(SHAPES[shape](), SpectralClustering(n_init=4, random_state=0, n_jobs=1), KS, fit=False)
    assert found.n_clusters == 2
    gaps = found.columns["eigengap"]
    assert gaps[0] > 3 * max(gaps[1:])
    assert found.columns["eigenvalue"] == sorted(found.columns["eigenvalue"])


def test_a_graph_of_noise_has_no_clear_structure():
    X = np.random.default_rng(0).uniform(size=(800, 2))
    found = choose(X, SpectralClustering(n_init=4, random_state=0, n_jobs=1), KS)
    assert found.n_clusters is None
    assert found.hint is None


def test_the_order_of_rows_does_not_matter(four):
    X, km = four[0], KernelKMeans(**SMALL)
    one = choose(X, km, [2, 4, 5], fit=False)
    two = choose(X[np.random.default_rng(0).permutation(len(X))], km, [2, 4, 5], fit=False)
    assert one.measures == two.measures
    assert one.reason == two.reason
    other = choose(X, KernelKMeans(**SMALL | {"random_state": 1}), [2, 4, 5], fit=False)
    assert other.measures != one.measures


def test_weights_are_repetitions(four):
    X, km = four[0][:200], KernelKMeans(**SMALL)
    weights = np.random.default_rng(0).integers(1, 4, 200)
    weighted = choose(X, km, [2, 4], sample_weight=weights)
    repeated = choose(np.repeat(X, weights, axis=0), km, [2, 4])
    assert weighted.measures == repeated.measures
    assert weighted.n_clusters == repeated.n_clusters == 4
    assert weighted.estimator.cluster_sizes_.sum() == weights.sum()


def test_starts_advanced_one_by_one_end_at_the_same_centroids(four):
    Y, weights, ks = four[0].astype(np.float32), np.ones(len(four[0])), [2, 4, 5]
    together = Clustering(Euclidean(), 3)
    alone = replace(together, room=0.0)
    many = [np.zeros((k, 2)) for k in ks for _ in range(3)]
    assert [len(some) for some in together.groups(many, *Y.shape)] == [9]
    assert [len(some) for some in alone.groups(many, *Y.shape)] == [1] * 9
    some = replace(together, room=3.5 * costs.start_bytes(2, 2, len(Y), 1))
    sizes = [[len(start) for start in group] for group in some.groups(many, *Y.shape)]
    assert sizes[0] == [2, 2, 2]
    assert [k for group in sizes for k in group] == [2, 2, 2, 4, 4, 4, 5, 5, 5]
    expected = together.centroids(Y, weights, ks, 0)
    for other in (alone, some):
        for k, centroids in other.centroids(Y, weights, ks, 0).items():
            np.testing.assert_array_equal(centroids, expected[k])


def test_a_memory_limit_shrinks_the_sample_before_the_landmarks(four):
    def sampled(limit, **options):
        km = KernelKMeans(20, memory_limit=limit, random_state=0, **options)
        job = km._job(np.zeros((100, 4)), reset=True)
        # The memory in use does not matter.
        job = replace(job, budget=Budget(job.budget.limit, 0))
        found = sampling_within_limit(job, checks.settings_of(km, job.source))
        return found.least_seeding, found.most_landmarks

    assert sampled("4GB") == (8192, np.inf)
    sizes = [sampled(f"{limit}MB") for limit in range(460, 1500, 20)]
    assert [n for n, _ in sizes] == sorted(n for n, _ in sizes)
    assert {n for n, _ in sizes} == {2048, 4096, 8192}
    assert {n for n, most in sizes if most < np.inf} == {2048}


def traced(work):
    tracemalloc.start()
    found = work()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return found, peak


def test_a_tight_memory_limit_is_kept(four, monkeypatch):
    """The limit that the refusal names is one that is kept."""
    monkeypatch.setattr(Budget, "now", lambda limit: Budget(limit, 0))

    def found(limit):
        options = {"n_landmarks": 200, "n_components": 200, "n_jobs": 2, "random_state": 0}
        return choose(four[0], KernelKMeans(memory_limit=limit, **options), KS, fit=False)

    found(None)
    with pytest.raises(ValueError, match="memory_limit=50MB is too small: this needs at least") as refused:
        found(50_000_000)
    limit = int(str(refused.value).split("needs at least ")[1].split("MB")[0]) * 1_000_000
    tight, peak = traced(lambda: found(limit))
    assert tight.n_clusters == 4
    assert peak <= limit - costs.SLACK


def test_starts_are_advanced_together_as_far_as_there_is_room(monkeypatch):
    monkeypatch.setattr(starts, "SAMPLE_ITERATIONS", 2)
    Y = np.random.default_rng(0).normal(size=(300, 300)).astype(np.float32)
    ks = [2, *range(24, 34)]
    roomy = Clustering(Euclidean(), 5, Spread(2), threads=2)
    one = costs.start_bytes(ks[-1], 300, 300, 2)
    expected, most = traced(lambda: roomy.centroids(Y, np.ones(300), ks, 0))
    found, peak = traced(lambda: replace(roomy, room=one).centroids(Y, np.ones(300), ks, 0))
    for k in ks:
        np.testing.assert_array_equal(found[k], expected[k])
    problem = costs.Problem(Sizes(300, 300, ks[-1], 600, 0), 0, 0, True, 0, 0, 8, 2, 0)
    assert peak <= sum(costs.choosing(problem, 600, one).values()) - costs.SLACK < most


def test_sparse_rows_objects_files_and_a_memory_limit(four, tmp_path):
    X, km = four[0], KernelKMeans(**SMALL)
    expected = choose(X, km, [3, 4, 5], fit=False)
    np.save(tmp_path / "x.npy", X)
    from_file = choose(tmp_path / "x.npy", km, [3, 4, 5])
    assert from_file.measures == expected.measures
    assert from_file.estimator.cluster_sizes_.sum() == len(X)
    assert choose(sparse.csr_array(X), km, [3, 4, 5], fit=False).n_clusters == 4

    def similarity(A, B):
        A, B = np.array(A), np.array(B)
        return np.exp(-0.02 * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    objects = [tuple(row) for row in X[:300].tolist()]
    assert choose(objects, KernelKMeans(kernel=similarity, **SMALL), [3, 4, 5]).n_clusters == 4
    limited = choose(X, KernelKMeans(memory_limit="4GB", **SMALL), [3, 4, 5], fit=False)
    assert limited.measures == expected.measures
    with pytest.raises(ValueError, match="memory_limit=100MB is too small"):
        choose(X, KernelKMeans(memory_limit="100MB", **SMALL), [3, 4, 5])


def test_a_precomputed_kernel(four):
    X = four[0][:300]
    K = np.exp(-0.02 * ((X[:, None] - X[None]) ** 2).sum(axis=2))
    found = choose(K, KernelKMeans(kernel="precomputed", **SMALL), [3, 4, 5])
    assert found.n_clusters == 4
    assert len(found.estimator.labels_) == 300


def test_the_estimator_stays_as_it_is(four):
    km = KernelKMeans(3, **SMALL).fit(four[0])
    before = dict(vars(km))
    choose(four[0], km, [4, 5])
    assert vars(km) == before


@pytest.mark.parametrize(
    ("X", "estimator", "numbers", "error", "said"),
    [
        (None, KernelKMeans(), [], ValueError, "n_clusters is empty"),
        (None, KernelKMeans(), range(1, 4), ValueError, "begins at 1"),
        (None, KernelKMeans(), [2, 2.5], ValueError, "n_clusters=2.5 must be"),
        (None, KernelKMeans(), 5, TypeError, "several numbers"),
        (None, KernelEmbedding(), [2], TypeError, "must be a clusterer .* got KernelEmbedding"),
        (None, KernelKMeans, [2], TypeError, r"the class: add \(\)"),
        (None, KMeans(), [2], TypeError, "got KMeans"),
        (None, KernelKMeans(2, init=np.zeros((2, 2))), [2], ValueError, "init gives the start"),
        (
            30,
            KernelKMeans(),
            range(2, 21),
            ValueError,
            r"needs at least 80 distinct rows, got 30; pass .*range\(2, 8\)",
        ),
        (9, KernelKMeans(), [3], ValueError, "got 9; there are too few"),
        (10, KernelKMeans(), [20], ValueError, "n_clusters=20 needs at least 20 rows, got n_samples=10"),
    ],
)
def test_errors(four, X, estimator, numbers, error, said):
    with pytest.raises(error, match=said):
        choose(four[0][:X], estimator, numbers)


class Heard(Progress):
    def __init__(self):
        self.stages, self.done = [], 0

    def stage(self, name, total_rows=None, passes=1, max_iter=None):
        self.stages.append((name, (total_rows or 0) * passes))

    def rows(self, n):
        self.done += (self.stages[-1][0] == "choosing") * n


def test_progress(four):
    heard = Heard()
    choose(four[0], KernelKMeans(**SMALL), [3, 4], progress=heard)
    names = [name for name, _ in heard.stages]
    assert names[:3] == ["sampling", "coefficients", "choosing"]
    assert names[3:] == ["sampling", "coefficients", "starting", "embedding", "clustering", "labels"]
    assert 0.1 * heard.stages[2][1] < heard.done <= heard.stages[2][1]


def test_a_choice_is_shown(chosen, monkeypatch):
    table = chosen.table
    assert list(table.index) == list(KS)
    assert list(table.columns) == [
        "prediction_strength",
        "stability",
        "stability_null",
        "valley",
        "smallest",
    ]
    assert table.loc[4, "valley"] == chosen.columns["valley"][2]
    assert str(chosen).startswith("4 clusters: ")
    assert [line[-2:] == "<-" for line in repr(chosen).splitlines()[-6:]] == [k == 4 for k in KS]
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert chosen.table == chosen.columns


def test_a_choice_in_a_notebook(chosen):
    html = replace(chosen, reason="<script>alert(1)</script>", hint="a < b")._repr_html_()
    assert "<script>" not in html
    assert "&lt;script&gt;" in html
    assert "a &lt; b" in html
    assert html.count("<polyline") == 4
    assert html.count("<tr") == 1 + len(KS)


def test_a_choice_is_drawn(chosen, monkeypatch):
    import matplotlib

    matplotlib.use("Agg")
    ax = chosen.plot()
    assert len(ax.lines) == 5
    assert chosen.plot(ax) is ax
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"apnc\[plot\]"):
        chosen.plot()


def row(k, strength, valley, stability=0.5, null=0.5, gap=None):
    return Measures(k, strength, stability, null, valley, 0.1, gap and 0.01, gap)


def test_the_rule():
    found = [row(2, 1, 0.1), row(3, 0.9, 0.4), row(4, 0.75, 0.1), row(5, 0.9, 0.6)]
    assert rule.recommended(found) is found[1]
    assert rule.recommended(found[2:]) is None
    assert "4 clusters come nearest, with 75% and 10%" in rule.reason(found[2:], None)


def test_hints():
    found = [row(2, 0.5, 1), row(3, 0.5, 1, 0.8, 0.4), row(4, 0.5, 1, 0.9, 0.7)]
    assert rule.hint(found, None).startswith("Only a hint: with 3 clusters")
    assert rule.hint(found, found[0]) is None
    assert rule.hint(found[:1], None) is None
    gaps = [row(2, 0.5, 1, 0.9, 0.1, 2.0), row(3, 0.5, 1, gap=8.0)]
    assert "after number 3" in rule.hint(gaps, None)
    assert rule.hint(gaps[:1], None) is None, "coordinates of a graph are never Gaussian"


def test_cells():
    assert [pictures.cell(value) for value in (None, 3, 0.126, 1234.5)] == ["-", "3", "0.13", "1.23e+03"]


def test_the_score_is_that_of_scikit_learn(labelled):
    one, two, _ = labelled
    table = agreement.contingency(one, two, np.ones(60), 4)
    shared = mutual_info_score(one, two)
    entropies = mutual_info_score(one, one) + mutual_info_score(two, two)
    expected = (shared - (entropies - 2 * shared)) / np.log(2)
    assert scorer.shared_information(table) == pytest.approx(expected)
    assert scorer.shared_information(np.eye(4)) == pytest.approx(2)
    assert scorer.shared_information(np.ones((4, 4))) == pytest.approx(-4)


def search(X, km, grid, scoring):
    folds = KFold(2, shuffle=True, random_state=0)
    return GridSearchCV(km, grid, scoring=scoring, cv=folds).fit(X)


def test_a_grid_search_for_the_number_of_clusters(four):
    km, grid = KernelKMeans(gamma="mean", **SMALL), {"n_clusters": list(KS)}
    assert search(four[0], km, grid, None).best_params_ == {"n_clusters": 7}, "score prefers more clusters"
    assert search(four[0], km, grid, stability_scorer).best_params_ == {"n_clusters": 4}


@pytest.mark.parametrize("shape", ["rings", "half-moons"])
def test_a_grid_search_for_the_number_of_shapes(shape):
    """Rings and half-moons are found again in any number of slices."""
    km = KernelKMeans(gamma=2.0, **SMALL)
    X = make_circles(800, factor=0.15, noise=0.05, random_state=0)[0]
    if shape == "half-moons":
        km, X = SpectralClustering(n_init=4, random_state=0, n_jobs=1), SHAPES[shape]()
    assert search(X, km, {"n_clusters": [2, 3, 4, 6, 8]}, stability_scorer).best_params_ == {"n_clusters": 2}


def test_a_grid_search_for_gamma():
    X, y = make_circles(800, factor=0.15, noise=0.05, random_state=0)
    km, grid = KernelKMeans(2, **SMALL), {"gamma": [0.05, 0.5, 2.0, 500.0]}
    assert search(X, km, grid, None).best_params_ == {"gamma": 0.05}, "score prefers a small gamma"
    found = search(X, km, grid, stability_scorer).best_estimator_
    assert adjusted_rand_score(y, found.labels_) > 0.99


def test_a_precomputed_kernel_cannot_be_scored():
    K = np.eye(20)
    km = KernelKMeans(2, kernel="precomputed", random_state=0).fit(K)
    with pytest.raises(ValueError, match=r"Use apnc\.choose"):
        stability_scorer(km, K)


def test_public_names():
    assert apnc.choose is choose
    assert "apnc.choose" in KernelKMeans.score.__doc__
