"""Distances, memberships and outlier scores of rows, against naive loops."""

import json
import zipfile
from dataclasses import replace

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy import sparse
from sklearn.exceptions import NotFittedError

import apnc
from apnc import KernelKMeans, SpectralClustering
from apnc.clustering.quantiles import N_BINS, Binned, Quantiles, bins_of, unit_near
from apnc.outputs import several
from apnc.outputs.placing import softened

RNG = np.random.default_rng(0)
X = np.concatenate([RNG.normal(c, 1 + c / 4, size=(200, 3)) for c in (0, 4, 9)])
WORDS = [a + b + c for a in "abcd" for b in "efgh" for c in "ijkl"]
CSR = sparse.random_array((150, 40), density=0.2, random_state=np.random.default_rng(1), format="csr")


def shared(A, B):
    return np.array([[float(len(set(a) & set(b))) for b in B] for a in A])


def gram(A):
    return np.exp(-((A[:, None] - A) ** 2).sum(axis=2) / 20)


def gram_between(A, B):
    return np.exp(-((np.asarray(A)[:, None] - np.asarray(B)) ** 2).sum(axis=2))


CASES = {
    "vectors": (KernelKMeans(3, random_state=0), X),
    "L1": (KernelKMeans(3, embedding="stable", n_components=50, random_state=0), X),
    "graph": (SpectralClustering(3, random_state=0), X),
    "sparse": (KernelKMeans(3, kernel="cosine", random_state=0), CSR),
    "objects": (KernelKMeans(3, kernel=shared, random_state=0), WORDS),
    "precomputed": (KernelKMeans(3, kernel="precomputed", random_state=0), gram(X[::4])),
}


@pytest.fixture(scope="module", params=CASES)
def fitted(request):
    km, rows = CASES[request.param]
    return km.fit(rows), rows


def own_distances(km, rows):
    distances = km.transform(rows)
    return distances, distances[np.arange(len(distances)), km.predict(rows)]


def remoteness(km, rows):
    """Squared distances to the own centroid; with an rbf kernel and L2, d^2 / (r^2 - d^2) with the whole distance."""
    squares = own_distances(km, rows)[1] ** 2
    if km._model.clusters.quantiles.diagonal is None:
        return squares
    whole = squares + np.maximum(0, 1 - 1e-6 - (km.embed(rows).astype(float) ** 2).sum(axis=1))
    return whole / (1 - 1e-6 + (km.cluster_centers_[km.predict(rows)] ** 2).sum(axis=1) - whole)


def test_membership_is_a_softmax(fitted):
    km, rows = fitted
    distances, found = km.transform(rows), km.membership(rows)
    T = km.inertia_ / km.cluster_sizes_.sum()
    assert found.dtype == np.float64
    for row, shares in zip(distances, found, strict=True):
        odds = [sum(np.exp((row[c] ** 2 - other**2) / T) for other in row) for c in range(len(row))]
        np.testing.assert_allclose(shares, 1 / np.array(odds), atol=1e-12)
    np.testing.assert_allclose(found.sum(axis=1), 1, atol=1e-12)
    assert (found.argmax(axis=1) == km.labels_).all()


@given(
    arrays(float, st.tuples(st.integers(1, 6), st.integers(1, 5)), elements=st.floats(0, 1e6)),
    st.floats(0, 1e3),
)
@settings(max_examples=100, deadline=None)
def test_memberships_sum_to_1_at_any_temperature(squares, T):
    found = softened(squares, T)
    assert (found >= 0).all()
    np.testing.assert_allclose(found.sum(axis=1), 1)
    # A nearer centroid never has less.
    order = np.argsort(squares, axis=1, kind="stable")
    assert (np.diff(np.take_along_axis(found, order, axis=1), axis=1) <= 0).all()


def test_nearest_centroids_share_1_without_any_spread():
    km = KernelKMeans(2, kernel="linear", random_state=0).fit(np.array([[0.0, 0], [1, 0]] * 3))
    assert km.inertia_ == 0
    found = km.membership(np.array([[0.0, 0], [0.5, 0], [0.9, 0]]))
    first = km.predict([[0.0, 0]])[0]
    np.testing.assert_array_equal(found[:, first], [1, 0.5, 0])
    np.testing.assert_array_equal(km.outlier_score([[0.0, 0], [1, 0], [0.7, 0]]), [0, 0, 1])


def test_outlier_scores_are_quantiles_of_the_cluster(fitted):
    """Between the shares of rows below and above the bin, whose width is at most a sixteenth of the square."""
    km, rows = fitted
    squares = remoteness(km, rows)
    labels, found = km.labels_, km.outlier_score(rows)
    assert ((found >= 0) & (found <= 1)).all()
    for i, score in enumerate(found):
        others = squares[labels == labels[i]]
        low, high = squares[i] / (1 + 1.001 / 16), squares[i] * (1 + 1.001 / 16)
        assert (others < low).mean() - 1e-9 <= score <= (others <= high).mean() + 1e-9


