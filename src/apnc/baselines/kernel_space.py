"""Lloyd's iterations in the kernel's space (Eq. 1 and 2): centroids are combinations of instances."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from apnc.clustering.seeding import random_rows
from apnc.discrepancy import Euclidean
from apnc.engines.contract import Chunk, Chunks, Data
from apnc.engines.local import Layout, n_threads
from apnc.kernels import Kernel, KernelRows
from apnc.pipeline.samples import samples_of
from apnc.pipeline.start import PartitionByKey
from apnc.pipeline.state import Drawn
from apnc.rows import numbers_held, take
from apnc.sampling import keys_of
from apnc.settings import Settings, derive
from apnc.sources import InMemory
from apnc.typing import Array


@dataclass(frozen=True)
class Problem:
    """A prepared fit.

    Attributes
    ----------
    data, drawn : all rows, and the samples that ``KernelKMeans`` would draw from them.
    kernel : with every parameter resolved.
    exists : array of shape (n,), which rows have positive weight.
    rows, weights : those rows, and their weights.
    settings : the user's settings for sampling and clustering.

    """

    data: Data
    drawn: Drawn
    kernel: Kernel
    exists: Array
    rows: Any
    weights: Array
    settings: Settings


def pose(rows: Any, weights: Array, settings: Settings) -> Problem:
    """Draw the samples and tune the kernel on them, as ``KernelKMeans`` does."""
    data = InMemory(rows, weights).data(Layout(8 * numbers_held(rows), n_threads(None)))
    drawn = samples_of(data, settings.sample_sizes(), settings.seed)
    tuning = drawn.samples.get("bandwidth", drawn.samples["landmarks"])
    kernel = settings.kernel.resolve(tuning.rows, tuning.weights, data.n_columns)
    exists = weights > 0
    existing = rows if exists.all() else take(rows, np.flatnonzero(exists))
    return Problem(data, drawn, kernel, exists, existing, weights[exists], settings)


def start(problem: Problem, restart: int) -> Array:
    """First centroids as memberships of the rows, shape (n, k); empty clusters get the overall mean."""
    weights = problem.weights
    if not problem.settings.needs_all_rows:
        return one_hot(random_start(problem, restart), len(weights))
    labels = start_labels(problem, restart)[problem.exists]
    memberships = mean_memberships(labels, weights, problem.settings.n_clusters)
    memberships[:, ~memberships.any(axis=0)] = (weights / weights.sum())[:, None]
    return memberships


def random_start(problem: Problem, restart: int) -> Array:
    """Row numbers of the k instances that ``KernelKMeans(init="random", n_init=1)`` starts from."""
    settings, sample = problem.settings, problem.drawn.samples["seeding"]
    rng = np.random.default_rng([derive(settings.seed, "seeds"), restart])
    positions = np.arange(len(sample))[:, None]
    chosen = random_rows(positions, sample.weights, settings.n_clusters, Euclidean(), [rng])[0][:, 0]
    wanted = problem.drawn.census.sketches["seeding"].keys[chosen.astype(np.intp)]
    seed = derive(settings.seed, "seeding")
    keys = np.concatenate([keys_of(problem.drawn.hashes(chunk), seed) for chunk in problem.data.chunks])
    distinct, first = np.unique(keys[problem.exists], return_index=True)
    return first[np.searchsorted(distinct, wanted)]


def start_labels(problem: Problem, restart: int) -> Array:
    """Start labels of all rows, given or drawn."""
    init = problem.settings.init
    return random_partition(problem, restart) if isinstance(init, str) else init


def random_partition(problem: Problem, restart: int) -> Array:
    """Start labels of all rows; the first are those of ``KernelKMeans(init="random-partition")``."""
    settings = problem.settings
    seed = derive(settings.seed, f"partition/{restart}" if restart else "partition")
    label = PartitionByKey(problem.drawn.hashes, seed, settings.n_clusters)
    return np.concatenate([label(chunk) for chunk in problem.data.chunks])


@dataclass(frozen=True)
class KernelPart:
    """Map: from a chunk's rows to their rows of the kernel matrix, float64."""

    against: KernelRows

    def __call__(self, chunk: Chunk) -> Chunk:
        K = self.against(chunk.rows)
        K *= self.against.factor
        if not np.isfinite(largest_entries(K)).all():
            raise ValueError(
                "The kernel overflows float64. Scale the features (for example to [0, 1]), lower degree or "
                "gamma, or set normalize_kernel=True."
            )
        return chunk.with_rows(K)


def kernel_matrix(chunks: Chunks, kernel: Kernel, columns: Any) -> Chunks:
    """K(rows, columns), chunk by chunk."""
    return chunks.map(KernelPart(kernel.against(columns, np.float64)))


@dataclass(frozen=True)
class Centroids:
    """Centroids as combinations of p instances: phi-bar(c) = sum_j coefficients[j, c] phi(j).

    Attributes
    ----------
    coefficients : array of shape (p, k).
    squares : array of shape (k,), the squared norms.

    """

    coefficients: Array
    squares: Array

    def scores(self, products: Array) -> Array:
        """Eq. 2 without K_ii, from the inner products of rows and centroids, shape (n, k)."""
        return self.squares - 2 * products

    def slack(self, largest: Array) -> Array:
        """The difference up to which scores of a row are a tie, given its largest kernel value, shape (n,)."""
        return rounding(largest + np.abs(self.squares).max())

    def __call__(self, chunk: Chunk) -> Chunk:
        """Map: from kernel rows of a chunk to labels."""
        scores = self.scores(chunk.rows @ self.coefficients)
        return chunk.with_rows(nearest(scores, self.slack(largest_entries(chunk.rows))))


