"""Eq. 4 and the map of Algorithm 2: assign rows to fixed centroids and sum them by cluster."""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from apnc.typing import Array

#: Squared norms of float32 rows are k(x, x) up to this share of it.
ROUNDING = 1e-6


class Distances(Protocol):
    """What the search requires of a discrepancy."""

    def distances(self, Y: Array, centroids: Array) -> Array:
        """The discrepancy e of every row to every centroid."""
        ...


@dataclass(frozen=True)
class PartialSums:
    """Z and g of Algorithm 2 for weighted rows.

    Attributes
    ----------
    sums : array of shape (k, m), the weighted sum of the rows of each cluster.
    counts : array of shape (k,), the weight of each cluster.
    inertia : weighted sum of squared discrepancies to the assigned centroid.
    squares : weighted sum of squared norms of the rows.

    """

    sums: Array
    counts: Array
    inertia: float
    squares: float

    def __add__(self, other: "PartialSums") -> "PartialSums":
        return PartialSums(
            self.sums + other.sums,
            self.counts + other.counts,
            self.inertia + other.inertia,
            self.squares + other.squares,
        )

    @property
    def mean_square(self) -> float:
        """Mean squared discrepancy to the assigned centroid."""
        return self.inertia / float(self.counts.sum())

    @property
    def mean_norm(self) -> float:
        """Mean squared norm of the rows."""
        return self.squares / float(self.counts.sum())

    @property
    def mean_variance(self) -> float:
        """Weighted variance of the rows, averaged over the m components."""
        total = self.counts.sum()
        mean = self.sums.sum(axis=0) / total
        # The difference of squares can round below zero when all rows are equal.
        return max(0.0, float((self.squares / total - mean @ mean) / mean.size))


class Nearest:
    """Eq. 4 and the map of Algorithm 2 for fixed centroids and any discrepancy."""

    def __init__(self, discrepancy: Distances, centroids: Array):
        self.discrepancy = discrepancy
        self.centroids = centroids

    def labels(self, Y: Array) -> Array:
        """Number of the nearest centroid of each row, int32."""
        return self.discrepancy.distances(Y, self.centroids).argmin(axis=1).astype(np.int32)

    def own(self, Y: Array, labels: Array) -> Array:
        """The discrepancy e of each row to the centroid of its label, by direct differences."""
        return self.discrepancy.distances(Y, self.centroids)[np.arange(len(labels)), labels]

    def known_labels(self, Y: Array, scratch: dict[str, Any]) -> Array:
        """Labels, reused from the last pass if it was against these centroids."""
        return self.labels(Y)

    def known_own(self, Y: Array, labels: Array, scratch: dict[str, Any]) -> Array:
        """Discrepancies to the own centroid, reused from the last pass if it was exact."""
        return self.own(Y, labels)

    def remoteness(
        self, Y: Array, labels: Array, scratch: dict[str, Any], diagonal: float | None = None
    ) -> Array:
        """How far each row is from its centroid c: the squared discrepancy e^2, which grows with the distance.

        With k(x, x), the same for all rows, d^2 / (r^2 - d^2), where d is the distance in the kernel's space. The
        centroid is in the span of the landmarks, so that d^2 = e^2 + k(x, x) - |y|^2: what they do not span of a row is
        orthogonal to it. A row that is similar to nothing is at r^2 = k(x, x) + |c|^2, and infinitely remote.
        """
        squares = self.known_own(Y, labels, scratch) ** 2
        if diagonal is None:
            return squares
        state: RowState | None = scratch.get("rows")
        norms = squared_norms(Y) if state is None else state.squares
        known = (1 - ROUNDING) * diagonal
        squares += np.maximum(known - norms, 0.0)
        near = np.maximum((known + (self.centroids**2).sum(axis=1))[labels] - squares, 0.0)
        return np.divide(squares, near, out=np.full(len(squares), np.inf), where=near > 0)

    def assign(
        self, Y: Array, weights: Array, scratch: dict[str, Any], exact: bool = False
    ) -> tuple[Array, PartialSums]:
        """Algorithm 2, map: labels and partial sums of these rows.

        ``exact`` computes the inertia by direct differences; otherwise it may be rounded to float32.
        """
        from apnc.loops.nearest import accumulate

        labels = self.labels(Y)
        sums, counts = np.zeros(self.centroids.shape), np.zeros(len(self.centroids))
        accumulate(Y, weights, labels, sums, counts)
        inertia = float(weights @ self.own(Y, labels) ** 2)
        squares = float(weights @ np.einsum("ij,ij->i", Y, Y, dtype=np.float64))
        return labels, PartialSums(sums, counts, inertia, squares)


