"""How far the rows of each cluster are from its centroid: their weight in fixed bins of a measure of distance.

A bin is read off the bits of the number, so it depends neither on the order of rows nor on rounding.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from apnc.stored import ADDED, largest, require, stored
from apnc.typing import Array

#: Bins of an octave are read from so many bits of the mantissa.
BITS = 4
#: A float64 has 52 of them.
SHIFT = 52 - BITS
#: Octaves below and above the unit; what is beyond them is in the first and in the last bin.
BELOW, ABOVE = 12, 8
N_BINS = ((BELOW + ABOVE) << BITS) + 2
#: Exponents of units: all edges are normal numbers.
LARGEST_EXPONENT = 900
#: What bins are relative to if rows are similar to nothing.
LARGEST_MEAN = 1e6
#: Largest weight in a model file: their sums must be finite.
LARGEST_WEIGHT = 1e300
#: Largest k(x, x) in a model file.
LARGEST_DIAGONAL = 1e30


def unit_near(mean: float) -> float:
    """The power of two above the mean of squares; a tiny one if all are zero."""
    exponent = math.frexp(mean)[1] if mean > 0 else -LARGEST_EXPONENT
    return math.ldexp(1.0, min(max(exponent, -LARGEST_EXPONENT), LARGEST_EXPONENT))


def bins_of(squares: Array, unit: float) -> Array:
    """The bin of each square, int64."""
    return np.clip((codes_of(squares) >> SHIFT) - lowest_of(unit), 0, N_BINS - 1)


def codes_of(squares: Array) -> Array:
    """The bits of each number: exponent, then mantissa, so that larger numbers have larger codes."""
    return np.ascontiguousarray(squares, dtype=np.float64).view(np.int64)


def lowest_of(unit: float) -> int:
    """What the leading bits of a code exceed the number of its bin by."""
    return ((math.frexp(unit)[1] - 1 - BELOW + 1023) << BITS) - 1


@dataclass(frozen=True)
class Binned:
    """Weights of rows by cluster and bin.

    A table is large compared with a chunk, so rows wait until there are as many as it has cells.

    Attributes
    ----------
    n_clusters : k.
    waiting : cells and weights of rows that are not in the table yet.
    table : array of shape (k N_BINS,); None if it would be empty.

    """

    n_clusters: int
    waiting: tuple[tuple[Array, Array], ...] = ()
    table: Array | None = None

    @classmethod
    def of(cls, labels: Array, squares: Array, weights: Array, n_clusters: int, unit: float) -> "Binned":
        """Of rows with these labels and squares."""
        from apnc.loops.binning import find_cells

        cells = np.empty(len(labels), dtype=np.int32)
        find_cells(labels, codes_of(squares), SHIFT, lowest_of(unit), N_BINS, cells)
        return cls(n_clusters, ((cells, weights),))

    def __add__(self, other: "Binned") -> "Binned":
        tables = [one.table for one in (self, other) if one.table is not None]
        table = tables[0] + tables[1] if len(tables) == 2 else tables[0] if tables else None
        both = Binned(self.n_clusters, self.waiting + other.waiting, table)
        enough = sum(len(cells) for cells, _ in both.waiting) >= self.n_clusters * N_BINS
        return Binned(self.n_clusters, (), both.weights.ravel()) if enough else both

    @property
    def weights(self) -> Array:
        """The weight of the rows of each cluster in each bin, shape (k, N_BINS)."""
        from apnc.loops.binning import add_at

        table = np.zeros(self.n_clusters * N_BINS) if self.table is None else self.table.copy()
        for cells, weights in self.waiting:
            add_at(cells, weights, table)
        return table.reshape(self.n_clusters, N_BINS)


@dataclass(frozen=True)
class Binning:
    """How the squares of a fit are binned: ``unit`` and ``diagonal`` of ``Quantiles``."""

    unit: float
    diagonal: float | None = None

    @classmethod
    def near(cls, mean_square: float, mean_norm: float, diagonal: float | None) -> "Binning":
        """Relative to a row at the mean square; ``mean_norm`` is the mean squared norm of the rows."""
        if diagonal is None:
            return cls(unit_near(mean_square))
        square = mean_square + max(0.0, diagonal - mean_norm)
        # The mean of |c|^2 over the rows is what their variance leaves of |y|^2.
        near = diagonal + max(0.0, mean_norm - mean_square) - square
        return cls(unit_near(square / near if near > 0 else LARGEST_MEAN), diagonal)


@stored
@dataclass(frozen=True)
class Quantiles:
    """How far the rows of a fit are from their centroids, in bins.

    Attributes
    ----------
    unit : the power of two that the bins are relative to.
    weights : array of shape (k, N_BINS), the weight of each cluster's rows by bin.
    diagonal : k(x, x), if it is the same for all rows, and bins are those of d^2 / (k(x, x) + |c|^2 - d^2), with d the
        whole distance in the kernel's space, and c the centroid; None: bins are those of squared discrepancies.

    """

    unit: float
    weights: Array
    diagonal: float | None = field(default=None, metadata={ADDED: True})

    def check(self) -> None:
        """Require a power of two, weights that are not negative, and a diagonal in range."""
        mantissa, exponent = math.frexp(self.unit)
        require(
            mantissa == 0.5 and abs(exponent - 1) <= LARGEST_EXPONENT,
            f"unit is {self.unit:g}, expected a power of two",
        )
        shape = self.weights.shape
        require(len(shape) == 2 and shape[1] == N_BINS, f"weights have shape {shape}, expected (k, {N_BINS})")
        require(self.weights.dtype.kind == "f", f"weights are of type {self.weights.dtype}, expected float")
        bounded = (self.weights >= 0).all() and largest(self.weights) <= LARGEST_WEIGHT
        require(bounded, f"weights are negative or beyond {LARGEST_WEIGHT:g}")
        known = self.diagonal is None or 0 < self.diagonal <= LARGEST_DIAGONAL
        require(known, f"diagonal is {self.diagonal}, expected in (0, {LARGEST_DIAGONAL:g}]")

    def scores(self, labels: Array, squares: Array) -> Array:
        """Weight share of a cluster's rows that are nearer, interpolated within the bin; 1 in an empty cluster."""
        bins, weights = bins_of(squares, self.unit), self.weights
        nearer = np.cumsum(weights, axis=1) - weights
        total = weights.sum(axis=1)
        found = nearer[labels, bins] + weights[labels, bins] * self._shares(bins, squares)
        empty = total[labels] == 0
        return np.where(empty, 1.0, np.minimum(found / np.where(empty, 1.0, total[labels]), 1.0))

    def _shares(self, bins: Array, squares: Array) -> Array:
        """How far into its bin each square is, from 0 to 1; the last bin has no end."""
        steps = np.arange(N_BINS - 1)
        octaves, parts = np.divmod(steps, 1 << BITS)
        edges = np.ldexp(self.unit * (1 + parts / (1 << BITS)), octaves - BELOW)
        lower = np.concatenate([[0.0], edges])[bins]
        upper = np.concatenate([edges, [np.inf]])[bins]
        beyond = bins == N_BINS - 1
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.where(beyond, 1 - lower / squares, (squares - lower) / (upper - lower))
