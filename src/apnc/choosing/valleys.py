"""Separation of clusters: how few rows lie between two centres, compared with those at the centres."""

import numpy as np

from apnc.typing import Array

#: Half the width of the middle and of the ends, as a share of the distance between the centres.
WIDTH = 0.1
#: A line between two centres shows whether there is a gap only if it tells their rows apart: at least this share.
TELLS_APART = 0.9
#: Deeper is not told apart: no gap.
MOST = 2.0


def worst_valley(
    Y: Array,
    weights: Array,
    labels: Array,
    centroids: Array,
    rows: Array | None = None,
    means: Array | None = None,
) -> float:
    """The valley of the worst pair of clusters; between 0 and ``MOST``.

    A kernel bends lines: rows spread evenly along a bar are crowded at the ends of its image. So where the rows
    themselves are vectors, a gap must also be visible between the clusters' means, if the line between those means
    tells the clusters apart. (It does not for rings, which only the kernel separates.)
    """
    depths, _ = valleys(Y, weights, labels, centroids)
    if rows is not None and means is not None:
        visible, apart = valleys(rows, weights, labels, means)
        depths = np.where(apart >= TELLS_APART, np.fmax(depths, visible), depths)
    return float(min(np.nanmax(depths), MOST)) if np.isfinite(depths).any() else 1.0


def means_of(rows: Array, weights: Array, labels: Array, k: int) -> Array:
    """Weighted means of clusters; those of empty ones are 0."""
    sums = np.zeros((k, rows.shape[1]))
    np.add.at(sums, labels, weights[:, None] * rows)
    return sums / np.maximum(np.bincount(labels, weights, k), 1e-300)[:, None]


def valleys(rows: Array, weights: Array, labels: Array, centres: Array) -> tuple[Array, Array]:
    """For each pair of clusters the valley between them, and the share of rows on their own side, shape (k, k).

    The rows of both clusters are projected onto the line between their centres. NaN for pairs of which one is empty.
    """
    k, middle = len(centres), centres.mean(axis=0)
    # Relative to the middle, so that rows far from 0 keep their digits.
    rows, centres = rows - middle, centres - middle
    products, gram = rows @ centres.T, centres @ centres.T
    depths, apart = np.full((k, k), np.nan), np.full((k, k), np.nan)
    members = [np.flatnonzero(labels == i) for i in range(k)]
    for i, j in zip(*np.triu_indices(k, 1), strict=True):
        squared = gram[i, i] + gram[j, j] - 2 * gram[i, j]
        if squared <= 0 or not len(members[i]) or not len(members[j]):
            continue
        both = np.concatenate([members[i], members[j]])
        t = (products[both, j] - products[both, i] - (gram[j, j] - gram[i, i]) / 2) / squared
        depths[i, j] = depths[j, i] = valley(t, weights[both])
        n = len(members[i])
        apart[i, j] = apart[j, i] = min((t[:n] < 0).mean(), (t[n:] > 0).mean())
    return depths, apart


def valley(t: Array, weights: Array) -> float:
    """The weight around 0 over the smaller of the weights around -1/2 and 1/2: 0 for a gap, 1 or more for none."""
    middle, left, right = (float(weights[np.abs(t - at) < WIDTH].sum()) for at in (0.0, -0.5, 0.5))
    least = min(left, right)
    if least > 0:
        return middle / least
    return MOST if middle > 0 or left == right else 0.0
