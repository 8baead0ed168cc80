"""Algorithm 2: Lloyd's iterations on the embedding, as map and reduce."""

from collections.abc import Callable, Generator, Iterator
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np

from apnc.clustering.quantiles import Binned, Binning
from apnc.discrepancy import Discrepancy
from apnc.discrepancy.nearest import Nearest, PartialSums
from apnc.engines.contract import Chunk, Chunks
from apnc.stored import require, stored
from apnc.typing import Array

#: Called after each iteration with its number, the squared shift of the centroids, the inertia and the new centroids;
#: returning True stops the iterations.
OnIteration = Callable[[int, float, float, Array], bool]
#: Called after each pass over a sample.
OnPass = Callable[[], None]
#: Consumes a stream of (labels, carry) of consecutive chunks.
Write = Callable[[Iterator[tuple[Array, Any]]], None]


@dataclass(frozen=True)
class SumByNearest:
    """Algorithm 2, map: assign the rows of a chunk and sum them by cluster."""

    nearest: Nearest

    def __call__(self, chunk: Chunk) -> PartialSums:
        return self.nearest.assign(chunk.rows, chunk.weights, chunk.scratch)[1]


@dataclass(frozen=True)
class LabelAndSum:
    """The last assignment: partial sums of a chunk's rows and, if wanted, their labels and distances in bins."""

    nearest: Nearest
    keep: bool = True
    binning: Binning | None = None

    def __call__(self, chunk: Chunk) -> "Assignment":
        # The inertia reported to the user must not carry the float32 rounding of the passes before.
        labels, sums = self.nearest.assign(chunk.rows, chunk.weights, chunk.scratch, exact=True)
        bins = None
        if self.binning is not None:
            far = self.nearest.remoteness(chunk.rows, labels, chunk.scratch, self.binning.diagonal)
            bins = Binned.of(labels, far, chunk.weights, len(sums.counts), self.binning.unit)
        return Assignment((labels,) if self.keep else (), sums, len(labels), bins)


@dataclass(frozen=True)
class Label:
    """Map: embedded rows to their assignment."""

    nearest: Nearest
    binning: Binning | None = None

    def __call__(self, chunk: Chunk) -> Chunk:
        return chunk.with_rows(LabelAndSum(self.nearest, True, self.binning)(chunk))


@dataclass(frozen=True)
class Assignment:
    """Labels of consecutive chunks (none if they were not kept), the partial sums of all their rows, and their bins."""

    parts: tuple[Array, ...]
    sums: PartialSums
    n_rows: int
    bins: Binned | None = None

    def __add__(self, other: "Assignment") -> "Assignment":
        bins = None if self.bins is None or other.bins is None else self.bins + other.bins
        return Assignment(self.parts + other.parts, self.sums + other.sums, self.n_rows + other.n_rows, bins)

    @property
    def labels(self) -> Array:
        """All labels in row order, int32; only if they were kept."""
        return np.concatenate(self.parts)


@dataclass(frozen=True)
class Farthest:
    """Distinct rows that are farthest from their assigned centroid.

    Attributes
    ----------
    rows : array of shape (<= size, m), farthest first; ties ordered by content.
    distances : discrepancy e of each row to its centroid, positive.
    size : number of rows wanted.

    """

    rows: Array
    distances: Array
    size: int

    def __add__(self, other: "Farthest") -> "Farthest":
        rows = np.concatenate([self.rows, other.rows])
        return farthest(rows, np.concatenate([self.distances, other.distances]), self.size)


@dataclass(frozen=True)
class FindFarthest:
    """The second reduce, run only if a cluster is empty: the candidates of a chunk."""

    nearest: Nearest
    size: int

    def __call__(self, chunk: Chunk) -> Farthest:
        present = chunk.weights > 0
        Y, labels = chunk.rows[present], self.nearest.known_labels(chunk.rows, chunk.scratch)[present]
        return farthest(Y, self.nearest.own(Y, labels), self.size)


def farthest(rows: Array, distances: Array, size: int) -> Farthest:
    """The ``size`` farthest distinct rows at a positive distance; ties (in float32) are ordered by content."""
    distances = distances.astype(np.float32)
    # Finding distinct rows sorts them, so try only the farthest few first.
    near_enough = min(len(distances), 4 * size + 64)
    while True:
        cut = np.partition(distances, -near_enough)[-near_enough] if near_enough else 0.0
        picked = (distances >= cut) & (distances > 0)
        distinct, first = np.unique(rows[picked], axis=0, return_index=True)
        if len(distinct) >= size or near_enough == len(distances):
            break
        near_enough = min(len(distances), 4 * near_enough)
    # np.unique sorts by content and the sort below is stable, so ties do not depend on the order of rows.
    far = distances[picked][first]
    order = np.argsort(-far, kind="stable")[:size]
    return Farthest(distinct[order], far[order], size)


@stored
@dataclass(frozen=True)
class LloydResult:
    """Centroids after an update.

    ``converged`` is also True if a callback stopped the iterations; ``mean_square`` is the mean squared discrepancy to
    the centroids before the update, ``mean_norm`` the mean squared norm of the rows.
    """

    centroids: Array
    n_iter: int
    converged: bool
    mean_square: float
    mean_norm: float

    def check(self) -> None:
        """Require centroids of at least one iteration."""
        require(self.centroids.ndim == 2 and self.centroids.size, "centroids are not a matrix")
        require(
            self.n_iter >= 1 and self.mean_square >= 0,
            f"n_iter is {self.n_iter}, mean_square {self.mean_square}",
        )


