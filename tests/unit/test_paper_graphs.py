"""The tables on neighbour graphs: their shapes, scores, methods and cells."""

import json
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.paper import datasets, shapes
from benchmarks.paper.cell import accuracy, scores
from benchmarks.paper.methods import Found, Task
from benchmarks.paper.running import read, run_all
from benchmarks.paper.spectral import FROM_FILE, GRAPHS, HALF, NEAREST20, OURS, with_noise
from benchmarks.paper.tables import SLOW_GRAPHS, TABLES, USPEC, cells_of

DRAWN = {
    "moons": (shapes.MOONS, 2),
    "rings": (shapes.RINGS, 2),
    "spirals": (shapes.SPIRALS, 2),
    "face": (shapes.FACE, 4),
    "circles": (shapes.CIRCLES, 3),
    "circles and Gaussians": (shapes.CIRCLES_AND_GAUSSIANS, 11),
    "flower": (shapes.FLOWER, 13),
}


@pytest.fixture
def few_at_once(monkeypatch):
    monkeypatch.setattr(shapes, "AT_ONCE", 2000)


@pytest.mark.parametrize("name", DRAWN)
def test_shapes_are_the_same_for_the_same_seed(name, few_at_once):
    pieces, k = DRAWN[name]
    X, y = shapes.shape(pieces, 0.01, 5000)
    assert X.shape == (5000, 2)
    assert X.dtype == np.float32
    assert np.unique(y).tolist() == list(range(k))
    fewer = shapes.shape(pieces, 0.01, 3000)
    np.testing.assert_array_equal(fewer[0], X[:3000])
    np.testing.assert_array_equal(fewer[1], y[:3000])
    assert not np.array_equal(shapes.shape(pieces, 0.01, 5000, seed=1)[0], X)
    assert not np.array_equal(X[:2000], X[2000:4000])


def test_shapes_are_where_they_should_be(few_at_once):
    X, y = shapes.shape(shapes.RINGS, 0.0, 1000)
    np.testing.assert_allclose(np.linalg.norm(X, axis=1), np.where(y == 0, 1.0, 0.5), rtol=1e-5)
    X, y = shapes.shape(shapes.RINGS, 0.05, 20_000)
    assert np.std(np.linalg.norm(X[y == 0], axis=1)) == pytest.approx(0.05, rel=0.1)
    X, _ = shapes.shape(shapes.SPIRALS, 0.0, 1000)
    radius = np.linalg.norm(X, axis=1)
    assert shapes.SPIRAL_BEGINS <= radius.min() < 0.2
    assert 0.9 < radius.max() <= 1 + 1e-6


@pytest.mark.parametrize("part", TABLES["scale"].parts, ids=lambda part: part.dataset)
def test_clusters_of_large_shapes_have_a_gap(part, few_at_once):
    """The nearest other row is one of the same cluster, even at the edge."""
    from scipy.spatial import KDTree

    data = datasets.SOURCES[part.dataset].load(20_000, fetch=False)
    assert data.k == len(np.unique(data.y))
    _, near = KDTree(data.X).query(data.X, 3)
    assert (data.y[near] == data.y[:, None]).mean() > 0.9999


def test_shapes_have_classes_and_their_noise_is_in_the_title():
    source = datasets.SOURCES["moons-10-5k"]
    data = source.load(None, fetch=False)
    assert data.X.shape == (5000, 2)
    assert data.k == 2
    assert source.title == "half-moons, noise 0.1, 5 thousand rows"
    names = [source.short for source in datasets.SOURCES.values() if source.short]
    assert len(set(names)) == len(names) == 15


def test_rows_of_all_sizes_of_a_shape_are_in_its_name():
    for name in ("circles-1250k", "circles-2500k", "circles-5m", "flower-5m", "flower-10m", "flower-20m"):
        assert datasets.SOURCES[name].generate.args[2] == int(
            name.rpartition("-")[2].replace("k", "000").replace("m", "000000")
        )