def test_far_rows_have_score_1_and_centroids_0():
    km = KernelKMeans(3, kernel="linear", random_state=0).fit(X)
    means = np.array([X[km.labels_ == c].mean(axis=0) for c in range(3)])
    np.testing.assert_allclose(km.outlier_score(means), 0, atol=1e-6)
    np.testing.assert_allclose(km.outlier_score(means + 1e4), 1, atol=1e-9)


def test_scores_do_not_depend_on_order_repetition_or_weights():
    km = KernelKMeans(3, random_state=0).fit(X)
    shuffle = np.random.default_rng(1).permutation(len(X))
    other = KernelKMeans(3, random_state=0, n_jobs=1).fit(X[shuffle])
    np.testing.assert_allclose(other.outlier_score(X), km.outlier_score(X), atol=1e-9)
    np.testing.assert_allclose(other.membership(X), km.membership(X), atol=1e-6)
    weights = np.random.default_rng(2).integers(0, 3, len(X))
    weighted = KernelKMeans(3, random_state=0).fit(X, sample_weight=weights)
    repeated = KernelKMeans(3, random_state=0).fit(np.repeat(X, weights, axis=0))
    np.testing.assert_allclose(weighted.outlier_score(X), repeated.outlier_score(X), atol=1e-9)
    counted = weighted._model.clusters.quantiles.weights
    np.testing.assert_array_equal(counted.sum(axis=1), weighted.cluster_sizes_)


@given(
    arrays(float, 30, elements=st.floats(0, 1e6)),
    st.floats(1e-6, 1e6),
    st.integers(1, 4),
)
@settings(max_examples=100, deadline=None)
def test_bins_are_monotone_and_scores_too(squares, mean, k):
    unit, labels = unit_near(mean), np.arange(30) % k
    bins = bins_of(squares, unit)
    order = np.argsort(squares)
    assert (np.diff(bins[order]) >= 0).all()
    assert (bins[squares == 0] == 0).all()
    inner = (bins > 0) & (bins < N_BINS - 1)
    if inner.sum() > 1:
        apart = np.log2(squares[inner].max() / squares[inner].min()) if squares[inner].min() else 0
        assert abs((bins[inner].max() - bins[inner].min()) / 16 - apart) < 0.2
    quantiles = Quantiles(unit, Binned.of(labels, squares, np.ones(30), k, unit).weights)
    quantiles.check()
    one = quantiles.scores(np.zeros(30, int), squares)
    assert ((one >= 0) & (one <= 1)).all()
    assert (np.diff(one[order]) >= -1e-12).all()


def test_rows_far_from_all_landmarks_are_outliers():
    """A narrow kernel puts them near 0, which is nearer to a centroid than most rows are."""
    km = KernelKMeans(3, gamma=2.0, n_landmarks=300, random_state=0).fit(X)
    far = np.array([[50.0, -50, 50], [-90, 0, 0]])
    assert (km.embed(far) == 0).all()
    own = own_distances(km, X)[1][km.labels_ == km.predict(far)[0]]
    assert own_distances(km, far)[1][0] < np.quantile(own, 0.9)
    np.testing.assert_allclose(km.outlier_score(far), 1, atol=1e-6)
    assert np.quantile(km.outlier_score(X), [0.25, 0.5, 0.75]) == pytest.approx([0.25, 0.5, 0.75], abs=0.02)


@pytest.mark.parametrize(
    ("options", "diagonal"),
    [
        ({}, 1.0),
        ({"kernel": "laplacian"}, 1.0),
        ({"embedding": "ensemble"}, 1.0),
        ({"embedding": "stable"}, None),
        ({"embedding": "neighbours"}, None),
        ({"kernel": "polynomial"}, None),
        ({"kernel": "polynomial", "normalize_kernel": True}, 1.0),
        ({"kernel": gram_between}, None),
    ],
)
def test_where_the_rest_of_a_row_is_known(options, diagonal):
    km = KernelKMeans(3, random_state=0, **options).fit(X)
    assert km._model.clusters.quantiles.diagonal == diagonal
    assert km.cut(2)._model.clusters.cluster_quantiles.diagonal == diagonal


def test_models_saved_with_distances_in_the_embedding_score_by_them(tmp_path):
    km = KernelKMeans(3, gamma=20.0, n_landmarks=40, random_state=0).fit(X)
    squares = own_distances(km, X)[1] ** 2
    clusters = km._model.clusters
    unit = unit_near(squares.mean())
    bins = Binned.of(km.labels_, squares, np.ones(len(X)), 3, unit).weights
    km._model = replace(km._model, clusters=replace(clusters, quantiles=Quantiles(unit, bins)))
    path = km.save(tmp_path / "km.apnc")
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members["schema.json"])
    del schema["model"]["clusters"]["quantiles"]["diagonal"]
    with zipfile.ZipFile(tmp_path / "old.apnc", "w") as archive:
        for name, content in {**members, "schema.json": json.dumps(schema)}.items():
            archive.writestr(name, content)
    expected = Quantiles(unit, bins).scores(km.labels_, squares)
    np.testing.assert_allclose(apnc.load(tmp_path / "old.apnc").outlier_score(X), expected, atol=1e-9)


