"""Nearest centroids under L1 and L2, and sums of rows by cluster.

L1 and L2 have separate loops even where they differ by one operation: numba cannot cache a loop on disk that takes a
function as an argument.
"""

import numpy as np

from apnc.loops.compiled import FAST, compiled
from apnc.loops.prefetch import prefetch_row

#: Assignments whose margin is below this share of the magnitude are redone in float64; the error of the float32 loops
#: is smaller.
THIN = 1e-5
#: Discrepancies this close (relative to the magnitude) are a tie; the lowest cluster number wins.
TIE = 1e-12
#: Bounds must be this far apart (relative to the magnitude) to settle a row; farther than any tie.
SETTLED = 1e-6

#: Rows that a pass handles together, so that they stay in the first levels of cache.
_TILE = 48
#: Components summed in float32 before they are added to a total, so that rounding stays below THIN for long rows.
_LENGTH = 512


@compiled(fastmath=FAST)
def distances_l1(Y, C, out):  # type: ignore[no-untyped-def]
    """``out[i, c]`` = sum of absolute differences, in float64 by direct differences."""
    for i in range(Y.shape[0]):
        for c in range(C.shape[0]):
            out[i, c] = _exact_l1(Y[i], C[c])


@compiled(fastmath=FAST)
def distances_l2(Y, C, out):  # type: ignore[no-untyped-def]
    """``out[i, c]`` = Euclidean distance, in float64 by direct differences."""
    for i in range(Y.shape[0]):
        for c in range(C.shape[0]):
            out[i, c] = np.sqrt(squared_l2(Y[i], C[c]))


@compiled(fastmath=FAST)
def _exact_l1(y, c):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(y.size):
        total += abs(np.float64(y[j]) - c[j])
    return total


@compiled(fastmath=FAST)
def squared_l2(y, c):  # type: ignore[no-untyped-def]
    """The squared distance, by which centroids are compared."""
    total = 0.0
    for j in range(y.size):
        difference = np.float64(y[j]) - c[j]
        total += difference * difference
    return total


@compiled(fastmath=FAST)
def row_squares(Y, out):  # type: ignore[no-untyped-def]
    """Squared norm of each row."""
    for i in range(Y.shape[0]):
        total = 0.0
        for j in range(Y.shape[1]):
            total += np.float64(Y[i, j]) * np.float64(Y[i, j])
        out[i] = total


@compiled(fastmath=FAST)
def row_sums(Y, absolute, signed, squares):  # type: ignore[no-untyped-def]
    """L1 norm, plain sum and squared norm of each row."""
    for i in range(Y.shape[0]):
        size = total = square = 0.0
        for j in range(Y.shape[1]):
            y = np.float64(Y[i, j])
            size += abs(y)
            total += y
            square += y * y
        absolute[i] = size
        signed[i] = total
        squares[i] = square


@compiled(fastmath=FAST)
def products(Y, rows, C32, e):  # type: ignore[no-untyped-def]
    """Inner products of the given rows with all centroids.

    Three rows and four centroids stay in registers, eight centroids in the first-level cache. ``e`` has two extra rows
    for an incomplete last tile.
    """
    k, m = C32.shape
    last = rows.size - 1
    e[:] = 0
    for near in range(0, m, _LENGTH):
        for block in range(0, k, 8):
            for p in range(0, rows.size, 3):
                a, b, d = rows[p], rows[min(p + 1, last)], rows[min(p + 2, last)]
                if near == 0 and block == 0:
                    for row in (a, b, d):
                        prefetch_row(Y, row + _TILE)
                for c in range(block, min(block + 8, k), 4):
                    a0 = a1 = a2 = a3 = np.float32(0)
                    b0 = b1 = b2 = b3 = np.float32(0)
                    d0 = d1 = d2 = d3 = np.float32(0)
                    for i in range(min(_LENGTH, m - near)):
                        # An unsigned index spares numba's check for negative ones, which hinders vectorisation.
                        j = np.uint64(near) + np.uint64(i)
                        u, v, w = Y[a, j], Y[b, j], Y[d, j]
                        c0, c1, c2, c3 = C32[c, j], C32[c + 1, j], C32[c + 2, j], C32[c + 3, j]
                        a0 += u * c0
                        a1 += u * c1
                        a2 += u * c2
                        a3 += u * c3
                        b0 += v * c0
                        b1 += v * c1
                        b2 += v * c2
                        b3 += v * c3
                        d0 += w * c0
                        d1 += w * c1
                        d2 += w * c2
                        d3 += w * c3
                    for i, x in enumerate((a0, a1, a2, a3)):
                        e[p, c + i] += x
                    for i, x in enumerate((b0, b1, b2, b3)):
                        e[p + 1, c + i] += x
                    for i, x in enumerate((d0, d1, d2, d3)):
                        e[p + 2, c + i] += x


