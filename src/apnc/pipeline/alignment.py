"""``gamma="auto"``: how well a kernel agrees with the clusters found with it, on a sample.

The measurements are in docs/decisions/24-gamma-auto.md.
"""

from collections.abc import Callable

import numpy as np

from apnc.clustering.lloyd import OnPass, assign_all
from apnc.clustering.seeding import most_passes, seed_centroids
from apnc.discrepancy import Discrepancy
from apnc.engines.contract import Chunks, SingleChunk
from apnc.typing import Array

#: How the sample is clustered: first centroids; number of starts, at least and at most; and their centroids in all. Two
#: rings need ten starts, and many clusters few: then none of them matters much.
INIT, LEAST_STARTS, MOST_STARTS, CENTROIDS = "k-means++", 2, 10, 100
#: Rows that are clustered, at least and for each cluster.
LEAST_ROWS, ROWS_EACH = 2048, 8
#: A smaller variance, of kernel values up to 1 or of co-membership, is rounding.
NO_VARIANCE = 1e-14


def sample_labels(
    Y: Array,
    weights: Array,
    k: int,
    discrepancy: Discrepancy,
    seed: int,
    spread: Callable[[Array, Array], Chunks] = SingleChunk.of,
    on_pass: OnPass | None = None,
) -> Array:
    """Clusters of an embedded sample by k-means, the best of a few starts; shape (n,)."""
    centroids = seed_centroids(Y, weights, k, discrepancy, INIT, n_starts(k), seed, spread, on_pass)
    return assign_all(SingleChunk.of(Y, weights), centroids, discrepancy).labels


def n_starts(k: int) -> int:
    """Number of starts for k clusters."""
    return max(LEAST_STARTS, min(MOST_STARTS, CENTROIDS // k))


def enough_rows(k: int) -> int:
    """Number of rows of the sample to cluster, if there are as many."""
    return max(LEAST_ROWS, ROWS_EACH * k)


def label_passes(k: int) -> int:
    """Maximum number of passes over these rows."""
    return most_passes(k, INIT, n_starts(k))


def alignment(Y: Array, labels: Array, weights: Array) -> float:
    """How well kernel and clusters agree: the mean correlation of co-membership with the kernel, plain and centred.

    Parameters
    ----------
    Y : array of shape (n, m), whose inner products approximate the kernel.
    labels : array of shape (n,), the cluster of each row.
    weights : array of shape (n,).

    """
    Y, shares = Y.astype(np.float64), weights / weights.sum()
    plain, centred = (correlation(rows, labels, shares) for rows in (Y, Y - shares @ Y))
    return (plain + centred) / 2


def correlation(Y: Array, labels: Array, shares: Array) -> float:
    """Correlation of y_i . y_j with "i and j have the same label" over all pairs i != j; 0 if either is constant.

    A pair counts by the product of its shares. No pairs are formed: sums over pairs follow from those over rows.
    """
    sums, sizes = np.zeros((labels.max() + 1, Y.shape[1])), np.bincount(labels, shares)
    np.add.at(sums, labels, shares[:, None] * Y)
    norms, own = np.einsum("ij,ij->i", Y, Y), shares**2
    pairs = 1.0 - own.sum()
    if len(Y) < 2:
        return 0.0
    # Sums over all pairs, less those of each row with itself.
    value = ((sums.sum(axis=0) ** 2).sum() - own @ norms) / pairs
    square = (((shares[:, None] * Y).T @ Y) ** 2).sum() - own @ norms**2
    together = ((sizes**2).sum() - own.sum()) / pairs
    both = ((sums**2).sum() - own @ norms) / pairs
    variances = square / pairs - value**2, together - together**2
    if min(variances) < NO_VARIANCE:
        return 0.0
    return float((both - value * together) / np.sqrt(np.prod(variances)))
