"""Kernels on graphs against naive loops and GraKeL; the forms of graphs, and graphs that are none."""

import gzip
import json
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import apnc
from apnc.kernels import BadObjectError, ShortestPath, WeisfeilerLehman, kernel_spelled
from apnc.kernels.objects import graph_forms
from apnc.sources import SourceError
from tests.paper.data import data_folder

KERNELS = [
    WeisfeilerLehman(), WeisfeilerLehman(0), WeisfeilerLehman(2, normalize=False),
    ShortestPath(), ShortestPath(normalize=False),
]  # fmt: skip
all_kernels = pytest.mark.parametrize("kernel", KERNELS, ids=repr)


def graph(n, edges, labels=None):
    found = {"n": n, "node_labels": labels, "edges": [list(edge) for edge in edges]}
    return {key: value for key, value in found.items() if value is not None}


def random_graph(rng, n, share, labels="CNO"):
    edges = [(u, v) for u in range(n) for v in range(u) if rng.random() < share]
    return graph(n, edges, rng.choice(list(labels), n).tolist() if labels else None)


def molecules(n, seed=0):
    """Two kinds of graphs: rings and stars, some nodes of another label."""
    rng = np.random.default_rng(seed)
    found = []
    for i in range(n):
        size = int(rng.integers(5, 12))
        ring = [(v, (v + 1) % size) for v in range(size)]
        star = [(0, v) for v in range(1, size)]
        labels = rng.choice(["C", "N"], size, p=[0.8, 0.2]).tolist()
        found.append(graph(size, star if i % 2 else ring, labels))
    return found


RNG = np.random.default_rng(0)
ODD = [
    graph(0, []),
    graph(3, []),
    graph(1, [(0, 0)], ["C"]),
    graph(3, [(0, 1), (1, 0), (0, 1), (2, 2)], ["C", "N", "C"]),
    graph(2, [(0, 1)], [1, "1"]),
    graph(4, [(0, 1), (2, 3)]),
]
GRAPHS = [
    *ODD,
    *(random_graph(RNG, int(RNG.integers(2, 12)), 0.3) for _ in range(20)),
    *(random_graph(RNG, 8, 0.3, labels="") for _ in range(4)),
    *molecules(6),
]


def neighbours(item):
    found = [set() for _ in range(item["n"])]
    for u, v in item["edges"]:
        found[u].add(v)
        found[v].add(u)
    return found


def subtrees(item, iterations):
    """Labels of all iterations, counted in the plainest way."""
    labels, near = [repr(label) for label in item.get("node_labels", [None] * item["n"])], neighbours(item)
    found = Counter((0, label) for label in labels)
    for iteration in range(1, iterations + 1):
        labels = [f"({own}:{sorted(labels[w] for w in near[v])})" for v, own in enumerate(labels)]
        found.update((iteration, label) for label in labels)
    return found


def distances(item):
    """Ordered pairs of nodes with their labels and distance, by Floyd and Warshall's method."""
    n, labels = item["n"], item.get("node_labels", [None] * item["n"])
    far = np.full((n, n), np.inf)
    for u, near in enumerate(neighbours(item)):
        far[u, list(near)] = 1
    for v in range(n):
        far = np.minimum(far, far[:, [v]] + far[[v]])
    pairs = [(u, v) for u in range(n) for v in range(n) if u != v and far[u, v] < np.inf]
    return Counter((repr(labels[u]), repr(labels[v]), far[u, v]) for u, v in pairs)


def naive(kernel, A, B):
    def features(item):
        wl = isinstance(kernel, WeisfeilerLehman)
        return subtrees(item, kernel.iterations) if wl else distances(item)

    K = np.zeros((len(A), len(B)))
    for i, x in enumerate(map(features, A)):
        for j, y in enumerate(map(features, B)):
            squares = sum(v * v for v in x.values()) * sum(v * v for v in y.values())
            norm = np.sqrt(squares) if kernel.normalize else 1.0
            K[i, j] = sum(value * y[feature] for feature, value in x.items()) / norm if norm else 0.0
    return K


