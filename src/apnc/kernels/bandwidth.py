"""Choosing gamma from a sample of the data."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from apnc.engines.blas import no_openmp
from apnc.typing import Array

#: Neighbour whose distance is the length scale of ``gamma="local"``.
NEIGHBOUR = 7
#: Squares of features between these, and of differences between two of them, are within the range of float64.
TINY, HUGE = 1e-130, 1e150
#: Length scales by name, narrowest last.
LENGTHS = ("mean", "narrow", "local")


def self_tuned_gammas(kernel: str, rows: Any, weights: Array, lengths: Iterable[str]) -> list[float]:
    """Tune gamma from distinct instances and their weights, once for each of the named length scales.

    ``mean`` is the mean pairwise distance (weighted by both weights), ``local`` the mean distance to the 7th nearest
    neighbour in the sample, ``narrow`` the geometric mean of the two. ``rbf``: 1 / (2 length^2) on Euclidean distances;
    ``laplacian`` and ``chi2``: 1 / length on their own distances. If all rows are
    equal, gamma is 1; if their distances are too small to compute, infinite.
    """
    distances = _distances(kernel, rows)
    np.fill_diagonal(distances, 0.0)
    return [_gamma(kernel, rows, _length(name, distances, weights)) for name in lengths]


def _gamma(kernel: str, rows: Any, length: float) -> float:
    width = 2.0 * length**2 if kernel == "rbf" else length
    if width > 0:
        return 1.0 / width
    return np.inf if kernel != "laplacian" and _distances("laplacian", rows).any() else 1.0


def _length(name: str, distances: Array, weights: Array) -> float:
    if name == "mean":
        return mean_length(distances, weights)
    near = _neighbour_length(distances, weights)
    return near if name == "local" else float(np.sqrt(mean_length(distances, weights) * near))


def mean_length(distances: Array, weights: Array) -> float:
    """The mean distance of two different instances, weighted by both; the diagonal must be zero."""
    # The zero diagonal adds nothing to the sum, so pairs of a row with itself are left out of the count too.
    pairs = weights.sum() ** 2 - (weights**2).sum()
    return float(weights @ distances @ weights / pairs) if pairs > 0 else 0.0


def _neighbour_length(distances: Array, weights: Array) -> float:
    # Rank 0 is the row itself, so that rank 7 is the 7th neighbour.
    rank = min(NEIGHBOUR, len(weights) - 1)
    return float(weights @ np.partition(distances, rank, axis=1)[:, rank] / weights.sum())


def _distances(kernel: str, rows: Any) -> Array:
    from scipy import sparse
    from sklearn.metrics.pairwise import euclidean_distances

    wide = rows.astype(np.float64)
    if kernel == "rbf":
        return euclidean_distances(wide)
    if kernel == "laplacian":
        return manhattan(wide, wide)
    wide = wide.toarray() if sparse.issparse(wide) else wide
    return -additive_chi2(wide, wide)


def manhattan(A: Any, B: Any) -> Array:
    """L1 distances of all pairs, shape (len(A), len(B)); of sparse rows on one thread, so that processes may fork."""
    from sklearn.metrics.pairwise import manhattan_distances

    with no_openmp():
        return manhattan_distances(A, B)


def additive_chi2(A: Array, B: Array) -> Array:
    """Negative chi2 distances of all pairs, shape (len(A), len(B)); features must be non-negative."""
    from sklearn.metrics.pairwise import additive_chi2_kernel

    least = min((float(rows.min()) for rows in (A, B) if rows.size), default=0.0)
    if least < 0:
        raise ValueError(f"kernel='chi2' needs features >= 0, found {least:.3g}.")
    with np.errstate(over="ignore"):
        return additive_chi2_kernel(A, B) if _squares_fit(A) and _squares_fit(B) else _chi2_of_ratios(A, B)


def _squares_fit(rows: Array) -> bool:
    """Whether squares of the features and of their differences are within the range of float64, and sums in theirs."""
    least, most = rows.min(where=rows > 0, initial=np.inf), rows.max(initial=0)
    return bool(least > TINY and most < min(HUGE, np.finfo(rows.dtype).max / 2))


def _chi2_of_ratios(A: Array, B: Array) -> Array:
    """(a - b) (a - b) / (a + b) without squares, row by row; halves, so that no sum is infinite."""
    out, half = np.empty((len(A), len(B)), dtype=A.dtype), B.astype(np.float64) / 2
    for i, row in enumerate(A):
        apart, total = row.astype(np.float64) / 2 - half, row.astype(np.float64) / 2 + half
        ratios = np.divide(apart, total, out=np.zeros_like(total), where=total > 0)
        out[i] = -2 * (apart * ratios).sum(axis=1)
    return out
