"""First centroids, from a sample of embedded rows or from a start partition."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from apnc.clustering.lloyd import SumByNearest, lloyd
from apnc.discrepancy import Discrepancy, PartialSums
from apnc.engines.contract import Chunk, Chunks, SingleChunk

Array = npt.NDArray[Any]

#: Iterations of each restart on the sample; the full run refines the best.
SAMPLE_ITERATIONS = 30


def seed_centroids(
    Y: Array,
    weights: Array,
    k: int,
    discrepancy: Discrepancy,
    init: str,
    n_init: int,
    seed: int,
) -> Array:
    """The best of ``n_init`` starts on a sample of embedded rows, shape (k, m).

    One start is used as it is; several are each refined by Lloyd's iterations on the sample and
    compared by the weighted sum of squared discrepancies.
    """
    choose = greedy_k_means_plus_plus if init == "k-means++" else random_rows
    starts = (
        choose(Y, weights, k, discrepancy, np.random.default_rng([seed, restart]))
        for restart in range(n_init)
    )
    if n_init == 1:
        return next(starts)
    sample = SingleChunk.of(Y, weights)
    best, lowest = None, np.inf
    for start in starts:
        centroids = lloyd(sample, start, discrepancy, SAMPLE_ITERATIONS, 1e-4).centroids
        inertia = SumByNearest(discrepancy.against(centroids))(sample.chunk).inertia
        if best is None or inertia < lowest:
            best, lowest = centroids, inertia
    assert best is not None
    return best


def random_rows(
    Y: Array, weights: Array, k: int, discrepancy: Discrepancy, rng: np.random.Generator
) -> Array:
    """Distinct instances of the sample, k of them drawn by weight; too few are filled up with the first."""
    size = min(k, len(Y))
    chosen = rng.choice(len(Y), size=size, replace=False, p=weights / weights.sum())
    return _filled(Y[chosen].astype(np.float64), k)


def greedy_k_means_plus_plus(
    Y: Array, weights: Array, k: int, discrepancy: Discrepancy, rng: np.random.Generator
) -> Array:
    """Greedy k-means++: each centroid is the best of a few rows drawn with probability w e^2."""
    n_candidates = 2 + int(np.log(k))
    first = rng.choice(len(Y), p=weights / weights.sum())
    chosen = [first]
    nearest = discrepancy.distances(Y, Y[[first]])[:, 0] ** 2
    while len(chosen) < k:
        mass = np.cumsum(weights * nearest)
        if mass[-1] <= 0:
            break
        draws = np.searchsorted(mass, rng.random(n_candidates) * mass[-1], side="right")
        candidates = np.minimum(draws, len(Y) - 1)
        reached = np.minimum(discrepancy.distances(Y, Y[candidates]).T ** 2, nearest)
        best = int((reached @ weights).argmin())
        chosen.append(candidates[best])
        nearest = reached[best]
    return _filled(Y[chosen].astype(np.float64), k)


def _filled(centroids: Array, k: int) -> Array:
    """Surplus clusters sit on the first centroid, where a tie never gives them a row."""
    return np.concatenate([centroids, np.repeat(centroids[:1], k - len(centroids), axis=0)])


@dataclass(frozen=True)
class SumByLabel:
    """Partial sums of a chunk's embedded rows by given labels."""

    n_clusters: int

    def __call__(self, chunk: Chunk) -> PartialSums:
        from apnc.loops import accumulate

        Y, labels = chunk.rows
        sums, counts = np.zeros((self.n_clusters, Y.shape[1])), np.zeros(self.n_clusters)
        accumulate(Y, chunk.weights, labels, sums, counts)
        return PartialSums(sums, counts, 0.0, 0.0)


def centroids_of_partition(labelled: Chunks, k: int) -> Array:
    """Means of a start partition, of chunks whose rows are (Y, labels); empty ones get the mean of all."""
    partial = labelled.reduce(SumByLabel(k), PartialSums.__add__)
    overall = partial.sums.sum(axis=0) / partial.counts.sum()
    return np.where(
        partial.counts[:, None] > 0, partial.sums / np.maximum(partial.counts, 1e-300)[:, None], overall
    )
