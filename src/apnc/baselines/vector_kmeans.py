"""k-means on vectors computed from the rows, from the same starts as the other methods."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from apnc.baselines.kernel_space import Problem, random_start, start_labels
from apnc.clustering.lloyd import assign_all, lloyd
from apnc.clustering.seeding import centroids_of_partition
from apnc.discrepancy import Euclidean
from apnc.engines.contract import Chunks
from apnc.engines.local import Layout, n_threads
from apnc.pipeline.start import EmbedAndLabel, Given
from apnc.sources import InMemory
from apnc.typing import Array


@dataclass(frozen=True)
class VectorRun:
    """Result of Lloyd's iterations from one start.

    Attributes
    ----------
    centroids : array of shape (k, m).
    labels : array of shape (n,), int32, assigned after the last update.
    inertia : weighted sum of squared distances.
    n_iter : number of updates.
    converged : whether the centroids had stopped moving.

    """

    centroids: Array
    labels: Array
    inertia: float
    n_iter: int
    converged: bool


def best_of(Y: Chunks, starts: Iterator[Array], max_iter: int) -> VectorRun:
    """The run of lowest inertia over all starts; the caller caches ``Y`` between passes."""
    return min((run_from(Y, start, max_iter) for start in starts), key=lambda run: run.inertia)


def run_from(Y: Chunks, start: Array, max_iter: int) -> VectorRun:
    """Algorithm 2 with the L2 distance, until no centroid moves."""
    found = lloyd(Y, start, Euclidean(), max_iter, 0.0)
    last = assign_all(Y, found.centroids, Euclidean())
    return VectorRun(found.centroids, last.labels, last.sums.inertia, found.n_iter, found.converged)


def starts_of(problem: Problem, Y: Chunks, at: Callable[[Array], Array]) -> Iterator[Array]:
    """First centroids of every start, shape (k, m).

    ``at`` returns the vectors of rows by their numbers among those with positive weight; ``Y`` has those of all rows.
    """
    for restart in range(problem.settings.n_init):
        if not problem.settings.needs_all_rows:
            yield at(random_start(problem, restart)).astype(np.float64)
        else:
            labelled = Y.map(EmbedAndLabel([], Given(start_labels(problem, restart))))
            yield centroids_of_partition(labelled, problem.settings.n_clusters)


def cluster_array(problem: Problem, Y: Array) -> VectorRun:
    """k-means on the vectors of all rows, in memory."""
    chunks = InMemory(Y).data(Layout(4 * Y.shape[1], n_threads(None))).chunks
    with chunks.cached() as kept:
        return best_of(kept, starts_of(problem, kept, Y.__getitem__), problem.settings.max_iter)