@compiled(fastmath=FAST)
def twice_larger(Y, rows, C32, e):  # type: ignore[no-untyped-def]
    """2 sum_j max(y_j, c_j) for all rows and centroids; |y - c|_1 is that minus the sums of y and c.

    A maximum and a fused multiply-add run on different units of the processor at the same time; a difference, an
    absolute value and a sum do not. Tiled like ``products``.
    """
    k, m = C32.shape
    last = rows.size - 1
    e[:] = 0
    for near in range(0, m, _LENGTH):
        for block in range(0, k, 8):
            for p in range(0, rows.size, 3):
                a, b, d = rows[p], rows[min(p + 1, last)], rows[min(p + 2, last)]
                if near == 0 and block == 0:
                    for row in (a, b, d):
                        prefetch_row(Y, row + _TILE)
                for c in range(block, min(block + 8, k), 4):
                    a0 = a1 = a2 = a3 = np.float32(0)
                    b0 = b1 = b2 = b3 = np.float32(0)
                    d0 = d1 = d2 = d3 = np.float32(0)
                    for i in range(min(_LENGTH, m - near)):
                        j = np.uint64(near) + np.uint64(i)
                        u, v, w = Y[a, j], Y[b, j], Y[d, j]
                        c0, c1, c2, c3 = C32[c, j], C32[c + 1, j], C32[c + 2, j], C32[c + 3, j]
                        a0 += np.float32(2) * (u if u > c0 else c0)
                        a1 += np.float32(2) * (u if u > c1 else c1)
                        a2 += np.float32(2) * (u if u > c2 else c2)
                        a3 += np.float32(2) * (u if u > c3 else c3)
                        b0 += np.float32(2) * (v if v > c0 else c0)
                        b1 += np.float32(2) * (v if v > c1 else c1)
                        b2 += np.float32(2) * (v if v > c2 else c2)
                        b3 += np.float32(2) * (v if v > c3 else c3)
                        d0 += np.float32(2) * (w if w > c0 else c0)
                        d1 += np.float32(2) * (w if w > c1 else c1)
                        d2 += np.float32(2) * (w if w > c2 else c2)
                        d3 += np.float32(2) * (w if w > c3 else c3)
                    for i, x in enumerate((a0, a1, a2, a3)):
                        e[p, c + i] += x
                    for i, x in enumerate((b0, b1, b2, b3)):
                        e[p + 1, c + i] += x
                    for i, x in enumerate((d0, d1, d2, d3)):
                        e[p + 2, c + i] += x


@compiled(fastmath=FAST, inline="always")
def _two_best(e, k):  # type: ignore[no-untyped-def]
    """Index of the smallest of the first k values, that value, and the second smallest."""
    best = e[0]
    second = np.float32(np.inf)
    label = 0
    for c in range(1, k):
        if e[c] < second:
            if e[c] < best:
                second = best
                best = e[c]
                label = c
            else:
                second = e[c]
    return label, best, second


@compiled(fastmath=FAST, inline="always")
def _settle_l1(y, e, C, magnitude):  # type: ignore[no-untyped-def]
    """Label, lowest and second lowest of a row's e (float32 discrepancies minus the row's own term).

    If the margin is thin, the candidates are compared again in float64.
    """
    label, best, second = _two_best(e, C.shape[0])
    if second - best <= THIN * magnitude:
        lowest = np.inf
        for c in range(C.shape[0]):
            if e[c] <= best + THIN * magnitude:
                exact = _exact_l1(y, C[c])
                # Only a clear improvement counts, so that a tie goes to the lowest cluster number.
                if exact < lowest - TIE * magnitude:
                    lowest = exact
                    label = c
    return label, np.float64(best), np.float64(second)


@compiled(fastmath=FAST, inline="always")
def _settle_l2(y, e, C, magnitude):  # type: ignore[no-untyped-def]
    """``_settle_l1`` for squared distances."""
    label, best, second = _two_best(e, C.shape[0])
    if second - best <= THIN * magnitude:
        lowest = np.inf
        for c in range(C.shape[0]):
            if e[c] <= best + THIN * magnitude:
                exact = squared_l2(y, C[c])
                if exact < lowest - TIE * magnitude:
                    lowest = exact
                    label = c
    return label, np.float64(best), np.float64(second)


@compiled(fastmath=FAST)
def search_l1(Y, rows, C32, halves, C, largest, sizes, signed, labels, own, upper, lower, e):  # type: ignore[no-untyped-def]
    """Eq. 4 with the L1 discrepancy for the given rows; ``halves`` is half the sum of c, ``signed`` the sum of y."""
    twice_larger(Y, rows, C32, e)
    for p in range(rows.size):
        i = rows[p]
        magnitude = sizes[i] + largest
        for c in range(C.shape[0]):
            e[p, c] -= 2 * halves[c]
        label, best, second = _settle_l1(Y[i], e[p], C, magnitude)
        labels[i] = label
        own[i] = max(0.0, best - signed[i])
        upper[i] = best - signed[i] + THIN * magnitude
        lower[i] = second - signed[i] - THIN * magnitude