@all_kernels
def test_values_equal_a_double_loop(kernel):
    np.testing.assert_allclose(kernel(GRAPHS, GRAPHS[::2]), naive(kernel, GRAPHS, GRAPHS[::2]), atol=1e-10)
    own = naive(kernel, GRAPHS, GRAPHS).diagonal()
    np.testing.assert_allclose(kernel.diagonal(kernel.read(GRAPHS)), own, atol=1e-10)
    rows = kernel.against(GRAPHS[::2], np.float32)
    room = np.empty((len(GRAPHS), len(GRAPHS[::2])), np.float32)
    found = rows(GRAPHS, room)
    assert found is room
    np.testing.assert_allclose(found, kernel(GRAPHS, GRAPHS[::2]), rtol=1e-5)


def test_a_graph_with_many_distances_outgrows_the_first_table():
    path = graph(1500, [(v, v + 1) for v in range(1499)], [v % 3 for v in range(1500)])
    kernel = ShortestPath(normalize=False)
    found = kernel.features([path, GRAPHS[10], path])
    assert len(set(found.ids[: found.starts[1]].tolist())) == found.starts[1] > 2048
    K = kernel([path, GRAPHS[10]], [path, GRAPHS[10]])
    expected = naive(kernel, [GRAPHS[10]], [GRAPHS[10]])
    np.testing.assert_allclose(K[1, 1], expected[0, 0])
    counts = Counter((v % 3, w % 3, abs(v - w)) for v in range(1500) for w in range(1500) if v != w)
    np.testing.assert_allclose(K[0, 0], sum(count**2 for count in counts.values()))


def for_grakel(item):
    near = neighbours(item)
    return {v: dict.fromkeys(near[v], 1.0) for v in range(item["n"])}, dict(enumerate(item["node_labels"]))


def oracle(kernel):
    grakel = pytest.importorskip("grakel", reason="grakel is not installed: values are not compared with it")
    if isinstance(kernel, ShortestPath):
        return grakel.ShortestPath(normalize=kernel.normalize)
    return grakel.WeisfeilerLehman(n_iter=kernel.iterations, normalize=kernel.normalize)


def molecules_of(name, n):
    folder = data_folder()
    if folder is None or not (folder / f"graphs_{name}.jsonl.gz").exists():
        pytest.skip(f"graphs_{name} is not there; see APNC_DATA")
    with gzip.open(folder / f"graphs_{name}.jsonl.gz", "rt") as lines:
        return [json.loads(line)["object"] for _, line in zip(range(n), lines, strict=False)]


@all_kernels
@pytest.mark.parametrize("data", ["generated", "mutag", "nci1"])
def test_values_equal_grakels(kernel, data):
    if kernel == WeisfeilerLehman(0):
        kernel = WeisfeilerLehman(1)
    other = oracle(kernel)
    labelled = [item for item in GRAPHS[6:] if "node_labels" in item and item["edges"]]
    # GraKeL, too, lets a node with an edge to itself be its own neighbour.
    loops = [graph(3, [(0, 1), (1, 2), (2, 2)], ["C", "N", "C"]), graph(2, [(0, 1), (1, 0)], ["C", "C"])]
    items = [*labelled, *loops] if data == "generated" else molecules_of(data, 120)
    landmarks = items[::3]
    other.fit([for_grakel(item) for item in landmarks])
    expected = other.transform([for_grakel(item) for item in items])
    np.testing.assert_allclose(kernel(items, landmarks), expected, rtol=1e-6, atol=1e-6)


LABELS = st.one_of(st.sampled_from(["C", "N", "é"]), st.integers(-3, 10**20))


@st.composite
def graphs(draw, labelled=None):
    n = draw(st.integers(0, 7))
    ends = st.integers(0, max(0, n - 1))
    edges = draw(st.lists(st.tuples(ends, ends).map(list), max_size=10 if n else 0))
    labelled = draw(st.booleans()) if labelled is None else labelled
    return graph(n, edges, draw(st.lists(LABELS, min_size=n, max_size=n)) if labelled else None)