def lloyd(
    Y: Chunks,
    centroids: Array,
    discrepancy: Discrepancy,
    max_iter: int,
    tol: float,
    on_iteration: OnIteration | None = None,
    keep: Callable[[LloydResult], None] | None = None,
    done: int = 0,
) -> LloydResult:
    """Algorithm 2 from given centroids, those after ``done`` iterations; ``keep`` receives each later result.

    Stops when the total squared shift of the centroids is at most ``tol`` times the mean weighted variance of Y.
    The L1 discrepancy with a mean update need not lower an objective in each step, so nothing relies on descent.
    """
    centroids = np.array(centroids, dtype=np.float64)
    for n_iter in range(done + 1, max_iter + 1):
        nearest = discrepancy.against(centroids)
        partial = Y.reduce(SumByNearest(nearest), PartialSums.__add__)
        centroids, shift = advance(partial, nearest, Y)
        stop = on_iteration is not None and on_iteration(n_iter, shift, partial.inertia, centroids)
        converged = bool(stop or shift <= tol * partial.mean_variance)
        found = LloydResult(centroids, n_iter, converged, partial.mean_square, partial.mean_norm)
        if keep is not None:
            keep(found)
        if converged:
            break
    return found


def refine_stacked(
    Y: Chunks,
    starts: list[Array],
    discrepancy: Discrepancy,
    max_iter: int,
    tol: float,
    on_pass: OnPass | None = None,
) -> list[Array]:
    """Algorithm 2 from several starts at once: those not yet converged share each pass over Y."""
    refined = [np.array(start, dtype=np.float64) for start in starts]
    moving = list(range(len(starts)))
    for _ in range(max_iter):
        nearest = {restart: discrepancy.against(refined[restart]) for restart in moving}
        partials = Y.reduce(SumStacked(nearest), add_stacked)
        for restart, partial in partials.items():
            refined[restart], shift = advance(partial, nearest[restart], Y)
            if shift <= tol * partial.mean_variance:
                moving.remove(restart)
        if on_pass is not None:
            on_pass()
        if not moving:
            break
    return refined


@dataclass(frozen=True)
class SumStacked:
    """Algorithm 2, map, for several sets of centroids, each with its own part of the scratch."""

    nearest: dict[int, Nearest]

    def __call__(self, chunk: Chunk) -> dict[int, PartialSums]:
        return {
            restart: nearest.assign(
                chunk.rows, chunk.weights, chunk.scratch.setdefault(f"restart {restart}", {})
            )[1]
            for restart, nearest in self.nearest.items()
        }


def add_stacked(one: dict[int, PartialSums], two: dict[int, PartialSums]) -> dict[int, PartialSums]:
    """Add the partial sums of each restart."""
    return {restart: partial + two[restart] for restart, partial in one.items()}


def advance(partial: PartialSums, nearest: Nearest, Y: Chunks) -> tuple[Array, float]:
    """Algorithm 2, reduce: the new centroids, with empty clusters reseeded, and their squared shift."""
    updated = update(partial, nearest.centroids)
    empty = np.flatnonzero(partial.counts == 0)
    if len(empty):
        reseed(updated, empty, Y, nearest)
    return updated, float(((updated - nearest.centroids) ** 2).sum())


def update(partial: PartialSums, centroids: Array) -> Array:
    """Algorithm 2, reduce: Z / g; an empty cluster keeps its centroid."""
    filled = partial.counts > 0
    updated = centroids.copy()
    updated[filled] = partial.sums[filled] / partial.counts[filled, None]
    return updated


def reseed(updated: Array, empty: Array, Y: Chunks, nearest: Nearest) -> None:
    """Move empty clusters to the farthest distinct rows, as far as there are enough."""
    found = Y.reduce(FindFarthest(nearest, len(empty)), Farthest.__add__)
    updated[empty[: len(found.rows)]] = found.rows


def assign_all(
    Y: Chunks,
    centroids: Array,
    discrepancy: Discrepancy,
    keep: bool = True,
    binning: Binning | None = None,
) -> Assignment:
    """The assignment after the last update, so that predicting the training data reproduces its labels.

    With ``binning``, distances are counted in bins.
    """
    return Y.reduce(LabelAndSum(discrepancy.against(centroids), keep, binning), Assignment.__add__)


def label_into(
    write: Write, Y: Chunks, centroids: Array, discrepancy: Discrepancy, binning: Binning | None = None
) -> Assignment:
    """Like ``assign_all``, but streams the labels to ``write`` chunk by chunk; local engines only."""
    partials: list[Assignment] = []

    def stream() -> Generator[tuple[Array, Any], None, None]:
        for chunk in Y.map(Label(discrepancy.against(centroids), binning)):
            part: Assignment = chunk.rows
            partial = Assignment((), part.sums, part.n_rows, part.bins)
            # Added as they come: memory must not grow with the number of chunks.
            partials[:] = [partials[0] + partial if partials else partial]
            yield part.parts[0], chunk.carry

    # Closing the stream stops the workers if writing fails.
    with closing(stream()) as labels:
        write(labels)
    return partials[0]
