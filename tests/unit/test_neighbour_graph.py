"""The parts of a neighbour graph against naive computations of the same."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from apnc.embeddings.neighbours.block import NeighbourBlock, Place
from apnc.embeddings.neighbours.coordinates import APART, EPSILON, coordinates_of, leading
from apnc.embeddings.neighbours.landmarks import chosen, pieces_of
from apnc.embeddings.neighbours.links import (
    FAINTEST,
    POWER,
    UNITS,
    Graph,
    Neighbours,
    SumGraph,
    weighted_median,
)
from apnc.embeddings.neighbours.search import Search
from apnc.engines.contract import Chunk, SingleChunk
from apnc.loops.graph import embed_graph_rows, graph_rows
from apnc.sampling import Sample

quick = settings(max_examples=30, deadline=None)


def naive_rows(indices, squared, scales, typical):
    """z of the docstrings, one similarity at a time."""
    out = np.zeros(indices.shape, dtype=int)
    for i, (near, distances) in enumerate(zip(indices, squared, strict=True)):
        own = np.sqrt(distances[-1])
        similar = [np.exp(-d / (own * scales[j])) for j, d in zip(near, distances, strict=True)]
        strength = max(FAINTEST, min(1.0, typical / own) ** 2)
        out[i] = [round(UNITS * strength * value / sum(similar)) for value in similar]
    return np.column_stack([indices, out])


@quick
@given(st.integers(2, 6), st.floats(0.05, 20), st.integers(0, 2**32 - 1))
def test_rows_of_the_graph_by_their_formula(r, typical, seed):
    rng = np.random.default_rng(seed)
    X, landmarks, scales = rng.normal(size=(40, 3)), rng.normal(size=(15, 3)), rng.uniform(0.3, 3, size=15)
    indices, squared = Search(landmarks).nearest(X, r)
    found = Neighbours(Search(landmarks), scales, typical, r)(X)
    expected = naive_rows(indices, squared, scales, typical)
    assert found.dtype == np.int32
    np.testing.assert_array_equal(found[:, :r], expected[:, :r])
    assert np.abs(found - expected).max() <= 1  # exp may differ in its last bit
    assert (found == expected).mean() > 0.99
    totals = found[:, r:].sum(axis=1) / UNITS
    assert (totals >= FAINTEST - r / UNITS).all()
    assert (totals <= 1 + r / UNITS).all()


def rows_of(indices, squared, scales, typical=1.0):
    indices, squared = np.array(indices, np.int32), np.array(squared, float)
    out = np.empty((len(indices), 2 * indices.shape[1]), np.int32)
    graph_rows(indices, squared, np.array(scales, float), typical, float(POWER), FAINTEST, UNITS, out)
    return out[:, indices.shape[1] :]


def test_rows_at_distance_zero_and_at_any_other():
    np.testing.assert_array_equal(rows_of([[0]], [[0.0]], [0.0]), [[UNITS]])
    np.testing.assert_array_equal(rows_of([[0, 1]], [[0.0, 0.0]], [0.0, 0.0]), [[UNITS // 2] * 2])
    np.testing.assert_array_equal(rows_of([[0, 1]], [[0.0, 4.0]], [0.0, 0.0], 2.0), [[UNITS, 0]])
    np.testing.assert_array_equal(rows_of([[0, 1]], [[1.0, 1.0]], [0.0, 0.0]), [[UNITS // 2] * 2])
    far = rows_of([[0, 1]], [[1e300, 1e300]], [1.0, 1.0])
    np.testing.assert_array_equal(far, [[UNITS * FAINTEST / 2] * 2])


def test_a_row_with_very_many_neighbours_keeps_one():
    """Each similarity rounds to zero."""
    found = rows_of([np.arange(1000)], [np.full(1000, 1e6)], np.ones(1000))
    assert found.sum() == 1


def test_scales_are_means_of_the_rows_own():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(200, 2)), rng.integers(1, 4, size=200).astype(float)
    landmarks = np.concatenate([X[:30], [[50.0, 50.0], [51.0, 50.0], [50.0, 53.0]]])
    search = Search(landmarks)
    indices, squared = search.nearest(X, 3)
    found = Neighbours.learned(search, indices, squared, weights)
    own = np.sqrt(squared[:, -1])
    for j in range(30):
        near = (indices == j).any(axis=1)
        assert found.scales[j] == pytest.approx(np.average(own[near], weights=weights[near]))
    # Landmarks that no row is near to have the distance to the third of the others.
    np.testing.assert_allclose(found.scales[30:], np.sort(cdist(landmarks[30:], landmarks))[:, 3])
    assert found.typical == np.sort(np.repeat(own, weights.astype(int)))[int(weights.sum() - 1) // 2]


def test_weighted_median():
    assert weighted_median(np.array([3.0, 1.0, 2.0]), np.ones(3)) == 2
    assert weighted_median(np.array([3.0, 1.0, 2.0]), np.array([5.0, 1.0, 1.0])) == 3
    assert weighted_median(np.array([3.0, 1.0]), np.ones(2)) == 1


def graph_of(X, landmarks, r=3, weights=None):
    weights = np.ones(len(X)) if weights is None else weights
    near = Neighbours.learned(Search(landmarks), *Search(landmarks).nearest(X, r), weights)
    return near, SumGraph(len(landmarks))(Chunk(0, near(X), weights))


def dense_rows(rows, n_landmarks):
    r = rows.shape[1] // 2
    Z = np.zeros((len(rows), n_landmarks))
    np.put_along_axis(Z, rows[:, :r].astype(np.int64), rows[:, r:].astype(float), axis=1)
    return Z


@quick
@given(st.integers(2, 4), st.integers(0, 2**32 - 1))
def test_the_graph_is_a_sum_that_no_order_changes(r, seed):
    rng = np.random.default_rng(seed)
    X, weights = rng.normal(size=(120, 2)), rng.integers(0, 4, size=120).astype(float)
    landmarks = rng.normal(size=(20, 2))
    near, _ = graph_of(X, landmarks, r)
    rows = near(X)
    Z = dense_rows(rows, 20)
    whole = SumGraph(20)(Chunk(0, rows, weights))
    np.testing.assert_array_equal(whole.links.toarray(), Z.T @ (weights[:, None] * Z))
    np.testing.assert_array_equal(whole.mass, np.bincount(rows[:, 0], weights, minlength=20))
    order, cut = rng.permutation(120), rng.integers(1, 119)
    a, b = (SumGraph(20)(Chunk(0, rows[part], weights[part])) for part in (order[:cut], order[cut:]))
    for merged in (a + b, b + a):
        assert merged.links.toarray().tobytes() == whole.links.toarray().tobytes()
        np.testing.assert_array_equal(merged.mass, whole.mass)
        np.testing.assert_array_equal(pieces_of(merged, 2)[0], pieces_of(whole, 2)[0])


def test_similarities_of_zero_are_no_links():
    rows = np.array([[0, 1, 9, 0], [1, 2, 5, 5]], np.int32)
    graph = SumGraph(3)(Chunk(0, rows, np.ones(2)))
    assert connected_components(graph.links, directed=False)[0] == 2


def dense_coordinates(G, m):
    """F of the docstring, of a connected graph."""
    degrees = G.sum(axis=1)
    values, vectors = np.linalg.eigh(G / np.sqrt(np.outer(degrees, degrees)))
    values, vectors = values[::-1][1 : m + 1], vectors[:, ::-1][:, 1 : m + 1]
    return values, vectors / np.sqrt(degrees)[:, None] / np.sqrt(1 - values + EPSILON)


def up_to_signs(found, expected):
    signs = np.sign((found * expected).sum(axis=0))
    np.testing.assert_allclose(found * signs, expected, rtol=1e-6, atol=1e-9 * np.abs(expected).max())


def test_coordinates_of_a_connected_graph():
    X = np.random.default_rng(0).normal(size=(2000, 2))
    near, graph = graph_of(X, X[:80], 5)
    found = coordinates_of(graph, near.search, 6, 2)
    values, F = dense_coordinates(graph.links.toarray(), 6)
    assert (found.n_between, found.n_pieces) == (0, 1)
    np.testing.assert_allclose(found.eigenvalues, values, atol=1e-10)
    up_to_signs(found.places, F)


def three_pieces():
    rng = np.random.default_rng(1)
    centers = np.array([[0.0, 0], [9.0, 0], [0.0, 40]])
    X = centers[rng.integers(0, 3, size=1500)] + rng.normal(size=(1500, 2))
    return X, np.concatenate([X[((X - c) ** 2).sum(axis=1) < 9][:25] for c in centers])


def test_coordinates_of_three_pieces():
    X, landmarks = three_pieces()
    near, graph = graph_of(X, landmarks, 4)
    found = coordinates_of(graph, near.search, 12, 3)
    piece = np.repeat(np.arange(3), 25)
    assert (found.n_between, found.n_pieces) == (2, 3)
    np.testing.assert_array_equal(found.eigenvalues[:2], 1)
    between = found.places[:, :2]
    apart = cdist(between[::25], between[::25])
    assert apart[np.triu_indices(3, 1)].min() == pytest.approx(APART)
    assert apart[0, 1] < min(apart[0, 2], apart[1, 2])
    assert all(not np.ptp(between[piece == c], axis=0).any() for c in range(3))
    # All others are those of single pieces, largest eigenvalues first.
    expected = []
    for c in range(3):
        inside = graph.links.toarray()[np.ix_(piece == c, piece == c)]
        values, F = dense_coordinates(inside, 10)
        expected += [(value, c, column) for value, column in zip(values, F.T, strict=True)]
    expected.sort(key=lambda part: -part[0])
    np.testing.assert_allclose(found.eigenvalues[2:], [value for value, *_ in expected[:10]], atol=1e-10)
    for column, (_, c, values) in zip(found.places.T[2:], expected[:10], strict=True):
        up_to_signs(column[piece == c, None], values[:, None])
        assert not column[piece != c].any()


def test_few_components_are_those_between_pieces():
    X, landmarks = three_pieces()
    near, graph = graph_of(X, landmarks, 4)
    found = coordinates_of(graph, near.search, 1, 3)
    assert found.places.shape == (75, 1)
    assert found.n_between == 1


def test_dust_is_where_its_nearest_landmark_is():
    X, landmarks = three_pieces()
    far = np.array([[0.0, 300.0]]) + np.random.default_rng(0).normal(size=(4, 2))
    near, graph = graph_of(np.concatenate([X, far]), np.concatenate([landmarks, far]), 4)
    found = coordinates_of(graph, near.search, 12, 3)
    assert found.n_pieces == 4
    assert found.n_between == 2
    nearest = cdist(far, landmarks).argmin(axis=1)
    np.testing.assert_array_equal(found.places[75:], found.places[nearest])


@pytest.mark.parametrize("restarts", [15, 0])
def test_large_graphs_have_the_eigenvalues_of_a_dense_solver(restarts, monkeypatch):
    """By the Lanczos method, and by factorising where it does not converge."""
    from apnc.embeddings.neighbours import coordinates

    monkeypatch.setattr(coordinates, "FEW", 10)
    if not restarts:
        monkeypatch.setattr(coordinates, "RESTARTS", 1)
        monkeypatch.setattr(coordinates, "VECTORS", 8)
    inverted, plain = [], coordinates.by_inverse
    monkeypatch.setattr(coordinates, "by_inverse", lambda *given: inverted.append(1) or plain(*given))
    angles = np.linspace(0, 2 * np.pi, 4000, endpoint=False)
    X = np.column_stack([np.cos(angles), 0.5 * np.sin(angles)])
    _, graph = graph_of(X, X[::10], 3)
    degrees = graph.links.toarray().sum(axis=1)
    A = graph.links.toarray() / np.sqrt(np.outer(degrees, degrees))
    values, vectors = leading(sparse.csr_array(A), np.sqrt(degrees / degrees.sum()), 4)
    assert bool(inverted) == (restarts == 0)
    expected = np.linalg.eigvalsh(A)[::-1][1:5]
    np.testing.assert_allclose(values, expected, atol=1e-8)
    np.testing.assert_allclose(A @ vectors, vectors * values, atol=1e-6)


@quick
@given(st.integers(0, 3), st.integers(0, 2**32 - 1))
def test_embedded_rows_by_their_formula(n_between, seed):
    rng = np.random.default_rng(seed)
    F = rng.normal(size=(9, 5))
    rows = np.column_stack([rng.integers(0, 9, size=(30, 3)), rng.integers(1, UNITS, size=(30, 3))])
    out = np.empty((30, 5))
    embed_graph_rows(rows.astype(np.int32), F, n_between, out)
    for row, y in zip(rows, out, strict=True):
        mean = row[3:] @ F[row[:3]]
        np.testing.assert_allclose(y[:n_between], mean[:n_between] / row[3:].sum())
        np.testing.assert_allclose(y[n_between:], mean[n_between:] / np.linalg.norm(mean[n_between:]))


def test_rows_without_coordinates_are_at_zero():
    rows = np.array([[0, 1, 5, 5]], np.int32)
    np.testing.assert_array_equal(Place(np.zeros((2, 2)), 0, np.float64).placed(rows), [[0, 0]])
    np.testing.assert_array_equal(Place(np.ones((1, 2)), 1, np.float64).placed(rows), [[1]])


@pytest.mark.parametrize(("fixed", "expected"), [(True, 400), (False, 200)])
def test_landmarks_are_halved_until_the_pieces_are_few(fixed, expected):
    rng = np.random.default_rng(0)
    angles = np.sort(rng.uniform(0, 2 * np.pi, size=800))
    X = rng.permutation(np.column_stack([np.cos(angles), np.sin(angles)]))
    found = chosen(Sample(X, np.ones(len(X))), 400, 2, 3, fixed, SingleChunk.of)
    graph = SumGraph(len(found.scales))(Chunk(0, found(X), np.ones(len(X))))
    assert (len(found.scales) == 400) if fixed else (len(found.scales) <= expected)
    assert fixed or len(pieces_of(graph, 3)[1]) <= 3 or len(found.scales) < 100


@pytest.mark.parametrize(("n_nearest", "expected"), [(3, 3), ("auto", 6)])
def test_links_are_doubled_until_the_pieces_are_few(n_nearest, expected):
    """Fours of rows along a line: three links stay within a four, six do not."""
    X = (np.repeat(np.arange(100.0), 4) + np.tile([0, 0.01, 0.02, 0.03], 100))[:, None]
    found = chosen(Sample(X, np.ones(400)), 400, n_nearest, 3, True, SingleChunk.of)
    assert found.n_nearest == expected
    assert len(found.scales) == 400


BLOCK = NeighbourBlock(
    np.arange(8.0).reshape(4, 2), np.eye(3, 4), np.ones(4), 0.5, 2, np.array([1.0, 0.5, 0.2]), 2, 1
)
WRONG = {
    "scales": [np.ones(3), -np.ones(4), np.ones((4, 1))],
    "typical": [-1.0],
    "n_nearest": [0, 1, 5, -3],
    "eigenvalues": [np.ones(2), np.ones((3, 1)), np.array([3.0, 0.0, 0.0])],
    "n_pieces": [0, 5],
    "n_between": [-1, 4],
    "basis": [np.eye(3), np.ones(2), np.ones((2, 3)), 7 * np.eye(2), np.empty((2, 0))],
    "root": [np.eye(2, 4)],
    "centers": [np.ones((4, 2))],
    "weights": [np.ones((3, 5)), np.ones(4), np.full((3, 4), 1e39)],
}


@pytest.mark.parametrize("name", WRONG)
def test_a_block_of_a_file_is_checked(name):
    BLOCK.check()
    for value in WRONG[name]:
        with pytest.raises(ValueError, match=r"\w"):
            replace(BLOCK, **{name: value}).check()


def test_sums_of_graphs_are_graphs():
    _, graph = graph_of(
        np.random.default_rng(0).normal(size=(60, 2)), np.random.default_rng(1).normal(size=(9, 2))
    )
    double = graph + graph
    assert isinstance(double, Graph)
    np.testing.assert_array_equal(double.links.toarray(), 2 * graph.links.toarray())