@all_kernels
@given(items=st.lists(graphs(), min_size=1, max_size=8))
@settings(max_examples=25, deadline=None)
def test_properties(kernel, items):
    assert kernel.read(items) == items
    K = kernel(items, items)
    np.testing.assert_allclose(K, K.T, atol=1e-12)
    assert kernel.psd
    assert np.linalg.eigvalsh(K).min() > -1e-9 * max(1.0, np.abs(K).max())
    np.testing.assert_allclose(kernel.diagonal(items), K.diagonal(), atol=1e-12)
    rows = kernel.against(items, np.float64)
    np.testing.assert_array_equal(np.concatenate([rows([item]) for item in items]), K)
    np.testing.assert_allclose(K, naive(kernel, items, items), rtol=1e-9, atol=1e-9)


@all_kernels
@given(item=graphs(), seed=st.integers(0, 100))
@settings(max_examples=25, deadline=None)
def test_the_order_of_nodes_and_edges_makes_no_difference(kernel, item, seed):
    rng = np.random.default_rng(seed)
    order = rng.permutation(item["n"]).tolist()
    edges = [[order[u], order[v]][:: rng.choice([1, -1])] for u, v in item["edges"]]
    labels = item.get("node_labels")
    if labels is not None:
        labels = [label for _, label in sorted(zip(order, labels, strict=True), key=lambda pair: pair[0])]
    moved = graph(item["n"], rng.permutation(edges).tolist(), labels)
    np.testing.assert_array_equal(kernel([item], GRAPHS), kernel([moved], GRAPHS))


@given(items=st.lists(graphs(), max_size=6))
@settings(max_examples=50, deadline=None)
def test_both_ways_of_reading_agree(items):
    assert graph_forms.are_plain(items)
    assert [graph_forms.plain(item) for item in items] == items
    tuples = [{**item, "edges": tuple(map(tuple, item["edges"]))} for item in items if item["edges"]]
    assert not tuples or not graph_forms.are_plain(tuples)
    assert graph_forms.as_graphs(tuples) == [item for item in items if item["edges"]]


def test_forms_of_dicts():
    expected = graph(3, [(0, 1), (1, 2)], [6, 7, 6])
    odd = {
        "edges": np.array([[0, 1], [1, 2]]), "n": np.int32(3), "node_labels": np.array([6.0, 7.0, 6.0])
    }  # fmt: skip
    (found,) = ShortestPath().read([odd])
    assert found == expected
    assert json.loads(json.dumps(found)) == found
    (found,) = ShortestPath().read([{"n": 1.0, "node_labels": None, "edges": ()}])
    assert found == graph(1, [])


def test_edge_lists():
    kernel = WeisfeilerLehman()
    found = kernel.read([[["b", "a"], ("c", "b"), ["a", "b"]], [[1, "1"], [True, 1]], [], np.array([[7, 5]])])
    assert found[0] == graph(3, [(0, 1), (1, 2)])
    assert found[1]["n"] == 3
    assert found[2] == graph(0, [])
    assert found[3] == graph(2, [(0, 1)])
    assert kernel.read(found) == found
    # The same graph, whatever its nodes are called and in whatever order its edges come.
    assert kernel.read([[[1, 2], [2, 3]]]) == kernel.read([[["y", "z"], ["x", "y"]]])


def test_networkx_graphs():
    networkx = pytest.importorskip("networkx", reason="networkx is not installed: its graphs are not read")
    G = networkx.Graph([("c", "a"), ("b", "c")])
    kernel = WeisfeilerLehman()
    assert kernel.read([G]) == [graph(3, [(0, 2), (1, 2)])]
    networkx.set_node_attributes(G, {"a": "C", "b": "N", "c": 8}, "label")
    assert kernel.read([G]) == [graph(3, [(0, 2), (1, 2)], ["C", "N", 8])]
    grid = kernel.read(
        [networkx.grid_2d_graph(3, 2), networkx.MultiGraph([(0, 1), (1, 0)]), networkx.Graph()]
    )
    assert [(item["n"], len(item["edges"])) for item in grid] == [(6, 7), (2, 1), (0, 0)]
    mixed = networkx.Graph([((1, "a"), ("a", 1))])
    assert kernel.read([mixed]) == [graph(2, [(0, 1)])]
    with pytest.raises(BadObjectError, match=r"directed graph, expected .* graph.to_undirected\(\)"):
        kernel.read([networkx.DiGraph([(0, 1)])])
    G.add_node("d")
    with pytest.raises(BadObjectError, match="the node 'd' has no 'label', others have one"):
        kernel.read([G])