def nearest(scores: Array, slack: Array) -> Array:
    """Eq. 1: the nearest centroid of each row, int32; ties go to the lowest number."""
    return (scores <= (scores.min(axis=1) + slack)[:, None]).argmax(axis=1).astype(np.int32)


def largest_entries(K: Array) -> Array:
    """Largest absolute value of each row."""
    return np.maximum(K.max(axis=1), -K.min(axis=1))


def rounding(magnitude: Array) -> Array:
    """The rounding error of numbers of this magnitude."""
    from apnc.loops.nearest import TIE

    return TIE * magnitude


class Space(ABC):
    """The rows of a fit as points, from which centroids are formed.

    Attributes
    ----------
    columns : the p instances that centroids are combinations of.
    own : array of shape (n,), the squared norm of each row.
    largest : array of shape (n,), the largest absolute kernel value of each row.

    """

    columns: Any
    own: Array
    largest: Array

    @abstractmethod
    def centroids(self, memberships: Array) -> tuple[Centroids, Array]:
        """Centroids of ``memberships``, shape (n, k), and the rows' inner products with them, (n, k)."""

    @abstractmethod
    def same_as(self, row: int) -> Array:
        """Which rows are the same point as ``row``: booleans, shape (n,)."""


@dataclass(frozen=True)
class Assignment:
    """Every row's nearest centroid.

    Attributes
    ----------
    centroids : the k centroids.
    labels : array of shape (n,), int32.
    distances : array of shape (n,), squared distances to the assigned centroid.
    slack : array of shape (n,), rounding errors of the distances.

    """

    centroids: Centroids
    labels: Array
    distances: Array
    slack: Array


@dataclass(frozen=True)
class Run:
    """Result of the iterations from one start."""

    last: Assignment
    inertia: float
    n_iter: int
    converged: bool


def best_run(space: Space, problem: Problem) -> Run:
    """The run of lowest inertia over ``n_init`` starts."""
    settings = problem.settings
    runs = (
        kernel_lloyd(space, problem.weights, start(problem, restart), settings.max_iter)
        for restart in range(settings.n_init)
    )
    return min(runs, key=lambda run: run.inertia)


def kernel_lloyd(space: Space, weights: Array, memberships: Array, max_iter: int) -> Run:
    """Lloyd's iterations with the distances of Eq. 2.

    Rows are assigned and centroids updated up to ``max_iter`` times, followed by a last assignment. Stops when no
    row changes its cluster.

    Parameters
    ----------
    space : the n rows.
    weights : array of shape (n,), positive.
    memberships : array of shape (n, k), the first centroids as combinations of rows.
    max_iter : int

    """
    found = assign(space, memberships)
    converged, n_iter = False, 0
    while not converged and n_iter < max_iter:
        updated = update(space, weights, found, memberships)
        converged, n_iter = np.array_equal(updated, memberships), n_iter + 1
        if not converged:
            memberships, found = updated, assign(space, updated)
    return Run(found, float(weights @ found.distances), n_iter, converged)


def assign(space: Space, memberships: Array) -> Assignment:
    """Eq. 1 and 2: nearest centroids, and squared distances to them."""
    centroids, products = space.centroids(memberships)
    scores, slack = centroids.scores(products), centroids.slack(space.largest)
    labels = nearest(scores, slack)
    return Assignment(centroids, labels, space.own + scores[np.arange(len(labels)), labels], slack)


def update(space: Space, weights: Array, found: Assignment, memberships: Array) -> Array:
    """Means of the assigned rows; empty clusters move to the farthest distinct rows if there are any."""
    updated = mean_memberships(found.labels, weights, memberships.shape[1])
    empty = np.flatnonzero(~updated.any(axis=0))
    updated[:, empty] = memberships[:, empty]
    seeds = farthest_rows(space, found, len(empty))
    updated[:, empty[: len(seeds)]] = one_hot(seeds, len(weights))
    return updated


def mean_memberships(labels: Array, weights: Array, k: int) -> Array:
    """U-hat: the weights of each cluster's rows, normalised to sum 1, shape (n, k); zero for an empty cluster."""
    memberships = np.zeros((len(labels), k))
    counts = np.bincount(labels, weights, minlength=k)
    memberships[np.arange(len(labels)), labels] = weights / counts[labels]
    return memberships


def one_hot(rows: Array, n: int) -> Array:
    """Memberships of centroids that are single rows, shape (n, len(rows))."""
    memberships = np.zeros((n, len(rows)))
    memberships[rows, np.arange(len(rows))] = 1.0
    return memberships


def farthest_rows(space: Space, found: Assignment, size: int) -> Array:
    """Up to ``size`` distinct rows farthest from their centroid; ties (in float32) go to the lowest number."""
    left = np.where(found.distances > found.slack, found.distances, 0.0).astype(np.float32)
    rows: list[int] = []
    while len(rows) < size and left.any():
        rows.append(int(left.argmax()))
        left[rows[-1]] = 0.0
        left[space.same_as(rows[-1])] = 0.0
    return np.array(rows, dtype=np.intp)