@dataclass
class RowState:
    """What a pass knows about its rows; kept in a chunk's scratch, it saves the next pass most distances.

    Attributes
    ----------
    sizes, squares : norms of the rows that rounding errors are relative to, and squared L2 norms.
    sums : the row's own term of the discrepancy: under L1 the sum of its components.
    labels, own : nearest centroid and discrepancy to it.
    upper, lower : bounds on the discrepancy to the assigned centroid and to all others.
    centroids : the centroids that the bounds hold for; None before the first pass.
    exact : whether ``own`` was computed by direct differences.
    """

    sizes: Array
    sums: Array
    squares: Array
    labels: Array
    own: Array
    upper: Array
    lower: Array
    centroids: Array | None = None
    exact: bool = False

    @classmethod
    def of(cls, sizes: Array, sums: Array, squares: Array) -> "RowState":
        """A state in which only norms and sums are known."""
        n = len(sizes)
        return cls(sizes, sums, squares, np.zeros(n, np.int32), np.empty(n), np.empty(n), np.empty(n))


class NearestByBounds(Nearest):
    """Eq. 4 for a metric: rows whose bounds prove that their label cannot change are not searched again.

    The labels are the same as those of an exhaustive search (docs/decisions/15-bounds.md).
    """

    norm: int

    def __init__(self, discrepancy: Distances, centroids: Array):
        super().__init__(discrepancy, centroids)
        self.padded = padded(centroids)
        sizes, sums, _ = self.row_terms(centroids)
        self.halves = (sums / 2).astype(np.float32)
        self.largest = float(sizes.max())
        self._moved: tuple[Array | None, Array] = (None, np.empty(0))

    def row_terms(self, Y: Array) -> tuple[Array, Array, Array]:
        """Norms that rounding errors are relative to, each row's own term of the discrepancy, and squared L2 norms."""
        raise NotImplementedError

    def margins(self, sizes: Array) -> Array:
        """How far apart bounds must be to settle a row."""
        raise NotImplementedError

    def search_and_sum(
        self, Y: Array, weights: Array, state: RowState, shifts: Array, sums: Array, counts: Array
    ) -> None:
        """Find the nearest centroid of every row that the bounds leave open, and sum all rows by cluster."""
        from apnc.loops.nearest import small_pass

        bounds = (state.labels, state.own, state.upper, state.lower, shifts, self.margins(state.sizes))
        fixed = (self.padded, self.halves, self.centroids, self.largest)
        small_pass(self.norm, Y, weights, *fixed, state.sizes, state.sums, *bounds, sums, counts)

    def labels(self, Y: Array) -> Array:
        """Number of the nearest centroid of each row, int32."""
        return self.assign(Y, np.ones(len(Y)), {})[0]

    def own(self, Y: Array, labels: Array) -> Array:
        """The discrepancy e of each row to the centroid of its label, by direct differences."""
        from apnc.loops.nearest import own_l1, own_l2

        out = np.empty(len(Y))
        exact = own_l1 if self.norm == 1 else own_l2
        exact(Y, np.arange(len(Y)), self.centroids, labels, out)
        return out

    def known_labels(self, Y: Array, scratch: dict[str, Any]) -> Array:
        """Labels, reused from the last pass if it was against these centroids."""
        state: RowState | None = scratch.get("rows")
        return state.labels if state is not None and state.centroids is self.centroids else self.labels(Y)

    def known_own(self, Y: Array, labels: Array, scratch: dict[str, Any]) -> Array:
        """Discrepancies to the own centroid, reused from the last pass if it was exact."""
        state: RowState | None = scratch.get("rows")
        if state is not None and state.exact and state.centroids is self.centroids:
            return state.own
        return self.own(Y, labels)

    def assign(
        self, Y: Array, weights: Array, scratch: dict[str, Any], exact: bool = False
    ) -> tuple[Array, PartialSums]:
        """Algorithm 2, map, in one read of Y."""
        # Popped until the pass is done: a state that an interrupt left half-updated must not be reused.
        state: RowState = scratch.pop("rows", None) or self._state_of(Y)
        sums, counts = np.zeros(self.centroids.shape), np.zeros(len(self.centroids))
        self.search_and_sum(Y, weights, state, self._shifts_from(state.centroids), sums, counts)
        state.centroids, state.exact = self.centroids, exact
        if exact:
            state.own[:] = self.own(Y, state.labels)
        scratch["rows"] = state
        inertia, squares = float(weights @ state.own**2), float(weights @ state.squares)
        # Copied, because the next pass changes the labels of the state in place.
        return state.labels.copy(), PartialSums(sums, counts, inertia, squares)

    def _state_of(self, Y: Array) -> RowState:
        return RowState.of(*self.row_terms(Y))

    def _shifts_from(self, previous: Array | None) -> Array:
        """How far each centroid has moved, computed once for all chunks; empty if there is no previous pass."""
        if previous is None:
            return np.empty(0)
        # Compared by identity: the states of all chunks refer to the same array of centroids.
        since, shifts = self._moved
        if since is not previous:
            pairs = zip(previous, self.centroids, strict=True)
            shifts = np.array([self.discrepancy.distances(old[None], new[None])[0, 0] for old, new in pairs])
            self._moved = (previous, shifts)
        return shifts


