"""Graphs as dicts of plain values, from whatever form they have.

- A dict ``{"n", "node_labels", "edges"}`` stays as it is. Nodes are numbered from 0 to n - 1; ``node_labels`` may be
  left out. Other keys are refused: a misspelt one would change the meaning of the graph.
- A networkx graph without directions: nodes sorted if possible, labelled by the node attribute "label"; weights and
  other attributes play no role.
- A list of edges ``[[u, v], ...]`` between nodes named by text or numbers: its nodes are the ends of edges, without
  labels.

The last two have their edges sorted, so that equal graphs are equal dicts.
"""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain
from typing import Any

import numpy as np

from apnc.kernels.family import BadObjectError
from apnc.kernels.objects.sequences import LARGEST, PLAIN, described

#: Most nodes of a graph.
MOST_NODES = 10_000_000
UNLABELLED = dict.fromkeys(("n", "edges")).keys()
KEYS = dict.fromkeys(("n", "node_labels", "edges")).keys()
FORMS = "a graph: a dict {'n': 2, 'node_labels': ['C', 'O'], 'edges': [[0, 1]]}, a networkx graph or a list of edges"


def as_graphs(objects: Sequence[Any]) -> list[dict[str, Any]]:
    """Graphs as dicts; raises ``BadObjectError`` for the first that is none."""
    if are_plain(objects):
        return list(objects)
    found = []
    for position, item in enumerate(objects):
        try:
            found.append(plain(item))
        except ValueError as error:
            raise BadObjectError(position, str(error)) from None
    return found


def are_plain(objects: Sequence[Any]) -> bool:
    """Whether all are correct dicts of plain values already, asked of all together because that is quick."""
    if not _are(objects, dict) or not all(item.keys() in (KEYS, UNLABELLED) for item in objects):
        return False
    sizes, edges = [item["n"] for item in objects], [item["edges"] for item in objects]
    labelled = [item for item in objects if "node_labels" in item]
    if not _are(sizes, int) or not _are(edges, list) or not _are((g["node_labels"] for g in labelled), list):
        return False
    pairs = list(chain.from_iterable(edges))
    if not _are(pairs, list) or not set(map(len, pairs)) <= {2}:
        return False
    ends = list(chain.from_iterable(pairs))
    if not _are(ends, int) or not _are(chain.from_iterable(g["node_labels"] for g in labelled), str, int):
        return False
    if any(len(graph["node_labels"]) != graph["n"] for graph in labelled):
        return False
    return _inside(ends, sizes, list(map(len, edges)))


def _are(values: Iterable[Any], *kinds: type) -> bool:
    return set(map(type, values)) <= set(kinds)


def _inside(ends: list[int], sizes: list[int], n_edges: list[int]) -> bool:
    """Whether all edges are between nodes that exist."""
    if not 0 <= min(sizes, default=0) <= max(sizes, default=0) <= MOST_NODES:
        return False
    if not 0 <= min(ends, default=0) <= max(ends, default=0) <= MOST_NODES:
        return False
    limits = np.repeat(np.array(sizes, np.int64), 2 * np.array(n_edges, np.int64))
    return bool((np.fromiter(ends, np.int64, len(ends)) < limits).all())


def plain(item: Any) -> dict[str, Any]:
    """One graph as a dict; raises a ValueError that says why not."""
    if isinstance(item, Mapping):
        return _of_dict(item)
    if all(hasattr(item, name) for name in ("nodes", "edges", "is_directed")):
        return _of_networkx(item)
    if isinstance(item, np.ndarray | list | tuple):
        return _of_edges(item)
    raise ValueError(f"found {described(item)}, expected {FORMS}.")


def _of_dict(item: Mapping[str, Any]) -> dict[str, Any]:
    if odd := [key for key in item if key not in KEYS]:
        raise ValueError(f"found the key {odd[0]!r:.40} in a graph, expected only {', '.join(KEYS)}.")
    if absent := [key for key in UNLABELLED if key not in item]:
        raise ValueError(f"the graph has no {absent[0]!r}, expected {FORMS}.")
    n = _whole(item["n"])
    if n is None or not 0 <= n <= MOST_NODES:
        raise ValueError(f"'n' is {described(item['n'])}, expected a whole number from 0 to {MOST_NODES:,}.")
    edges = [_numbers(edge, n) for edge in _listed(item["edges"], "edges", "pairs of node numbers")]
    if item.get("node_labels") is None:
        return {"n": n, "edges": edges}
    return {"n": n, "node_labels": _labels(item["node_labels"], n), "edges": edges}


