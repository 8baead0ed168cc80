"""Bit signatures of rows, and the buckets they define (Gao, Abd-Almageed and Hefeeda 2012)."""

from typing import Any

import numpy as np
from scipy import sparse

from apnc.rows import n_columns, n_rows
from apnc.typing import Array

#: Bins of the histogram, at whose emptiest bin a dimension is split.
BINS = 20


def signatures(rows: Any, n_bits: int | str, rng: np.random.Generator) -> Array:
    """Bits of every row, shape (n, M), boolean; fewer than requested if fewer dimensions vary."""
    n, d = n_rows(rows), n_columns(rows)
    wanted = max(1, int(np.ceil(np.log2(max(n, 2)) / 2)) - 1) if n_bits == "auto" else int(n_bits)
    spans = _dense(rows.max(axis=0)).astype(np.float64).ravel() - _dense(rows.min(axis=0)).ravel()
    varying = int((spans > 0).sum())
    if varying == 0:
        return np.zeros((n, 1), dtype=bool)
    chosen = rng.choice(d, size=min(wanted, varying), replace=False, p=spans / spans.sum())
    columns = _dense(rows[:, chosen])
    return np.column_stack([column > threshold(column) for column in columns.T])


def _dense(values: Any) -> Array:
    return np.asarray(values.toarray() if sparse.issparse(values) else values)


def threshold(values: Array) -> float:
    """The lower edge of the emptiest bin of a histogram."""
    counts, edges = np.histogram(values, bins=BINS)
    return float(edges[counts.argmin()])


def buckets_of(bits: Array) -> tuple[Array, Array]:
    """Bucket of every row, shape (n,), and the signature of each bucket; signatures one bit apart may share one."""
    distinct, which, counts = np.unique(bits, axis=0, return_inverse=True, return_counts=True)
    bucket = np.full(len(distinct), -1)
    leaders: list[int] = []
    for signature in np.argsort(-counts, kind="stable"):
        if bucket[signature] < 0:
            near = (distinct != distinct[signature]).sum(axis=1) <= 1
            bucket[near & (bucket < 0)] = len(leaders)
            leaders.append(int(signature))
    return bucket[which.ravel()], distinct[leaders]


def at_most(most: int, buckets: Array, leaders: Array) -> Array:
    """Merge the smallest bucket into that of the nearest signature until ``most`` are left; numbered from 0."""
    sizes = np.bincount(buckets, minlength=len(leaders)).astype(np.float64)
    target = np.arange(len(leaders))
    for _ in range(len(leaders) - most):
        smallest = int(np.where(sizes > 0, sizes, np.inf).argmin())
        apart = (leaders != leaders[smallest]).sum(axis=1).astype(np.float64)
        apart[(sizes == 0) | (np.arange(len(leaders)) == smallest)] = np.inf
        joined = int(apart.argmin())
        target[target == smallest] = joined
        sizes[joined] += sizes[smallest]
        sizes[smallest] = 0
    return np.asarray(np.unique(target[buckets], return_inverse=True)[1])


def shares(sizes: Array, k: int) -> list[int]:
    """Number of clusters in each bucket: k in total, by size, at least one each and never more than its rows."""
    given = np.ones(len(sizes), dtype=int)
    for _ in range(k - len(sizes)):
        wanting = np.where(given < sizes, sizes / given, -np.inf)
        given[wanting.argmax()] += 1
    return [int(number) for number in given]