def test_scores():
    y, labels = np.array([0, 0, 0, 1, 1, 2]), np.array([5, 5, 7, 7, 7, -1])
    found = scores(y, Found(labels))
    assert set(found) == {"nmi", "nmi_max", "ari", "accuracy"}
    assert found["accuracy"] == pytest.approx(100 * 5 / 6, abs=1e-3)
    assert found["nmi_max"] <= found["nmi"] < 100
    assert accuracy(y, np.arange(6)) == 0.5
    half = scores(y, Found(labels[[2, 5]], rows=np.array([3, 5])))
    assert set(half.values()) == {100.0}
    assert scores(None, Found(labels)) == {}


def test_noise_is_one_cluster():
    found = with_noise(np.array([0, -1, 1, -3]))
    assert found.labels.tolist() == [0, -1, 1, -1]
    assert found.more == {"noise": 0.5, "clusters": 2}


QUICK_GRAPHS = [name for name in GRAPHS if not name.startswith("EVoC")]


@pytest.mark.parametrize("name", QUICK_GRAPHS)
def test_every_method_on_graphs_runs(name, few_at_once):
    X, y = shapes.shape(shapes.MOONS, 0.05, 800)
    found = GRAPHS[name](Task(X, 2, {"kernel": "rbf"}, 60 if name in OURS else None, None, 300, 0))
    rows = np.arange(800) if found.rows is None else found.rows
    assert found.labels.shape == rows.shape
    assert len(rows) == (400 if name == HALF else 800)
    json.dumps(found.more)
    if name in OURS and name not in ("apnc", NEAREST20):
        assert scores(y, found)["accuracy"] == 100.0
        assert found.more["l_used"] == 60


def test_documents_are_compared_by_angle():
    X = datasets.generated_documents(300, 2000, 3, None).X
    found = GRAPHS["apnc spectral, 20 nearest"](Task(X, 3, {"kernel": "cosine"}, 30, None, 300, 0))
    assert len(np.unique(found.labels)) == 3


def test_evoc_runs_on_dense_and_sparse_rows(monkeypatch):
    evoc = pytest.importorskip("evoc", reason="evoc is not installed")
    given = []

    class Some:
        def __init__(self, **options):
            given.append(options)

        def fit_predict(self, X):
            given.append(X.shape)
            return np.arange(len(X)) % 3 - 1

    monkeypatch.setattr(evoc, "EVoC", Some)
    for X, width in (
        (np.ones((30, 5), np.float32), 5),
        (datasets.generated_documents(300, 2000, 3, None).X, 100),
    ):
        for name, options in (("EVoC", {}), ("EVoC, k given", {"approx_n_clusters": 3})):
            found = GRAPHS[name](Task(X, 3, {"kernel": "cosine"}, None, None, 300, 0))
            assert given[-2:] == [options, (X.shape[0], width)]
            assert found.more["noise"] == pytest.approx(1 / 3, abs=1e-4)
            assert found.more["clusters"] == 2


def test_settings_of_the_tables_on_graphs():
    for cell in cells_of("spectral", (), (), None, None):
        expected = 5 if cell.method in OURS else 1 if cell.method in SLOW_GRAPHS else 3
        assert len(cell.seeds) == expected
        assert cell.limit == 300
    for cell in cells_of("scale", (), (), None, None):
        large = cell.dataset.startswith(("gaussians", "flower"))
        assert (cell.method == FROM_FILE) == large
        assert len(cell.seeds) == (1 if large or cell.method == USPEC else 3)


def test_cells_on_shapes_have_scores_and_go_on(tmp_path):
    out = tmp_path / "rows.jsonl"
    (cell,) = cells_of("scale", ["flower-20m"], [FROM_FILE], None, None)
    small = replace(cell, rows=3000)
    assert run_all([small], out, False, lambda line: None) == 0
    assert run_all([replace(small, seeds=(0, 1))], out, False, lambda line: None) == 0
    rows = read(out)
    assert [row["seed"] for row in rows] == [0, 1]
    assert all(
        set(row) >= {"n", "k", "seconds", "peak_bytes", "l_used", "nmi", "nmi_max", "ari", "accuracy"}
        for row in rows
    )
    assert all(row["memory_limit"] == "4GB" and not row["generated"] for row in rows)
