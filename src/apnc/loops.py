"""The compiled inner loops. Imported when first needed: numba takes a quarter of a second to load."""

import numpy as np
from numba import njit

#: Assignments whose margin is below this share of the scale are redone in float64.
THIN = 1e-5
#: Discrepancies this close (relative to the scale) are a tie; the lowest cluster number wins.
TIE = 1e-12

#: Sums may be reordered (vectorised); infinities keep their meaning.
_FAST = {"reassoc", "contract", "arcp", "nsz"}

_MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@njit(nogil=True, cache=True, inline="always")
def _mix(z):  # type: ignore[no-untyped-def]
    z = (z ^ (z >> np.uint64(30))) * _MULTIPLIER_1
    z = (z ^ (z >> np.uint64(27))) * _MULTIPLIER_2
    return z ^ (z >> np.uint64(31))


@njit(nogil=True, cache=True)
def mix_keys(hashes, seed):  # type: ignore[no-untyped-def]
    """Key of each content hash under ``seed`` (a bijection, so distinct hashes stay distinct)."""
    keys = np.empty_like(hashes)
    for i in range(hashes.size):
        keys[i] = _mix(hashes[i] ^ _mix(seed + _GOLDEN))
    return keys


@njit(nogil=True, cache=True)
def hash_dense(bits):  # type: ignore[no-untyped-def]
    """Content hash of each row: a commutative sum over its non-zero entries (bits of float64)."""
    n, d = bits.shape
    salts = np.empty(d, dtype=np.uint64)
    for j in range(d):
        salts[j] = _mix(np.uint64(j + 1) * _GOLDEN)
    hashes = np.zeros(n, dtype=np.uint64)
    for i in range(n):
        total = np.uint64(0)
        for j in range(d):
            if bits[i, j] << np.uint64(1) != np.uint64(0):
                total += _mix(bits[i, j] ^ salts[j])
        hashes[i] = total
    return hashes


@njit(nogil=True, cache=True)
def hash_sparse(bits, columns, indptr):  # type: ignore[no-untyped-def]
    """The same hash for CSR rows, in any order of columns, explicit zeros left out."""
    n = indptr.size - 1
    hashes = np.zeros(n, dtype=np.uint64)
    for i in range(n):
        total = np.uint64(0)
        for p in range(indptr[i], indptr[i + 1]):
            if bits[p] << np.uint64(1) != np.uint64(0):
                total += _mix(bits[p] ^ _mix(np.uint64(columns[p] + 1) * _GOLDEN))
        hashes[i] = total
    return hashes


@njit(nogil=True, fastmath=_FAST, cache=True)
def sparse_products(data, columns, indptr, by_column, which, starts, out):  # type: ignore[no-untyped-def]
    """``out[i] = X[i] @ L.T`` for CSR rows X and landmarks L held by column (CSC)."""
    for i in range(indptr.size - 1):
        for c in range(out.shape[1]):
            out[i, c] = 0
        for p in range(indptr[i], indptr[i + 1]):
            value = data[p]
            for r in range(starts[columns[p]], starts[columns[p] + 1]):
                out[i, which[r]] += value * by_column[r]


@njit(nogil=True, fastmath=_FAST, cache=True)
def distances_l1(Y, C, out):  # type: ignore[no-untyped-def]
    """``out[i, c]`` = sum of absolute differences, in float64 by direct differences."""
    for i in range(Y.shape[0]):
        for c in range(C.shape[0]):
            total = 0.0
            for j in range(Y.shape[1]):
                total += abs(np.float64(Y[i, j]) - C[c, j])
            out[i, c] = total


@njit(nogil=True, fastmath=_FAST, cache=True)
def distances_l2(Y, C, out):  # type: ignore[no-untyped-def]
    """``out[i, c]`` = Euclidean distance, in float64 by direct differences."""
    for i in range(Y.shape[0]):
        for c in range(C.shape[0]):
            total = 0.0
            for j in range(Y.shape[1]):
                difference = np.float64(Y[i, j]) - C[c, j]
                total += difference * difference
            out[i, c] = np.sqrt(total)


@njit(nogil=True, fastmath=_FAST, cache=True)
def _exact_l1(y, c):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(y.size):
        total += abs(np.float64(y[j]) - c[j])
    return total


@njit(nogil=True, fastmath=_FAST, cache=True)
def _exact_l2_squared(y, c):  # type: ignore[no-untyped-def]
    total = 0.0
    for j in range(y.size):
        difference = np.float64(y[j]) - c[j]
        total += difference * difference
    return total


