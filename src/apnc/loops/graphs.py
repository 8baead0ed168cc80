"""Graphs by their features: labels refined by those of neighbours, and pairs of nodes with their distance."""

import numpy as np

from apnc.loops.compiled import compiled
from apnc.loops.hashed_features import feature_of, follow
from apnc.loops.hashing import _GOLDEN, _mix


@compiled()
def adjacency(ends, n):  # type: ignore[no-untyped-def]
    """Neighbours of n nodes, each once, from pairs of ends: where each node's begin, and all neighbours."""
    firsts = np.zeros(n + 1, dtype=np.int64)
    for e in range(len(ends)):
        firsts[ends[e, 0] + 1] += 1
        firsts[ends[e, 1] + 1] += 1
    for v in range(n):
        firsts[v + 1] += firsts[v]
    free, found = firsts[:-1].copy(), np.empty(firsts[n], dtype=np.int64)
    for e in range(len(ends)):
        u, v = ends[e]
        found[free[u]] = v
        free[u] += 1
        found[free[v]] = u
        free[v] += 1
    seen, begin, kept = np.full(n, -1, dtype=np.int64), np.int64(0), 0
    for v in range(n):
        for p in range(begin, firsts[v + 1]):
            if seen[found[p]] != v:
                seen[found[p]] = v
                found[kept] = found[p]
                kept += 1
        begin, firsts[v + 1] = firsts[v + 1], kept
    return firsts, found[:kept].copy()


@compiled()
def refined(labels, firsts, neighbours, iterations):  # type: ignore[no-untyped-def]
    """Features of each node: its label, and that label refined ``iterations`` times by the neighbours' labels."""
    n = labels.size
    features = np.empty((n, iterations + 1), dtype=np.int32)
    now, mixed = labels.copy(), np.empty(n, dtype=np.uint64)
    for t in range(iterations + 1):
        for v in range(n):
            features[v, t] = feature_of(now[v])
            mixed[v] = _mix(now[v] + _GOLDEN)
        if t == iterations:
            break
        for v in range(n):
            total = np.uint64(0)
            for p in range(firsts[v], firsts[v + 1]):
                total += mixed[neighbours[p]]
            now[v] = follow(follow(_GOLDEN, now[v]), total)
    return features.ravel()


@compiled(inline="always")
def _slot(feature, ids, places, begin):  # type: ignore[no-untyped-def]
    """Where a hash table has a feature, or room for it; entries of earlier graphs, before ``begin``, are room."""
    slot = feature & (places.size - 1)
    while places[slot] >= begin and ids[places[slot]] != feature:
        slot = (slot + 1) & (places.size - 1)
    return slot


@compiled()
def _with_room(places, ids, begin, end, more):  # type: ignore[no-untyped-def]
    """The hash table of ``ids[begin:end]``, larger if ``more`` features would not fit."""
    size = places.size
    while size < 2 * (end - begin + more):
        size *= 2
    if size == places.size:
        return places
    larger = np.full(size, -1, dtype=np.int64)
    for place in range(begin, end):
        larger[_slot(ids[place], ids, larger, begin)] = place
    return larger


@compiled()
def _lengthened(array, size):  # type: ignore[no-untyped-def]
    """The array, with room for at least ``size`` entries."""
    if size <= array.size:
        return array
    longer = np.empty(2 * size, dtype=array.dtype)
    longer[: array.size] = array
    return longer


@compiled()
def paths(labels, starts, firsts, neighbours):  # type: ignore[no-untyped-def]
    """Features of each graph: ordered pairs of labels with their distance, how often, and where each graph's begin.

    Pairs of nodes without a path have no feature. ``starts``: where each graph's nodes begin.
    """
    n, n_nodes = starts.size - 1, labels.size
    distances, queue = np.empty(n_nodes, dtype=np.int64), np.empty(n_nodes, dtype=np.int64)
    seen = np.full(n_nodes, -1, dtype=np.int64)
    ids, values = np.empty(1024, dtype=np.int32), np.empty(1024, dtype=np.float64)
    places, begins, end = np.full(1024, -1, dtype=np.int64), np.zeros(n + 1, dtype=np.int64), 0
    for i in range(n):
        begin, size = end, starts[i + 1] - starts[i]
        for u in range(starts[i], starts[i + 1]):
            # Distinct features are few, pairs may be millions: room is made for one node's at a time.
            ids, values = _lengthened(ids, end + size), _lengthened(values, end + size)
            places = _with_room(places, ids, begin, end, size)
            own = follow(_GOLDEN, labels[u])
            queue[0], seen[u], distances[u], head, tail = u, u, 0, 0, 1
            while head < tail:
                v = queue[head]
                head += 1
                for p in range(firsts[v], firsts[v + 1]):
                    w = neighbours[p]
                    if seen[w] == u:
                        continue
                    seen[w], distances[w], queue[tail] = u, distances[v] + 1, w
                    tail += 1
                    feature = feature_of(follow(follow(own, labels[w]), np.uint64(distances[w])))
                    slot = _slot(feature, ids, places, begin)
                    if places[slot] < begin:
                        places[slot], ids[end], values[end] = end, feature, 0.0
                        end += 1
                    values[places[slot]] += 1
        begins[i + 1] = end
    return ids[:end].copy(), values[:end].copy(), begins
