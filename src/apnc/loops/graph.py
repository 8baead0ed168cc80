"""Rows against their nearest landmarks: shortlists, exact distances, rows of the graph, and their embedding."""

import numpy as np

from apnc.loops.compiled import FAST, compiled
from apnc.loops.nearest import squared_l2

#: Scores whose minimum is taken at once; only blocks with a score below the worst of the shortlist are searched.
_BLOCK = 32


@compiled(fastmath=FAST)
def last_of_worst(kept, columns, slack):  # type: ignore[no-untyped-def]
    """Where the largest score is; of those equal to it within ``slack``, that of the highest column."""
    most, worst = kept.max() - slack, -1
    for j in range(len(kept)):
        if kept[j] >= most and (worst < 0 or columns[j] > columns[worst]):
            worst = j
    return worst


@compiled(fastmath=FAST)
def shortlist(scores, slack, out):  # type: ignore[no-untyped-def]
    """``out[i]``: the columns of the smallest scores of row ``i``, in no particular order.

    Scores that differ by no more than ``slack[i]``, their rounding, are equal: the lowest columns are taken.
    """
    n, l = scores.shape  # noqa: E741
    size = out.shape[1]
    kept = np.empty(size, scores.dtype)
    for i in range(n):
        for j in range(size):
            kept[j] = scores[i, j]
            out[i, j] = j
        worst = last_of_worst(kept, out[i], slack[i])
        limit = kept[worst] - slack[i]
        for start in range(size, l, _BLOCK):
            stop = min(start + _BLOCK, l)
            least = scores[i, start]
            for j in range(start + 1, stop):
                least = min(least, scores[i, j])
            if least >= limit:
                continue
            for j in range(start, stop):
                if scores[i, j] < limit:
                    kept[worst] = scores[i, j]
                    out[i, worst] = j
                    worst = last_of_worst(kept, out[i], slack[i])
                    limit = kept[worst] - slack[i]


@compiled()
def closest(X, L, candidates, indices, squared):  # type: ignore[no-untyped-def]
    """The nearest of each row's candidates, by squared distance in float64; equal ones by number."""
    r = indices.shape[1]
    for i in range(X.shape[0]):
        for place in range(r):
            squared[i, place] = np.inf
            indices[i, place] = L.shape[0]
        for c in range(candidates.shape[1]):
            j = candidates[i, c]
            total = squared_l2(X[i], L[j])
            place = r
            while place > 0 and (
                total < squared[i, place - 1]
                or (total == squared[i, place - 1] and j < indices[i, place - 1])
            ):
                place -= 1
            for later in range(r - 1, place, -1):
                squared[i, later] = squared[i, later - 1]
                indices[i, later] = indices[i, later - 1]
            if place < r:
                squared[i, place] = total
                indices[i, place] = j


@compiled()
def graph_rows(indices, squared, scales, typical, power, faintest, units, out):  # type: ignore[no-untyped-def]
    """``out[i]``: the r nearest landmarks of a row, then its similarities to them in whole ``units``.

    The similarities are exp(-d^2 / (s_x s_j)), scaled to sum 1, then times min(1, typical / s_x)^power, at least
    ``faintest``. Among very many landmarks all may round to zero; then the nearest has one unit.
    """
    n, r = indices.shape
    similar = np.empty(r)
    for i in range(n):
        own = np.sqrt(squared[i, r - 1])
        least = np.inf
        for place in range(r):
            product = own * scales[indices[i, place]]
            if product > 0:
                similar[place] = squared[i, place] / product
            else:
                similar[place] = 0.0 if squared[i, place] == 0 else np.inf
            least = min(least, similar[place])
        total = 0.0
        for place in range(r):
            # Infinity minus infinity: no landmark is at distance zero, and all are equally far.
            away = 0.0 if similar[place] == least else similar[place] - least
            similar[place] = np.exp(-away)
            total += similar[place]
        strength = 1.0 if own <= typical else max(faintest, (typical / own) ** power)
        held = 0
        for place in range(r):
            out[i, place] = indices[i, place]
            out[i, r + place] = np.int32(np.rint(units * strength * similar[place] / total))
            held += out[i, r + place]
        if held == 0:
            out[i, r] = 1


@compiled()
def embed_graph_rows(rows, F, n_between, out):  # type: ignore[no-untyped-def]
    """``out[i]``: the row's mean of the landmarks' coordinates; all but the first are scaled to norm 1, if not zero."""
    r = rows.shape[1] // 2
    y = np.empty(F.shape[1])
    for i in range(rows.shape[0]):
        y[:] = 0.0
        total = 0.0
        for place in range(r):
            j, share = rows[i, place], np.float64(rows[i, r + place])
            total += share
            for c in range(F.shape[1]):
                y[c] += share * F[j, c]
        within = y[n_between:]
        norm = np.sqrt((within * within).sum())
        for c in range(F.shape[1]):
            out[i, c] = y[c] / (total if c < n_between else norm) if norm > 0 or c < n_between else 0.0