@pytest.mark.parametrize(
    ("item", "reason"),
    [
        (None, "found None, expected a graph: a dict"),
        (7, "found int 7, expected a graph"),
        ("abc", "found str 'abc', expected a graph"),
        ({"n": 2}, "the graph has no 'edges'"),
        ({"edges": []}, "the graph has no 'n'"),
        ({"n": 2, "labels": [1, 2], "edges": []}, "found the key 'labels' in a graph, expected only n, node_labels"),
        ({"n": -1, "edges": []}, "'n' is int -1, expected a whole number from 0"),
        ({"n": 2.5, "edges": []}, "'n' is float 2.5, expected a whole number"),
        ({"n": True, "edges": []}, "'n' is bool True"),
        ({"n": float("nan"), "edges": []}, "'n' is float nan"),
        ({"n": 10**30, "edges": []}, "expected a whole number from 0 to 10,000,000"),
        ({"n": 2, "edges": None}, "'edges' is None, expected a list of pairs"),
        ({"n": 2, "edges": [[0, 1, 1]]}, r"found list \[0, 1, 1\] among the edges, expected pairs"),
        ({"n": 2, "edges": [0, 1]}, "found int 0 among the edges"),
        ({"n": 3, "edges": [[0, 1], [1, 3]]}, r"the edge \[1, 3\] leads to a missing node: .* nodes 0 to 2 \(n = 3\)"),
        ({"n": 3, "edges": [[0, -1]]}, r"the edge \[0, -1\] leads to a missing node"),
        ({"n": 3, "edges": [[0, 10**30]]}, "leads to a missing node"),
        ({"n": 0, "edges": [[0, 0]]}, r"the graph has no nodes \(n = 0\)"),
        ({"n": 3, "edges": [[0, "1"]]}, r"the edge \[0, '1'\] is not between two node numbers"),
        ({"n": 3, "edges": [[0, None]]}, "is not between two node numbers"),
        ({"n": 2, "node_labels": ["C"], "edges": []}, "found 1 node labels for n = 2 nodes"),
        ({"n": 1, "node_labels": [None], "edges": []}, "found the node label None, expected text or a whole"),
        ({"n": 1, "node_labels": [True], "edges": []}, "found the node label bool True"),
        ({"n": 1, "node_labels": [[1]], "edges": []}, "found the node label list"),
        ({"n": 1, "node_labels": "C", "edges": []}, "'node_labels' is str 'C', expected a list"),
        ([0, 1], "found int 0 among the edges"),
        ([[0, 1], [1, None]], "found None as the end of an edge"),
        ([[0.0, float("nan")]], "found float nan as the end of an edge"),
        ([["a", "b", 0.5]], "expected pairs"),
    ],
)  # fmt: skip
def test_what_is_no_graph_is_refused_with_its_row(item, reason):
    for kernel in (WeisfeilerLehman(), ShortestPath()):
        with pytest.raises(BadObjectError, match=reason) as caught:
            kernel.read([*GRAPHS, item, *GRAPHS])
        assert caught.value.position == len(GRAPHS)
    with pytest.raises(SourceError, match="X, row 20: .*" + reason):
        apnc.KernelKMeans(2, kernel=ShortestPath()).fit([*molecules(20), item])