@given(st.lists(st.integers(1, 400), min_size=1, max_size=6), st.integers(1, 3), st.integers(0, 99))
@settings(max_examples=50, deadline=None)
def test_bins_of_parts_add_up(sizes, k, seed):
    """Rows that wait, rows in a table, and sums of both."""
    rng = np.random.default_rng(seed)
    parts = []
    for size in sizes:
        labels, squares = rng.integers(0, k, size).astype(np.int32), rng.exponential(size=size)
        parts.append((labels, squares, rng.integers(0, 3, size).astype(float)))
    expected = np.zeros((k, N_BINS))
    for labels, squares, weights in parts:
        np.add.at(expected, (labels, bins_of(squares, 1.0)), weights)
    found = [Binned.of(*part, k, 1.0) for part in parts]
    middle = len(found) // 2 or 1
    halves = [sum(some[1:], some[0]) for some in (found[:middle], found[middle:]) if some]
    total = sum(halves[1:], halves[0])
    np.testing.assert_array_equal(total.weights, expected)
    assert len(sizes) == 1 or sum(len(cells) for cells, _ in total.waiting) < k * N_BINS


def test_a_cluster_without_rows_scores_1():
    quantiles = Quantiles(1.0, np.zeros((2, N_BINS)))
    np.testing.assert_array_equal(quantiles.scores(np.array([0, 1]), np.array([0.0, 5.0])), 1)


def test_several_outputs_in_one_pass(fitted):
    km, rows = fitted
    found = km._apply(rows, several(["outlier", "distance", "membership"], km._model))
    assert found.dtype.names == ("label", "distance", "membership", "outlier")
    np.testing.assert_array_equal(found["label"], km.predict(rows))
    np.testing.assert_allclose(found["distance"], own_distances(km, rows)[1], rtol=1e-12)
    np.testing.assert_array_equal(found["membership"], km.membership(rows))
    np.testing.assert_array_equal(found["outlier"], km.outlier_score(rows))
    with pytest.raises(ValueError, match="'other' is not an output; there are distance, membership, outlier"):
        several(["other"], km._model)


def test_files(tmp_path):
    km = KernelKMeans(3, random_state=0).fit(X)
    np.save(tmp_path / "x.npy", X)
    np.testing.assert_allclose(km.membership(tmp_path / "x.npy"), km.membership(X), rtol=1e-6)
    km.membership(X, to=tmp_path / "p.npy")
    np.testing.assert_array_equal(np.load(tmp_path / "p.npy"), km.membership(X))
    table = pq.read_table(km.outlier_score(tmp_path / "x.npy", to=tmp_path / "o.parquet"))
    assert table.column_names == ["row", "outlier"]
    np.testing.assert_allclose(table["outlier"], km.outlier_score(X), rtol=1e-6)
    both = several(["distance", "membership"], km._model)
    table = pq.read_table(km._apply(tmp_path / "x.npy", both, tmp_path / "all.parquet"))
    assert table.column_names == ["row", "label", "distance", "membership0", "membership1", "membership2"]
    np.testing.assert_allclose(table["membership1"], km.membership(X)[:, 1], rtol=1e-6)
    assert table["label"].type == "int32"


def test_a_fit_that_writes_its_labels_keeps_the_distances(tmp_path):
    here, there = (KernelKMeans(3, random_state=0) for _ in range(2))
    here.fit(X), there.fit(X, to=tmp_path / "labels.parquet")
    np.testing.assert_array_equal(here.outlier_score(X), there.outlier_score(X))


def test_models_of_an_older_version_have_no_scores(tmp_path):
    km = KernelKMeans(3, random_state=0).fit(X)
    path = km.save(tmp_path / "km.apnc")
    np.testing.assert_array_equal(apnc.load(path).outlier_score(X), km.outlier_score(X))
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    schema = json.loads(members["schema.json"])
    del schema["model"]["clusters"]["quantiles"], schema["model"]["clusters"]["groups"]
    del schema["members"]["model_clusters_quantiles_weights.npy"]
    del members["model_clusters_quantiles_weights.npy"]
    with zipfile.ZipFile(tmp_path / "old.apnc", "w") as archive:
        for name, content in {**members, "schema.json": json.dumps(schema)}.items():
            archive.writestr(name, content)
    old = apnc.load(tmp_path / "old.apnc")
    np.testing.assert_array_equal(old.membership(X), km.membership(X))
    with pytest.raises(ValueError, match=r"no outlier scores: it was saved by an older version.*Fit again"):
        old.outlier_score(X)
    with pytest.raises(ValueError, match="Fit again"):
        several(["outlier"], old._model)


@pytest.mark.parametrize("method", ["membership", "outlier_score"])
def test_what_is_refused(method):
    with pytest.raises(NotFittedError):
        getattr(KernelKMeans(), method)(X)
    with pytest.raises(ValueError, match="expecting 3 features"):
        getattr(KernelKMeans(3, random_state=0).fit(X), method)(X[:, :2])