@njit(nogil=True, fastmath=_FAST, cache=True)
def nearest_l2(products, squared_rows, squared_centroids, Y, C, labels):  # type: ignore[no-untyped-def]
    """Eq. 4 with the Euclidean discrepancy, from the products ``Y @ C.T`` of the same rows.

    Rows whose two best centroids are too close for the products' precision are decided in float64.
    """
    k = C.shape[0]
    largest = squared_centroids.max()
    for i in range(Y.shape[0]):
        best = squared_centroids[0] - 2 * products[i, 0]
        second = np.inf
        label = 0
        for c in range(1, k):
            e = squared_centroids[c] - 2 * products[i, c]
            if e < best:
                second = best
                best = e
                label = c
            elif e < second:
                second = e
        scale = squared_rows[i] + largest
        if second - best <= THIN * scale:
            lowest = np.inf
            for c in range(k):
                if squared_centroids[c] - 2 * products[i, c] <= best + THIN * scale:
                    e = _exact_l2_squared(Y[i], C[c])
                    if e < lowest - TIE * scale:
                        lowest = e
                        label = c
        labels[i] = label


@njit(nogil=True, fastmath=_FAST, cache=True)
def _l1_row(y, C32, out):  # type: ignore[no-untyped-def]
    """Distances of one row to all centroids in float32, four centroids a pass over the row."""
    k, m = C32.shape
    c = 0
    while c + 4 <= k:
        a0 = np.float32(0)
        a1 = np.float32(0)
        a2 = np.float32(0)
        a3 = np.float32(0)
        for j in range(m):
            a0 += abs(y[j] - C32[c, j])
            a1 += abs(y[j] - C32[c + 1, j])
            a2 += abs(y[j] - C32[c + 2, j])
            a3 += abs(y[j] - C32[c + 3, j])
        out[c] = a0
        out[c + 1] = a1
        out[c + 2] = a2
        out[c + 3] = a3
        c += 4
    while c < k:
        a0 = np.float32(0)
        for j in range(m):
            a0 += abs(y[j] - C32[c, j])
        out[c] = a0
        c += 1


@njit(nogil=True, fastmath=_FAST, cache=True)
def nearest_l1(Y, C32, C, labels):  # type: ignore[no-untyped-def]
    """Eq. 4 with the L1 discrepancy; thin margins are decided in float64."""
    k = C.shape[0]
    e = np.empty(k, dtype=np.float32)
    for i in range(Y.shape[0]):
        _l1_row(Y[i], C32, e)
        best = e[0]
        second = np.float32(np.inf)
        label = 0
        for c in range(1, k):
            if e[c] < best:
                second = best
                best = e[c]
                label = c
            elif e[c] < second:
                second = e[c]
        scale = 0.0
        for j in range(Y.shape[1]):
            scale += abs(Y[i, j])
        scale = max(scale, best)
        if second - best <= THIN * scale:
            lowest = np.inf
            for c in range(k):
                if e[c] <= best + THIN * scale:
                    exact = _exact_l1(Y[i], C[c])
                    if exact < lowest - TIE * scale:
                        lowest = exact
                        label = c
        labels[i] = label


@njit(nogil=True, fastmath=_FAST, cache=True)
def accumulate(Y, weights, labels, sums, counts):  # type: ignore[no-untyped-def]
    """Algorithm 2, lines 8 and 9: Z and g of these rows. Returns the weighted sum of squared norms."""
    squares = 0.0
    for i in range(Y.shape[0]):
        w = weights[i]
        c = labels[i]
        counts[c] += w
        total = 0.0
        for j in range(Y.shape[1]):
            value = np.float64(Y[i, j])
            sums[c, j] += w * value
            total += value * value
        squares += w * total
    return squares


@njit(nogil=True, fastmath=_FAST, cache=True)
def to_own_l1(Y, C, labels, out):  # type: ignore[no-untyped-def]
    """L1 distance of each row to the centroid of its label."""
    for i in range(Y.shape[0]):
        out[i] = _exact_l1(Y[i], C[labels[i]])


@njit(nogil=True, fastmath=_FAST, cache=True)
def to_own_l2(Y, C, labels, out):  # type: ignore[no-untyped-def]
    """Euclidean distance of each row to the centroid of its label."""
    for i in range(Y.shape[0]):
        out[i] = np.sqrt(_exact_l2_squared(Y[i], C[labels[i]]))