@compiled(fastmath=FAST, inline="always")
def _store_l2(i, y, e, C, largest, sizes, labels, own, upper, lower):  # type: ignore[no-untyped-def]
    magnitude = sizes[i] + largest
    label, best, second = _settle_l2(y, e, C, magnitude)
    labels[i] = label
    own[i] = np.sqrt(max(0.0, sizes[i] + best))
    upper[i] = np.sqrt(max(0.0, sizes[i] + best + THIN * magnitude))
    lower[i] = np.sqrt(max(0.0, sizes[i] + second - THIN * magnitude))


@compiled(fastmath=FAST)
def search_l2(Y, rows, C32, halves, C, largest, sizes, labels, own, upper, lower, e):  # type: ignore[no-untyped-def]
    """Eq. 4 with the Euclidean discrepancy for the given rows and few centroids; ``halves`` is |c|^2 / 2."""
    products(Y, rows, C32, e)
    pick_l2(e, Y, rows, halves, C, largest, sizes, labels, own, upper, lower)


@compiled(fastmath=FAST)
def pick_l2(e, Y, rows, halves, C, largest, sizes, labels, own, upper, lower):  # type: ignore[no-untyped-def]
    """Nearest centroids of the given rows from their inner products ``e``, which are overwritten."""
    for p in range(rows.size):
        for c in range(C.shape[0]):
            e[p, c] = 2 * (halves[c] - e[p, c])
        _store_l2(rows[p], Y[rows[p]], e[p], C, largest, sizes, labels, own, upper, lower)


@compiled()
def loosen(start, stop, labels, shifts, margins, upper, lower, open_rows, settled):  # type: ignore[no-untyped-def]
    """Separate rows that may have a new nearest centroid from settled ones, after centroids moved by ``shifts``.

    Triangle inequality: the assigned centroid is no farther than ``upper + its shift``, any other no nearer than
    ``lower - the largest other shift``. Without shifts every row is open. Returns both counts.
    """
    n_open = n_settled = 0
    first = shifts.argmax() if shifts.size else 0
    second = 0.0
    for c in range(shifts.size):
        if c != first:
            second = max(second, shifts[c])
    for i in range(start, stop):
        if shifts.size:
            upper[i] += shifts[labels[i]]
            lower[i] -= second if labels[i] == first else shifts[first]
        if shifts.size and lower[i] - upper[i] > margins[i]:
            settled[n_settled] = i
            n_settled += 1
        else:
            open_rows[n_open] = i
            n_open += 1
    return n_open, n_settled


@compiled(fastmath=FAST)
def small_pass(norm, Y, weights, C32, halves, C, largest, sizes, signed, labels, own, upper, lower, shifts, margins, sums, counts):  # type: ignore[no-untyped-def]  # fmt: skip  # noqa: E501
    """Algorithm 2, map: each tile of rows is searched and summed while it is in cache; norm is 1 or 2."""
    n = Y.shape[0]
    open_rows = np.empty(_TILE, dtype=np.int64)
    settled = np.empty(_TILE, dtype=np.int64)
    e = np.empty((_TILE + 2, C32.shape[0]), dtype=np.float32)
    for start in range(0, n, _TILE):
        stop = min(start + _TILE, n)
        n_open, n_settled = loosen(start, stop, labels, shifts, margins, upper, lower, open_rows, settled)
        if norm == 1:
            search_l1(
                Y, open_rows[:n_open], C32, halves, C, largest, sizes, signed, labels, own, upper, lower, e
            )
            own_l1(Y, settled[:n_settled], C, labels, own)
        else:
            search_l2(Y, open_rows[:n_open], C32, halves, C, largest, sizes, labels, own, upper, lower, e)
            own_l2(Y, settled[:n_settled], C, labels, own)
        # The exact distance is a tighter bound, and free: the inertia needs it anyway.
        for p in range(n_settled):
            upper[settled[p]] = own[settled[p]]
        accumulate(Y[start:stop], weights[start:stop], labels[start:stop], sums, counts)


@compiled(fastmath=FAST)
def accumulate(Y, weights, labels, sums, counts):  # type: ignore[no-untyped-def]
    """Algorithm 2, lines 8 and 9: Z and g of these rows."""
    for i in range(Y.shape[0]):
        w = weights[i]
        c = labels[i]
        counts[c] += w
        for j in range(Y.shape[1]):
            sums[c, j] += w * np.float64(Y[i, j])


@compiled(fastmath=FAST)
def own_l1(Y, rows, C, labels, out):  # type: ignore[no-untyped-def]
    """Exact L1 distance of the given rows to their assigned centroid."""
    for p in range(rows.size):
        prefetch_row(Y, rows[p] + _TILE)
        out[rows[p]] = _exact_l1(Y[rows[p]], C[labels[rows[p]]])


@compiled(fastmath=FAST)
def own_l2(Y, rows, C, labels, out):  # type: ignore[no-untyped-def]
    """Exact Euclidean distance of the given rows to their assigned centroid."""
    for p in range(rows.size):
        prefetch_row(Y, rows[p] + _TILE)
        out[rows[p]] = np.sqrt(squared_l2(Y[rows[p]], C[labels[rows[p]]]))
