"""Prototypes, descriptions and trees of clusters, against naive loops and scipy."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from scipy.cluster import hierarchy
from sklearn.datasets import make_blobs
from sklearn.exceptions import NotFittedError

import apnc
from apnc import KernelKMeans, SpectralClustering
from apnc.describing.contrasts import PRIOR, log_odds
from apnc.describing.merging import ward
from apnc.engines.contract import SourceRows
from apnc.engines.local import row_ids
from apnc.kernels import Spectrum, TimeWarp
from apnc.run import costs
from apnc.run.budget import Budget
from apnc.settings import Sizes

X, _ = make_blobs(300, 3, centers=4, random_state=3)
X = np.concatenate([X, X[:60]])
WORDS = sorted({a + b + c for a in "abcd" for b in "efgh" for c in "ijkl"})


def shared(A, B):
    return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])


class Opaque:
    """An object without canonical bytes."""

    def __init__(self, word):
        self.word = word


def shared_opaque(A, B):
    return shared([a.word for a in A], [b.word for b in B])


def text_rows():
    rng = np.random.default_rng(0)
    topics = np.arange(240) % 3
    likely = np.full((3, 30), 0.08)
    for topic in range(3):
        likely[topic, 5 * topic : 5 * topic + 5] = 0.7
    likely[:, 29] = 1.0
    return sparse.csr_array((rng.random((240, 30)) < likely[topics]) * rng.random((240, 30)))


TEXT = text_rows()


def gram(A):
    return np.exp(-((A[:, None] - A) ** 2).sum(axis=2) / 20)


CASES = {
    "vectors": (KernelKMeans(4, random_state=0), X),
    "L1": (KernelKMeans(4, embedding="stable", n_components=50, random_state=0), X),
    "graph": (SpectralClustering(4, random_state=0), X),
    "scaled": (KernelKMeans(4, scale="standard", random_state=0), X),
    "sparse": (KernelKMeans(3, kernel="cosine", random_state=0), TEXT),
    "objects": (KernelKMeans(3, kernel=shared, random_state=0), WORDS),
    "opaque": (KernelKMeans(3, kernel=shared_opaque, random_state=0), [Opaque(word) for word in WORDS]),
    "precomputed": (KernelKMeans(3, kernel="precomputed", random_state=0), gram(X[:100])),
}


@pytest.fixture(scope="module", params=CASES)
def fitted(request):
    km, rows = CASES[request.param]
    return km.fit(rows), rows


@pytest.fixture(scope="module")
def km():
    return KernelKMeans(4, random_state=0).fit(X)


def content(row):
    row = row.toarray() if sparse.issparse(row) else getattr(row, "word", row)
    return row if isinstance(row, str) else np.asarray(row).tobytes()


def row_of(rows, i):
    return rows[[i]] if sparse.issparse(rows) else rows[i]


def naive(km, rows, n, boundary):
    """For each cluster the values of the best distinct rows, by looking at all of them."""
    distances, labels = km.transform(rows), km.predict(rows)
    found = []
    for c in range(distances.shape[1]):
        best = {}
        for i in np.flatnonzero(labels == c):
            own, other = distances[i, c], np.delete(distances[i], c).min()
            best.setdefault(content(row_of(rows, i)), ((other - own) / other if boundary else own, i))
        found.append(sorted(best.values(), key=lambda pair: pair[0])[:n])
    return found


@pytest.mark.parametrize("boundary", [False, True])
def test_prototypes_are_the_best_distinct_rows(fitted, boundary):
    km, rows = fitted
    found = km.prototypes(rows, n=4, boundary=boundary)
    assert found.boundary is boundary
    distances = km.transform(rows)
    for c, (examples, expected) in enumerate(zip(found, naive(km, rows, 4, boundary), strict=True)):
        ranks = examples.margins if boundary else examples.distances
        np.testing.assert_allclose(ranks, [value for value, _ in expected], rtol=1e-5, atol=1e-6)
        assert (km.predict(rows)[examples.numbers] == c).all()
        np.testing.assert_allclose(examples.distances, distances[examples.numbers, c], rtol=1e-6)
        if boundary:
            nearest = np.argsort(distances[examples.numbers], axis=1)[:, :2]
            assert all(o in pair for o, pair in zip(examples.others, nearest, strict=True))
        for position, number in enumerate(examples.numbers):
            same = [i for i in range(number) if content(row_of(rows, i)) == content(row_of(rows, number))]
            assert not same, "the lowest number of equal rows"
            if km.kernel != "precomputed":
                assert content(row_of(examples.rows, position)) == content(row_of(rows, number))


def test_prototypes_do_not_depend_on_order_or_chunks(km, tmp_path):
    shuffle = np.random.default_rng(1).permutation(len(X))
    np.save(tmp_path / "x.npy", X[shuffle])
    for boundary in (False, True):
        one = km.prototypes(X, boundary=boundary)
        for two in (
            km.prototypes(X[shuffle], boundary=boundary),
            km.prototypes(tmp_path / "x.npy", boundary=boundary),
        ):
            for a, b in zip(one, two, strict=True):
                np.testing.assert_array_equal(a.rows, b.rows)
                np.testing.assert_array_equal(X[shuffle][b.numbers], b.rows)


def test_equal_distances_are_ordered_by_content():
    rows = np.array([[1.0, 0], [-1, 0], [0, 1], [0, -1], [9, 9], [9, 9]])
    km = KernelKMeans(2, kernel="linear", random_state=0).fit(rows)
    one, two = (km.prototypes(given, n=2) for given in (rows, rows[::-1]))
    cluster = km.predict([[1.0, 0]])[0]
    np.testing.assert_array_equal(one[cluster].rows, two[cluster].rows)
    assert len(one[1 - cluster]) == 1, "equal rows are one instance"
    assert one[1 - cluster].numbers.tolist() == [4]


def test_ids_of_prototypes(tmp_path, km):
    table = pa.table({"name": [f"r{i}" for i in range(len(X))], **{f"x{j}": X[:, j] for j in range(3)}})
    pq.write_table(table, tmp_path / "x.parquet", row_group_size=50)
    found = km.prototypes(apnc.open(tmp_path / "x.parquet", id_columns=["name"]))
    for examples, expected in zip(found, km.prototypes(X), strict=True):
        assert examples.ids == {"name": [f"r{i}" for i in expected.numbers]}
        np.testing.assert_array_equal(examples.numbers, expected.numbers)


def test_ids_of_frames_in_memory(km):
    names = [f"r{i}" for i in range(len(X))]
    frame = pd.DataFrame(X, columns=["x0", "x1", "x2"]).assign(name=names, group=np.arange(len(X)) % 7)
    for table in (frame, pa.Table.from_pandas(frame)):
        source = apnc.open(table, id_columns=["name", "group"])
        found = km.describe(source)
        for cluster, expected in zip(found.clusters, km.prototypes(X), strict=True):
            numbers = expected.numbers.tolist()
            ids = {"name": [f"r{i}" for i in numbers], "group": [i % 7 for i in numbers]}
            assert cluster.prototypes.ids == ids
            assert "prototypes: " + ", ".join(f"r{i} {i % 7}" for i in numbers) in str(found)


def test_sums_by_feature_count_towards_the_memory_limit(monkeypatch):
    """As many as clusters times features, for every chunk in flight."""
    rows = np.random.default_rng(0).normal(size=(400, 5000))
    km = KernelKMeans(50, n_landmarks=60, n_init=1, max_iter=2, n_jobs=2, random_state=0).fit(rows)
    km.set_params(memory_limit="500MB")
    monkeypatch.setattr(Budget, "now", lambda limit: Budget(500_000_000, 400_000_000))
    km.predict(rows)
    with pytest.raises(
        ValueError, match=r"memory_limit=500MB is too small.*sums by cluster and feature 14MB"
    ):
        km.describe(rows)
    words = sparse.random_array(
        (400, 5000), density=0.002, random_state=np.random.default_rng(1), format="csr"
    )
    text = KernelKMeans(50, kernel="cosine", n_landmarks=60, n_init=1, max_iter=2, random_state=0).fit(words)
    assert len(text.set_params(memory_limit="500MB").describe(words)) == 50


@pytest.mark.parametrize("kind", ["dense", "sparse"])
def test_descriptions_take_no_more_memory_than_they_are_priced_at(kind):
    rng = np.random.default_rng(0)
    if kind == "dense":
        rows, options = rng.normal(size=(1500, 3000)), {}
    else:
        rows = sparse.random_array(
            (1500, 20_000), density=0.01, random_state=np.random.default_rng(1), format="csr"
        )
        options = {"kernel": "cosine"}
    km = KernelKMeans(60, n_landmarks=60, n_init=1, max_iter=2, n_jobs=2, random_state=0, **options).fit(rows)
    km.describe(rows[:200])
    job = km.set_params(memory_limit="16GB")._job(rows)
    problem = job.problem(Sizes(60, km.n_components_, 0, len(km.labels_), 0))
    parts = costs.describing(problem, 60, 5, rows.shape[1], kind == "sparse")
    tracemalloc.start()
    km.describe(rows)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= sum(parts.values()) - costs.SLACK
    assert peak > parts["sums by cluster and feature"] / 4, "not far too much either"


def test_rows_without_weight_are_not_described(km):
    weights = np.random.default_rng(0).integers(0, 3, len(X))
    found = km.describe(X, sample_weight=weights)
    repeated = km.describe(np.repeat(X, weights, axis=0))
    for one, two in zip(found.clusters, repeated.clusters, strict=True):
        assert one.size == two.size
        np.testing.assert_allclose([one.cohesion, one.share], [two.cohesion, two.share])
        assert [c.name for c in one.contrasts] == [c.name for c in two.contrasts]
        np.testing.assert_array_equal(one.prototypes.rows, two.prototypes.rows)


def test_sizes_cohesion_and_nearest_cluster(fitted):
    km, rows = fitted
    found, labels, distances = km.describe(rows), km.labels_, km.transform(rows)
    own = distances[np.arange(len(labels)), labels] ** 2
    beta, e = km._model.beta, km._model.discrepancy
    for c, cluster in enumerate(found.clusters):
        assert (cluster.number, cluster.size) == (c, (labels == c).sum())
        np.testing.assert_allclose(cluster.share, (labels == c).mean())
        np.testing.assert_allclose(cluster.cohesion, own[labels == c].mean(), rtol=1e-9)
        np.testing.assert_allclose(cluster.relative_cohesion, own[labels == c].mean() / own.mean(), rtol=1e-9)
        apart = beta * e.distances(km.cluster_centers_[[c]], km.cluster_centers_)[0]
        apart[c] = np.inf
        assert cluster.nearest == apart.argmin()
        np.testing.assert_allclose(cluster.nearest_distance, apart.min())
        expected = km.prototypes(rows)[c]
        np.testing.assert_array_equal(cluster.prototypes.numbers, expected.numbers)
    assert found.kind in ("features", "words", "objects")
    assert str(found).count("\ncluster ") == len(found) == found._repr_html_().count("<tr>") - 1
    assert len(found.to_frame()) == len(found)


def test_objects_are_shown_as_their_kernel_says(tmp_path):
    series = [[float(i % 2)] * (30 + i) for i in range(12)]
    expected = [f"{len(item)} values from {item[0]:.0f} to {item[0]:.0f}: " for item in series]
    for kernel in (TimeWarp(), 2.0 * TimeWarp()):
        km = KernelKMeans(2, kernel=kernel, random_state=0).fit(series)
        found = km.describe(series)
        page = km.report(series, tmp_path / "page.html").read_text()
        for cluster in found.clusters:
            for number in cluster.prototypes.numbers:
                assert f"row {number}: {expected[number]}" in str(found)
                assert expected[number] in found._repr_html_()
                assert expected[number] in page
        assert found.to_dict()["clusters"][0]["prototypes"]["objects"][0] in series
        assert str(pickle.loads(pickle.dumps(found))) == str(found)


def test_long_objects_are_cut():
    texts = [letter * 100 for letter in "ab"] * 3
    found = str(KernelKMeans(2, kernel=Spectrum(2, 2), random_state=0).fit(texts).describe(texts))
    assert "row 0: " + "a" * 57 + "..." in found
    assert "a" * 58 not in found


def test_contrasts_of_vectors_are_standardised_differences(km):
    found = km.describe(X, feature_names=["a", "b", "c"], n=2)
    for c, cluster in enumerate(found.clusters):
        inside = X[km.labels_ == c].mean(axis=0)
        scores = (inside - X.mean(axis=0)) / X.std(axis=0)
        order = np.argsort(-np.abs(scores))[:2]
        assert [contrast.name for contrast in cluster.contrasts] == ["abc"[j] for j in order]
        for contrast, j in zip(cluster.contrasts, order, strict=True):
            np.testing.assert_allclose(
                [contrast.score, contrast.inside, contrast.overall], [scores[j], inside[j], X[:, j].mean()]
            )


def test_names_of_features_and_constant_ones():
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame["same"] = 1e9 + 0.1
    km = KernelKMeans(4, random_state=0).fit(frame)
    names = [c.name for cluster in km.describe(frame, n=4).clusters for c in cluster.contrasts]
    assert set(names) == {"a", "b", "c"}
    plain = KernelKMeans(4, random_state=0).fit(X).describe(X, n=3)
    assert {c.name for c in plain[0].contrasts} == {"x0", "x1", "x2"}


def test_contrasts_of_text_are_its_topics():
    km = CASES["sparse"][0].fit(TEXT)
    topics = {tuple(range(5 * t, 5 * t + 5)) for t in range(3)}
    found = km.describe(TEXT, feature_names=[str(j) for j in range(30)])
    assert {tuple(sorted(int(c.name) for c in cluster.contrasts)) for cluster in found.clusters} == topics
    present = TEXT.toarray() != 0
    for c, cluster in enumerate(found.clusters):
        for contrast in cluster.contrasts:
            inside = present[km.labels_ == c][:, int(contrast.name)]
            np.testing.assert_allclose(contrast.inside, inside.mean())
            np.testing.assert_allclose(contrast.overall, present[:, int(contrast.name)].mean())


def test_log_odds_by_hand():
    """30 of 40 rows in the cluster have the word, 10 of 60 others."""
    share = 40.5 / 101
    a, b, c, d = (n + PRIOR * p for n, p in zip((30, 10, 10, 50), (share, 1 - share) * 2, strict=True))
    expected = (np.log(a / b) - np.log(c / d)) / np.sqrt(1 / a + 1 / b + 1 / c + 1 / d)
    np.testing.assert_allclose(log_odds(np.array([30.0]), 40, np.array([40.0]), 100), expected)


def test_text_is_escaped_and_shortened():
    frame = pd.DataFrame(X, columns=["<script>alert(1)</script>", "b\x1b[31m", "c"])
    found = KernelKMeans(4, random_state=0).fit(frame).describe(frame)
    assert "<script>" not in found._repr_html_()
    assert "&lt;script&gt;" in found._repr_html_()
    assert "\x1b" not in str(found)
    words = KernelKMeans(2, kernel=shared, random_state=0).fit(["<b>" + 100 * w for w in WORDS])
    shown = words.describe(["<b>" + 100 * w for w in WORDS])
    assert "<b>" not in shown._repr_html_()
    assert max(map(len, str(shown).splitlines())) < 90


def test_empty_clusters_are_described(km):
    found = km.describe(X[km.labels_ == 1])
    assert [cluster.size > 0 for cluster in found.clusters] == [False, True, False, False]
    assert len(found[0].prototypes) == len(found[0].contrasts) == 0
    assert np.isnan(found[0].cohesion)
    assert "cohesion none" in str(found)


def naive_ward(points, weights):
    """Heights and partitions, merging means in every step."""
    groups = [[i] for i in range(len(points))]
    heights = []
    while len(groups) > 1:
        best = None
        for i in range(len(groups)):
            for j in range(i):
                a, b = groups[j], groups[i]
                wa, wb = weights[a].sum(), weights[b].sum()
                ma, mb = (weights[g] @ points[g] / weights[g].sum() for g in (a, b))
                cost = 2 * wa * wb / (wa + wb) * ((ma - mb) ** 2).sum()
                if best is None or cost < best[0]:
                    best = (cost, j, i)
        cost, j, i = best
        groups[j] += groups.pop(i)
        heights.append(np.sqrt(cost))
        yield np.array(heights), [sorted(group) for group in groups]


def squares_of(points):
    return ((points[:, None] - points) ** 2).sum(axis=2)


@given(st.integers(2, 9), st.integers(0, 10**6))
@settings(max_examples=40, deadline=None)
def test_ward_with_sizes(k, seed):
    rng = np.random.default_rng(seed)
    points, sizes = rng.normal(size=(k, 3)), rng.integers(1, 50, k).astype(float)
    linkage = ward(squares_of(points), sizes)
    assert hierarchy.is_valid_linkage(linkage)
    for heights, groups in naive_ward(points, sizes / sizes.mean()):
        np.testing.assert_allclose(linkage[: len(heights), 2], heights)
        found = hierarchy.cut_tree(linkage, len(groups)).ravel()
        assert sorted(map(sorted, (np.flatnonzero(found == g).tolist() for g in set(found)))) == sorted(
            groups
        )


@given(
    arrays(
        float, st.tuples(st.integers(2, 12), st.just(3)), elements=st.floats(-100, 100, width=16), unique=True
    )
)
@settings(max_examples=40, deadline=None)
def test_ward_of_equal_sizes_is_scipys(points):
    np.testing.assert_allclose(
        ward(squares_of(points), np.full(len(points), 7.0))[:, 2],
        hierarchy.linkage(points, "ward")[:, 2],
        rtol=1e-6,
    )


def test_tree(fitted):
    km, _ = fitted
    tree = km.tree()
    assert hierarchy.is_valid_linkage(tree.linkage)
    assert sorted(tree.order) == list(range(len(tree)))
    assert (np.diff(tree.heights) >= 0).all()
    np.testing.assert_array_equal(tree.sizes, km.cluster_sizes_)
    if km._model.discrepancy.of_products:
        weights = km.cluster_sizes_ / km.cluster_sizes_.mean()
        *_, (heights, _) = naive_ward(km.cluster_centers_, weights)
        np.testing.assert_allclose(tree.heights, heights * km._model.beta)


def test_cut(fitted):
    km, rows = fitted
    fewer = km.cut(2)
    groups = km.tree().groups(2)
    assert type(fewer) is type(km)
    assert (fewer.n_clusters, km.n_clusters) == (2, len(groups))
    np.testing.assert_array_equal(fewer.labels_, groups[km.labels_])
    np.testing.assert_array_equal(fewer.predict(rows), groups[km.predict(rows)])
    distances = km.transform(rows)
    expected = np.stack([distances[:, groups == g].min(axis=1) for g in range(2)], axis=1)
    np.testing.assert_array_equal(fewer.transform(rows), expected)
    T = km.inertia_ / km.cluster_sizes_.sum()
    odds = np.exp(-(expected**2 - expected.min(axis=1, keepdims=True) ** 2) / T)
    np.testing.assert_allclose(fewer.membership(rows), odds / odds.sum(axis=1, keepdims=True), atol=1e-12)
    for g in range(2):
        weights, centers = km.cluster_sizes_[groups == g], km.cluster_centers_[groups == g]
        np.testing.assert_allclose(fewer.cluster_centers_[g], weights @ centers / weights.sum())
        assert fewer.cluster_sizes_[g] == weights.sum()
    np.testing.assert_allclose(-fewer.score(rows), km.inertia_, rtol=1e-6)
    scores, own = fewer.outlier_score(rows), expected.min(axis=1) ** 2
    for i in range(0, len(scores), 7):
        others = own[fewer.labels_ == fewer.labels_[i]]
        low, high = own[i] / 1.07, own[i] * 1.07
        assert (others < low).mean() - 1e-9 <= scores[i] <= (others <= high).mean() + 1e-9
    assert [cluster.size for cluster in fewer.describe(rows).clusters] == fewer.cluster_sizes_.tolist()


def test_a_cut_of_a_cut_is_a_cut(fitted):
    km, _ = fitted
    whole = km.tree()
    n = len(whole)
    for k in range(1, n + 1):
        once, twice = km.cut(k), km.cut(max(k, n - 1)).cut(k)
        np.testing.assert_array_equal(twice.labels_, once.labels_)
        np.testing.assert_allclose(twice.tree().heights, once.tree().heights, rtol=1e-6)
        # Heights are relative to the mean size of a cluster.
        np.testing.assert_allclose(once.tree().heights * np.sqrt(n / k), whole.heights[n - k :], rtol=1e-6)


def test_a_cut_saves_and_loads(tmp_path, km):
    fewer = km.cut(2)
    loaded = apnc.load(fewer.save(tmp_path / "cut.apnc"))
    for method in ("predict", "transform", "membership", "outlier_score"):
        np.testing.assert_array_equal(getattr(loaded, method)(X), getattr(fewer, method)(X))
    assert (loaded.n_clusters, loaded.cluster_centers_.shape[0]) == (2, 2)
    with pytest.raises(AttributeError, match="not part of a model file"):
        _ = loaded.cut(1).labels_
    assert len(loaded.get_feature_names_out()) == 2


def test_empty_clusters_join_the_nearest():
    points = np.array([[0.0], [10.0], [10.5], [0.4]])
    linkage = ward(squares_of(points), np.array([5.0, 5.0, 0.0, 5.0]))
    assert linkage[0, :2].tolist() == [1, 2]
    assert linkage[0, 2] < 1e-5
    assert linkage[1, :2].tolist() == [0, 3]


@pytest.mark.parametrize("k", [0, 5, -1, 2.5, "2", True, None])
def test_numbers_of_clusters_that_cannot_be_cut(km, k):
    with pytest.raises(ValueError, match=r"k=.* must be a whole number from 1 to 4, the number of clusters"):
        km.cut(k)


def test_what_is_refused(km):
    for method in ("prototypes", "describe"):
        with pytest.raises(NotFittedError):
            getattr(KernelKMeans(), method)(X)
        with pytest.raises(ValueError, match="expecting 3 features"):
            getattr(km, method)(X[:, :2])
        with pytest.raises(ValueError, match="n=0 must be a whole number of at least 1"):
            getattr(km, method)(X, n=0)
    for method in (KernelKMeans().tree, lambda: KernelKMeans().cut(2)):
        with pytest.raises(NotFittedError):
            method()
    with pytest.raises(ValueError, match="2 names, but the model has 3 features"):
        km.describe(X, feature_names=["a", "b"])
    with pytest.raises(ValueError, match="at least 2 clusters"):
        km.cut(1).prototypes(X, boundary=True)
    words = KernelKMeans(2, kernel=shared, random_state=0).fit(WORDS)
    with pytest.raises(ValueError, match="objects, which have no features"):
        words.describe(WORDS, feature_names=["a"])
    assert words.cut(1).describe(WORDS)[0].nearest is None


def test_ids_that_come_along_are_those_of_rows_that_were_not_skipped():
    batch = pa.RecordBatch.from_pydict({"key": [10, 11, 12, 13], "name": ["a", "b", None, "d"]})
    kept = SourceRows(0, 4, np.array([0, 2, 3]), batch)
    assert row_ids(kept, np.array([2, 1])).tolist() == [[13, "d"], [12, None]]
    assert row_ids(SourceRows(0, 4, ids=batch), np.array([1])).tolist() == [[11, "b"]]
    assert row_ids(SourceRows(0, 4), np.array([1, 2])).shape == (2, 0)
