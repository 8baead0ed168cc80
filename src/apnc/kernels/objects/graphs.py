"""Kernels on graphs."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, repeat
from typing import Any

import numpy as np

from apnc.kernels.objects.features import FeatureKernel, Features
from apnc.kernels.objects.graph_forms import as_graphs
from apnc.kernels.objects.sequences import token_codes
from apnc.stored import require, require_flags, stored
from apnc.typing import Array

#: Most refinements of labels.
MOST_ITERATIONS = 50
#: Memory of a node with its label, and of an edge, in numbers of 8 bytes; and of a pair of labels with its distance.
NUMBERS_A_NODE, NUMBERS_AN_EDGE, PAIR_BYTES = 4, 16, 40
#: Most labels that ``shown`` lists.
MOST_SHOWN = 6


class GraphKernel(FeatureKernel):
    """Graphs compared by features of their nodes.

    Takes dicts ``{"n": 3, "node_labels": ["C", "C", "O"], "edges": [[0, 1], [1, 2]]}``, networkx graphs and lists of
    edges; ``graph_forms`` says how each is understood. Labels are text or whole numbers; without labels all nodes are
    alike, and unlike any labelled node. Edges have no direction; an edge counts once however often it is listed.
    """

    def read(self, objects: Any) -> list[dict[str, Any]]:
        """Graphs as dicts."""
        return as_graphs(objects)

    def shown(self, item: Any) -> str:
        """Such as: graph of 17 nodes and 19 edges (C, N, O)."""
        (graph,) = as_graphs([item])
        n, n_edges = graph["n"], len({(min(ends), max(ends)) for ends in graph["edges"]})
        labels = sorted(set(map(str, graph.get("node_labels", ()))))
        listed = ", ".join([*labels[:MOST_SHOWN], *["..."] * (len(labels) > MOST_SHOWN)])
        size = f"graph of {n} node{'s' * (n != 1)} and {n_edges} edge{'s' * (n_edges != 1)}"
        return f"{size} ({listed})" if listed else size


@stored
@dataclass(frozen=True)
class WeisfeilerLehman(GraphKernel):
    """Graphs compared by their nodes' labels, and by labels refined again and again by those of the neighbours.

    Two nodes share a label after h refinements if their neighbourhoods look alike up to distance h. This is the
    Weisfeiler-Lehman subtree kernel (Shervashidze et al. 2011).

    Parameters
    ----------
    iterations : how often labels are refined; 0 compares the labels as they are.
    normalize : divide by the norms, so that large and small graphs are comparable; False where size matters.

    A graph without nodes is similar to nothing. An edge from a node to itself makes it its own neighbour.

    """

    iterations: int = 3
    normalize: bool = True

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Require a number of refinements."""
        inside = type(self.iterations) is int and 0 <= self.iterations <= MOST_ITERATIONS
        require(
            inside,
            f"iterations={self.iterations!r:.40}: expected a whole number from 0 to {MOST_ITERATIONS}",
        )
        require_flags(self, "normalize")

    def feature_bytes(self, held: int) -> int:
        """Those of every iteration."""
        return super().feature_bytes(held) * (1 + self.iterations // NUMBERS_A_NODE)

    def features(self, objects: Sequence[Any]) -> Features:
        """Labels of all iterations, with the number of nodes that have them."""
        from apnc.loops import graphs as loops

        labels, starts, firsts, neighbours, counts = joined(objects)
        ids = loops.refined(labels, firsts, neighbours, self.iterations)
        return Features.counted(ids, starts * (self.iterations + 1), np.repeat(counts, self.iterations + 1))


@stored
@dataclass(frozen=True)
class ShortestPath(GraphKernel):
    """Graphs compared by their pairs of nodes: the two labels, and the number of edges between them on a shortest path.

    This is the shortest-path kernel of Borgwardt and Kriegel (2005). Pairs are ordered, so each counts twice. A graph
    takes time in proportion to its nodes times its edges.

    Parameters
    ----------
    normalize : divide by the norms, so that large and small graphs are comparable; False where size matters.

    A graph without any path, such as one without nodes or edges, is similar to nothing. Edges from a node to itself
    make no difference.

    """

    normalize: bool = True

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Require true or false."""
        require_flags(self, "normalize")

    def feature_bytes(self, held: int) -> int:
        """Those of all pairs of nodes that are connected, if their labels differ."""
        return super().feature_bytes(held) + PAIR_BYTES * (held // NUMBERS_AN_EDGE) ** 2

    def features(self, objects: Sequence[Any]) -> Features:
        """Pairs of labels with their distance, with the number of pairs of nodes that have them."""
        from apnc.loops import graphs as loops

        *graphs, _ = joined(objects)
        return Features(*loops.paths(*graphs))


def joined(graphs: Sequence[dict[str, Any]]) -> tuple[Array, Array, Array, Array, Array]:
    """Plain graphs as one: labels of all nodes by hash, where each graph's nodes begin, ``loops.adjacency``, and how
    many nodes each stands for.
    """
    from apnc.loops import graphs as loops

    alone = {i: n for i, graph in enumerate(graphs) if (n := _n_alone(graph)) > 1}
    if alone:
        graphs = [_compact(graph) if i in alone else graph for i, graph in enumerate(graphs)]
    sizes = np.fromiter((graph["n"] for graph in graphs), np.int64, len(graphs))
    starts = np.append(0, np.cumsum(sizes))
    edges = [graph["edges"] for graph in graphs]
    n_edges = np.fromiter(map(len, edges), np.int64, len(edges))
    ends = np.fromiter(chain.from_iterable(chain.from_iterable(edges)), np.int64, 2 * n_edges.sum())
    ends += np.repeat(starts[:-1], 2 * n_edges)
    firsts, neighbours = loops.adjacency(ends.reshape(-1, 2), starts[-1])
    counts = np.ones(starts[-1])
    counts[[starts[i + 1] - 1 for i in alone]] = list(alone.values())
    return label_codes(graphs), starts, firsts, neighbours, counts


def _n_alone(graph: dict[str, Any]) -> int:
    """At least so many nodes have no edge and no label, and so are alike; 0 if all have labels."""
    if "node_labels" in graph or graph["n"] <= 2 * len(graph["edges"]):
        return 0
    return int(graph["n"] - len(set(chain.from_iterable(graph["edges"]))))


def _compact(graph: dict[str, Any]) -> dict[str, Any]:
    """The graph with a single node, the last, for all that have no edge: their number may be in the millions."""
    number = {node: place for place, node in enumerate(sorted(set(chain.from_iterable(graph["edges"]))))}
    return {"n": len(number) + 1, "edges": [[number[u], number[v]] for u, v in graph["edges"]]}


def label_codes(graphs: Sequence[dict[str, Any]]) -> Array:
    """A 64-bit hash of each node's label, the same in every process; None is the label of nodes without one."""
    labels = list(
        chain.from_iterable(graph.get("node_labels") or repeat(None, graph["n"]) for graph in graphs)
    )
    distinct = list(set(labels))
    codes = dict(zip(distinct, token_codes([distinct])[0].tolist(), strict=True))
    return np.fromiter(map(codes.__getitem__, labels), np.uint64, len(labels))