def _numbers(edge: Any, n: int) -> list[int]:
    """An edge between two of n nodes."""
    ends = [number for number in map(_whole, _ends(edge)) if number is not None]
    if len(ends) < 2:
        raise ValueError(f"the edge {edge!r:.60} is not between two node numbers.")
    if not all(0 <= end < n for end in ends):
        there = f"nodes 0 to {n - 1}" if n else "no nodes"
        raise ValueError(f"the edge {ends} leads to a missing node: the graph has {there} (n = {n}).")
    return ends


def _labels(labels: Any, n: int) -> list[str | int]:
    """One label for each of n nodes."""
    found = [_label(label) for label in _listed(labels, "node_labels", "a label for each node")]
    if len(found) != n:
        raise ValueError(f"found {len(found)} node labels for n = {n} nodes, expected one for each.")
    return found


def _label(label: Any) -> str | int:
    if isinstance(label, str):
        return str(label)
    number = _whole(label)
    if number is None or abs(number) >= LARGEST:
        raise ValueError(f"found the node label {described(label)}, expected text or a whole number.")
    return number


def _of_networkx(graph: Any) -> dict[str, Any]:
    if graph.is_directed():
        raise ValueError("found a directed graph, expected one without directions: graph.to_undirected().")
    labels = dict(graph.nodes(data="label"))
    without = [node for node, label in labels.items() if label is None]
    if without and len(without) < len(labels):
        raise ValueError(
            f"the node {without[0]!r:.40} has no 'label', others have one: label all nodes or none."
        )
    nodes, edges = _numbered(labels, graph.edges())
    if without or not nodes:
        return {"n": len(nodes), "edges": edges}
    return {"n": len(nodes), "node_labels": [_label(labels[node]) for node in nodes], "edges": edges}


def _of_edges(item: Any) -> dict[str, Any]:
    edges = [[_token(end) for end in _ends(edge)] for edge in _listed(item, "edges", "pairs of nodes")]
    nodes, numbered = _numbered(set(chain.from_iterable(edges)), edges)
    return {"n": len(nodes), "edges": numbered}


def _token(node: Any) -> tuple[str, Any]:
    """A node by type and value, because 1 equals True."""
    node = node.item() if isinstance(node, np.generic) else node
    if type(node) not in PLAIN or node != node:
        raise ValueError(f"found {described(node)} as the end of an edge, expected text or a number.")
    return type(node).__name__, node


def _numbered(nodes: Iterable[Any], edges: Iterable[Any]) -> tuple[list[Any], list[list[int]]]:
    """Nodes in order, and every edge once, by the numbers of its ends."""
    order = list(nodes)
    try:
        order.sort(key=lambda node: (type(node).__name__, node))
    except TypeError:
        order = list(nodes)
    number = {node: place for place, node in enumerate(order)}
    distinct = {tuple(sorted((number[u], number[v]))) for u, v in edges}
    return order, [list(ends) for ends in sorted(distinct)]


def _listed(item: Any, name: str, expected: str) -> list[Any]:
    item = item.tolist() if isinstance(item, np.ndarray) else item
    if not isinstance(item, list | tuple):
        raise ValueError(f"{name!r} is {described(item)}, expected a list of {expected}.")
    return list(item)


def _ends(edge: Any) -> list[Any]:
    edge = edge.tolist() if isinstance(edge, np.ndarray) else edge
    if not isinstance(edge, list | tuple) or len(edge) != 2:
        raise ValueError(f"found {described(edge)} among the edges, expected pairs [u, v].")
    return list(edge)


def _whole(value: Any) -> int | None:
    """A whole number of any type, else None."""
    if isinstance(value, bool | np.bool_):
        return None
    if isinstance(value, int | np.integer) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return None