def test_files_name_the_line(tmp_path):
    path = tmp_path / "graphs.jsonl"
    items = [*molecules(30), graph(3, [(0, 3)])]
    path.write_text("".join(json.dumps({"g": item}) + "\n" for item in items))
    source = apnc.open(path, object_field="g")
    with pytest.raises(SourceError, match=r"line 31.*the edge \[0, 3\] leads to a missing node"):
        apnc.KernelKMeans(2, kernel="weisfeiler_lehman").fit(source)


@pytest.mark.parametrize("iterations", [-1, 51, 2.0, True, None, "3"])
def test_iterations_are_checked(iterations):
    with pytest.raises(ValueError, match="expected a whole number from 0 to 50"):
        WeisfeilerLehman(iterations)


def test_shown():
    shown = ShortestPath().shown
    assert shown(graph(3, [(0, 1), (1, 0), (1, 2)], ["C", "N", "C"])) == "graph of 3 nodes and 2 edges (C, N)"
    assert shown(graph(1, [])) == "graph of 1 node and 0 edges"
    assert shown(graph(2, [(0, 1)], [8, 7])) == "graph of 2 nodes and 1 edge (7, 8)"
    assert shown(graph(9, [], list("ihgfedcba"))) == "graph of 9 nodes and 0 edges (a, b, c, d, e, f, ...)"


@pytest.mark.parametrize(
    ("text", "kernel"),
    [
        ("weisfeiler_lehman", WeisfeilerLehman()),
        ("weisfeiler_lehman(5, normalize=false)", WeisfeilerLehman(5, normalize=False)),
        ("shortest_path", ShortestPath()),
        ("2 * shortest_path + weisfeiler_lehman(1)", 2.0 * ShortestPath() + WeisfeilerLehman(1)),
    ],
)
def test_descriptions(text, kernel):
    assert kernel_spelled(text) == kernel
    assert kernel_spelled(repr(kernel)) == kernel


@pytest.mark.parametrize("kernel", [WeisfeilerLehman(), ShortestPath(normalize=False)], ids=repr)
@pytest.mark.parametrize("estimator", [apnc.KernelKMeans, apnc.SpectralClustering])
def test_estimators(kernel, estimator, tmp_path):
    items = molecules(120)
    one, two = (
        estimator(2, kernel=kernel, n_landmarks=40, n_jobs=jobs, random_state=0).fit(items) for jobs in (1, 2)
    )
    np.testing.assert_array_equal(one.labels_, two.labels_)
    rings = one.labels_ == one.labels_[0]
    if kernel.normalize:
        np.testing.assert_array_equal(rings, np.arange(120) % 2 == 0)
    one.save(tmp_path / "graphs.apnc")
    loaded = apnc.load(tmp_path / "graphs.apnc")
    np.testing.assert_array_equal(loaded.predict(molecules(50, seed=1)), one.predict(molecules(50, seed=1)))


def test_files_and_lists_have_the_same_labels(tmp_path):
    items = molecules(80)
    path = tmp_path / "graphs.jsonl"
    path.write_text("".join(json.dumps({"object": item}) + "\n" for item in items))
    fitted = [
        apnc.KernelKMeans(2, kernel="weisfeiler_lehman", n_landmarks=30, random_state=0).fit(X)
        for X in (items, apnc.open(path, object_field="object"))
    ]
    np.testing.assert_array_equal(fitted[0].labels_, fitted[1].labels_)


def test_nodes_without_edges_are_counted_not_listed():
    """A few bytes can declare millions of nodes."""
    kernel, loose = WeisfeilerLehman(2, normalize=False), [[3, 5], [5, 9]]
    few = [{"n": n, "edges": loose} for n in (10, 12, 40)]
    listed = [{**graph, "node_labels": ["x"] * graph["n"]} for graph in few]
    np.testing.assert_allclose(kernel(few, few), kernel(listed, listed))
    huge = [{"n": 9_000_000, "edges": loose}]
    assert kernel(huge, huge)[0, 0] == pytest.approx((9e6 - 3) ** 2 * 3, rel=1e-5)
    paths = ShortestPath(normalize=False)
    assert len(np.unique(paths([*huge, *few], [*huge, *few]))) == 1
