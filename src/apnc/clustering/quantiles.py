"""How far the rows of each cluster are from its centroid: their weight in fixed bins of the squared discrepancy.

A bin is read off the bits of the number, so it depends neither on the order of rows nor on rounding.
"""

import math
from dataclasses import dataclass

import numpy as np

from apnc.stored import largest, require, stored
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
#: Largest weight in a model file: their sums must be finite.
LARGEST_WEIGHT = 1e300


def unit_near(mean: float) -> float:
    """The power of two above the mean of squares; a tiny one if all are zero."""
    exponent = math.frexp(mean)[1] if mean > 0 else -LARGEST_EXPONENT
    return math.ldexp(1.0, min(max(exponent, -LARGEST_EXPONENT), LARGEST_EXPONENT))


def bins_of(squares: Array, unit: float) -> Array:
    """The bin of each square, int64."""
    return np.clip((codes_of(squares) >> SHIFT) - lowest_of(unit), 0, N_BINS - 1)


def weights_by_bin(labels: Array, squares: Array, weights: Array, n_clusters: int, unit: float) -> Array:
    """The weight of the rows of each cluster in each bin, shape (k, N_BINS)."""
    from apnc.loops.binning import add_by_bin

    out = np.zeros((n_clusters, N_BINS))
    add_by_bin(labels, codes_of(squares), weights, SHIFT, lowest_of(unit), out)
    return out


def codes_of(squares: Array) -> Array:
    """The bits of each number: exponent, then mantissa, so that larger numbers have larger codes."""
    return np.ascontiguousarray(squares, dtype=np.float64).view(np.int64)


def lowest_of(unit: float) -> int:
    """What the leading bits of a code exceed the number of its bin by."""
    return ((math.frexp(unit)[1] - 1 - BELOW + 1023) << BITS) - 1


@stored
@dataclass(frozen=True)
class Quantiles:
    """The squared discrepancies of the rows of a fit to their centroids, in bins.

    Attributes
    ----------
    unit : the power of two that the bins are relative to.
    weights : array of shape (k, N_BINS), the weight of each cluster's rows by bin.

    """

    unit: float
    weights: Array

    def check(self) -> None:
        """Require a power of two, and weights that are not negative."""
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
