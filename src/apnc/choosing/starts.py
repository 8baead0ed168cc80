"""k-means on a sample for every number of clusters at once: one seeding for all of them, and shared passes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from apnc.clustering.groups import means_of_groups
from apnc.clustering.lloyd import OnPass, SumStacked, add_stacked, refine_stacked
from apnc.clustering.seeding import SAMPLE_ITERATIONS, greedy_k_means_plus_plus
from apnc.describing.merging import Tree, positive, ward
from apnc.discrepancy import Discrepancy, Euclidean
from apnc.engines.contract import Chunks, SingleChunk
from apnc.run.costs import start_bytes
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
    room : bytes for starts that share passes; their results do not depend on it.
    threads : number of workers.

    """

    discrepancy: Discrepancy
    n_init: int
    spread: Callable[[Array, Array], Chunks] = SingleChunk.of
    on_pass: OnPass | None = None
    room: float = np.inf
    threads: int = 1

    def centroids(self, Y: Array, weights: Array, ks: Sequence[int], seed: int) -> dict[int, Array]:
        """The best centroids for each k, shape (k, m).

        The first k rows that k-means++ chooses are a start with k clusters, so one seeding serves every k. A last start
        for each k merges the clusters of the largest k: where there are groups, those cover all of them.
        """
        rngs = [np.random.default_rng([seed, start]) for start in range(self.n_init)]
        chosen = greedy_k_means_plus_plus(Y, weights, max(ks), self.discrepancy, rngs, self.on_pass)
        found: dict[int, Refined] = {}
        self._refine(Y, weights, [start[:k] for k in ks for start in chosen], found)
        most = found[max(ks)]
        merged = merging(most.centroids, most.counts, ks)
        self._refine(Y, weights, list(merged.values()), found)
        return {k: found[k].centroids for k in ks}

    def _refine(self, Y: Array, weights: Array, starts: list[Array], found: dict[int, "Refined"]) -> None:
        """Lloyd's iterations from all starts; ``found`` keeps the best of each number of clusters."""
        for together in self.groups(starts, *Y.shape):
            # Opened anew, because chunks remember what they know about each of the starts.
            with self.spread(Y, weights).cached() as rows:
                refined = refine_stacked(
                    rows, together, self.discrepancy, SAMPLE_ITERATIONS, TOL, self.on_pass
                )
                nearest = {i: self.discrepancy.against(centroids) for i, centroids in enumerate(refined)}
                last = rows.reduce(SumStacked(nearest), add_stacked)
            for i, centroids in enumerate(refined):
                one, k = Refined(centroids, last[i].counts, last[i].inertia), len(centroids)
                if k not in found or one.inertia < found[k].inertia:
                    found[k] = one

    def groups(self, starts: list[Array], n_rows: int, n_components: int) -> Iterator[list[Array]]:
        """Starts that share passes: as many as there is room for, at least one."""
        together: list[Array] = []
        used = 0.0
        for start in starts:
            size = start_bytes(len(start), n_components, n_rows, self.threads)
            if together and used + size > self.room:
                yield together
                together, used = [], 0.0
            together, used = [*together, start], used + size
        if together:
            yield together


@dataclass(frozen=True)
class Refined:
    """Centroids after Lloyd's iterations, the weights of their clusters, and the inertia."""

    centroids: Array
    counts: Array
    inertia: float


def merging(centroids: Array, counts: Array, ks: Sequence[int]) -> dict[int, Array]:
    """Ward's merging of clusters: the centroids of each smaller number of clusters, from 2 on."""
    squares = Euclidean().distances(centroids, centroids) ** 2
    sizes = positive(counts)
    tree = Tree(ward(squares, counts), sizes)
    return {k: means_of_groups(centroids, sizes, tree.groups(k)) for k in ks if 2 <= k < len(centroids)}