def padded(C: Array) -> Array:
    """Centroids in float32, zero-padded to a multiple of four: the tiled loops handle four at a time."""
    out = np.zeros((-(-len(C) // 4) * 4, C.shape[1]), dtype=np.float32)
    out[: len(C)] = C
    return out


def squared_norms(Y: Array) -> Array:
    """Squared L2 norm of each row, float64."""
    from apnc.loops.nearest import row_squares

    out = np.empty(len(Y))
    row_squares(Y, out)
    return out


def manhattan_terms(Y: Array) -> tuple[Array, Array, Array]:
    """L1 norm, sum and squared norm of each row, float64."""
    from apnc.loops.nearest import row_sums

    sizes, sums, squares = np.empty((3, len(Y)))
    row_sums(Y, sizes, sums, squares)
    return sizes, sums, squares


class NearestEuclidean(NearestByBounds):
    """Nearest under L2, by comparing |c|^2 - 2 y.c."""

    norm = 2

    def row_terms(self, Y: Array) -> tuple[Array, Array, Array]:
        """Squared norms, three times."""
        squares = squared_norms(Y)
        return squares, squares, squares

    def margins(self, sizes: Array) -> Array:
        """Relative to the root of the magnitude, since the bounds are not squared."""
        from apnc.loops.nearest import SETTLED

        return SETTLED * np.sqrt(sizes + self.largest)


class NearestByProducts(NearestEuclidean):
    """Nearest under L2 for many centroids, by BLAS matrix products."""

    def __init__(self, discrepancy: Distances, centroids: Array):
        super().__init__(discrepancy, centroids)
        self.columns = np.ascontiguousarray(self.padded[: len(centroids)].T)

    def search_and_sum(
        self, Y: Array, weights: Array, state: RowState, shifts: Array, sums: Array, counts: Array
    ) -> None:
        """Compute products of the open rows alone, then the sums of all rows."""
        from apnc.loops.nearest import accumulate, loosen, own_l2, pick_l2

        n = len(Y)
        open_rows, settled = np.empty(n, dtype=np.int64), np.empty(n, dtype=np.int64)
        bounds = (state.upper, state.lower)
        margins = self.margins(state.sizes)
        n_open, n_settled = loosen(0, n, state.labels, shifts, margins, *bounds, open_rows, settled)
        if n_open:
            # Indexing copies rows; in the first pass, where all are open, that is avoided.
            rows = open_rows[:n_open]
            products = (Y if n_open == n else Y[rows]) @ self.columns
            found = (state.sizes, state.labels, state.own, *bounds)
            pick_l2(products, Y, rows, self.halves, self.centroids, self.largest, *found)
        if n_settled:
            own_l2(Y, settled[:n_settled], self.centroids, state.labels, state.own)
            state.upper[settled[:n_settled]] = state.own[settled[:n_settled]]
        accumulate(Y, weights, state.labels, sums, counts)


class NearestManhattan(NearestByBounds):
    """Nearest under L1."""

    norm = 1

    def row_terms(self, Y: Array) -> tuple[Array, Array, Array]:
        """L1 norms, plain sums and squared norms."""
        return manhattan_terms(Y)

    def margins(self, sizes: Array) -> Array:
        """Relative to the magnitude."""
        from apnc.loops.nearest import SETTLED

        return SETTLED * (sizes + self.largest)
