"""Hashes of rows and sampling keys."""

import numpy as np

from apnc.loops.compiled import compiled

# The finaliser and the increment of SplitMix64.
_MULTIPLIER_1 = np.uint64(0xBF58476D1CE4E5B9)
_MULTIPLIER_2 = np.uint64(0x94D049BB133111EB)
_GOLDEN = np.uint64(0x9E3779B97F4A7C15)


@compiled(inline="always")
def _mix(z):  # type: ignore[no-untyped-def]
    z = (z ^ (z >> np.uint64(30))) * _MULTIPLIER_1
    z = (z ^ (z >> np.uint64(27))) * _MULTIPLIER_2
    return z ^ (z >> np.uint64(31))


@compiled()
def mix_keys(hashes, seed):  # type: ignore[no-untyped-def]
    """Key of each content hash under ``seed`` (a bijection, so distinct hashes stay distinct)."""
    keys = np.empty_like(hashes)
    for i in range(hashes.size):
        keys[i] = _mix(hashes[i] ^ _mix(seed + _GOLDEN))
    return keys


@compiled()
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
            # Shifting out the sign bit makes -0.0 and 0.0 alike.
            if bits[i, j] << np.uint64(1) != np.uint64(0):
                total += _mix(bits[i, j] ^ salts[j])
        hashes[i] = total
    return hashes


@compiled()
def hash_sparse(bits, columns, indptr):  # type: ignore[no-untyped-def]
    """The same hash for CSR rows, whatever the order of columns; explicit zeros are skipped."""
    n = indptr.size - 1
    hashes = np.zeros(n, dtype=np.uint64)
    for i in range(n):
        total = np.uint64(0)
        for p in range(indptr[i], indptr[i + 1]):
            if bits[p] << np.uint64(1) != np.uint64(0):
                total += _mix(bits[p] ^ _mix(np.uint64(columns[p] + 1) * _GOLDEN))
        hashes[i] = total
    return hashes
