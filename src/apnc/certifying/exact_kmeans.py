"""Numbers for an embedding that approximates a kernel: how far kernel k-means is from its exact form."""

from dataclasses import dataclass

import numpy as np

from apnc.certifying.continuing import Points, Sampled, Similar, Vectors, continued, objective
from apnc.certifying.partitions import share_changed
from apnc.clustering.lloyd import assign_all, lloyd
from apnc.clustering.seeding import centroids_of_partition
from apnc.discrepancy import Discrepancy
from apnc.engines.contract import SingleChunk
from apnc.kernels import Kernel
from apnc.typing import Array

#: Disjoint parts of the sample, whose differences tell how uncertain an estimate is.
PARTS = 4
#: Half the width of an interval: a constant, a share of the estimate, and multiples of the standard error of the parts
#: (found on other cases than those reported in docs/decisions/23-certificate.md).
GAP_HALF_WIDTH = (0.1, 0.15, 2.5)
CHANGED_HALF_WIDTH = (0.005, 0.2, 2.5)
#: Differences between k(a, b) and k(b, a) up to this share of the largest value are rounding errors.
ASYMMETRY = 1e-4
#: Rows of the kernel matrix that are made symmetric at once.
AT_ONCE = 512


@dataclass(frozen=True)
class Improvement:
    """What exact kernel k-means would improve on a sample.

    Attributes
    ----------
    gap : in percent of what clustering explains.
    changed : share of labels that change.
    before, after : the labels.

    """

    gap: float
    changed: float
    before: Array
    after: Array


def exact_kernel(kernel: Kernel, rows: object) -> Array:
    """The kernel matrix of a sample, float64, symmetric."""
    K = kernel(rows, rows)
    largest = max(K.max(), -K.min())
    if not np.isfinite(largest):
        raise ValueError("The kernel is infinite for some rows of the sample. Look for outliers.")
    for start in range(0, len(K), AT_ONCE):
        rows, columns = K[start : start + AT_ONCE, start:], K[start:, start : start + AT_ONCE].T
        if np.abs(rows - columns).max() > ASYMMETRY * largest:
            raise ValueError(
                "The kernel is not symmetric on a sample of X. A precomputed kernel is certified with the matrix that "
                "was fitted, kernel values of all instances with all instances, in the same order."
            )
        rows[:] = (rows + columns) / 2
        columns[:] = rows
    return K


def improvement(exact: Points, Y: Array, labels: Array, sampled: Sampled, e: Discrepancy) -> Improvement:
    """Compare Lloyd's iterations on Y with exact kernel k-means, both on the sample.

    Both start from the labels, the second where the first ends: what the first changes is due to the sample alone.
    """
    before = settled(Y, labels, sampled, e)
    after = continued(exact, before, sampled)
    reached, left = objective(exact, after, sampled), objective(exact, before, sampled)
    alone = objective(exact, np.zeros_like(labels), Sampled(sampled.weights, 1, sampled.share))
    gap = 100 * (left - reached) / (alone - reached) if alone > reached else 0.0
    return Improvement(gap, share_changed(before, after, sampled.weights), before, after)


def settled(Y: Array, labels: Array, sampled: Sampled, e: Discrepancy) -> Array:
    """Labels after Lloyd's iterations on Y from a partition."""
    if e.of_products:
        return continued(Vectors(Y), labels, sampled)
    Y = Y.astype(np.float32)
    chunks = SingleChunk.of(Y, sampled.weights)
    start = centroids_of_partition(SingleChunk.of((Y, labels), sampled.weights), sampled.n_clusters)
    found = lloyd(chunks, start, e, 100, 1e-4)
    return assign_all(chunks, found.centroids, e).labels.astype(labels.dtype)


def in_parts(exact: Points, Y: Array, labels: Array, sampled: Sampled, e: Discrepancy) -> list[Improvement]:
    """The same for disjoint parts of the sample; its rows are in random order."""
    every = (np.arange(part, len(labels), PARTS) for part in range(PARTS))
    return [improvement(exact.part(i), Y[i], labels[i], sampled.part(i), e) for i in every]


def interval(
    found: float, parts: list[float], share: float, half_width: tuple[float, float, float]
) -> tuple[float, float]:
    """An interval around an estimate that is at least 0; without width if the sample is all there is."""
    constant, relative, errors = half_width
    error = float(np.std(parts, ddof=1)) / np.sqrt(len(parts))
    half = float(np.sqrt(1 - share) * (constant + relative * found + errors * error))
    return max(0.0, found - half), found + half


def exact_points(kernel: Kernel, rows: object) -> Points:
    """The rows as points of the kernel's space."""
    return Similar(exact_kernel(kernel, rows))
