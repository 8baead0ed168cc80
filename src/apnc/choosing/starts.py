"""k-means on a sample for every number of clusters at once: one seeding for all of them, and shared passes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from apnc.clustering.lloyd import OnPass, SumStacked, add_stacked, refine_stacked
from apnc.clustering.seeding import SAMPLE_ITERATIONS, greedy_k_means_plus_plus
from apnc.discrepancy import Discrepancy
from apnc.discrepancy.nearest import PartialSums
from apnc.engines.contract import Chunks, SingleChunk
from apnc.typing import Array

#: Convergence on a sample, as for the starts of a fit.
TOL = 1e-4


@dataclass(frozen=True)
class Clustering:
    """How samples are clustered.

    Attributes
    ----------
    discrepancy : e.
    n_init : starts for each number of clusters.
    spread : how a sample is distributed over the cores.
    on_pass : called after each pass over a sample.

    """

    discrepancy: Discrepancy
    n_init: int
    spread: Callable[[Array, Array], Chunks] = SingleChunk.of
    on_pass: OnPass | None = None

    def centroids(self, Y: Array, weights: Array, ks: Sequence[int], seed: int) -> dict[int, Array]:
        """The best centroids for each k, shape (k, m).

        The first k rows that k-means++ chooses are a start with k clusters, so one seeding serves every k. A last start
        for each k merges the clusters of the largest k: where there are groups, those cover all of them.
        """
        rngs = [np.random.default_rng([seed, start]) for start in range(self.n_init)]
        chosen = greedy_k_means_plus_plus(Y, weights, max(ks), self.discrepancy, rngs, self.on_pass)
        found = self._refined(Y, weights, [start[:k] for k in ks for start in chosen])
        sums, most = best(found, max(ks))
        merged = merging(most, sums.counts)
        found += self._refined(Y, weights, [merged[k] for k in ks if k in merged])
        return {k: best(found, k)[1] for k in ks}

    def _refined(self, Y: Array, weights: Array, starts: list[Array]) -> list[tuple[PartialSums, Array]]:
        """All starts after Lloyd's iterations in shared passes, with their last sums."""
        if not starts:
            return []
        with self.spread(Y, weights).cached() as rows:
            refined = refine_stacked(rows, starts, self.discrepancy, SAMPLE_ITERATIONS, TOL, self.on_pass)
            nearest = {i: self.discrepancy.against(centroids) for i, centroids in enumerate(refined)}
            last = rows.reduce(SumStacked(nearest), add_stacked)
        return [(last[i], centroids) for i, centroids in enumerate(refined)]


def best(found: list[tuple[PartialSums, Array]], k: int) -> tuple[PartialSums, Array]:
    """The centroids of lowest inertia among those with k clusters, and their sums."""
    return min((pair for pair in found if len(pair[1]) == k), key=lambda pair: pair[0].inertia)


def merging(centroids: Array, counts: Array) -> dict[int, Array]:
    """Ward's merging of clusters: the centroids of each smaller number of clusters."""
    places, sizes, merged = centroids.copy(), np.maximum(counts, 1e-300), {}
    while len(places) > 2:
        squared = ((places[:, None] - places[None]) ** 2).sum(axis=2)
        costs = squared * np.outer(sizes, sizes) / np.add.outer(sizes, sizes)
        np.fill_diagonal(costs, np.inf)
        i, j = sorted(np.unravel_index(costs.argmin(), costs.shape))
        places[i] = (sizes[i] * places[i] + sizes[j] * places[j]) / (sizes[i] + sizes[j])
        sizes[i] += sizes[j]
        places, sizes = np.delete(places, j, axis=0), np.delete(sizes, j)
        merged[len(places)] = places.copy()
    return merged
