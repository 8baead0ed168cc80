"""Scaling of features before the kernel is applied."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from apnc.engines.contract import Chunk
from apnc.stored import largest, require, stored
from apnc.typing import Array

SCALES = ("minmax", "standard", "unit")
#: Significant digits of a column's statistics, so that they do not depend on how rows are split into chunks.
DIGITS = 10
#: A column whose values differ by no more than this share of the largest is constant.
CONSTANT = 1e-13
#: Largest factor, and largest shift in units of a column's size, accepted from a model file.
LARGEST_FACTOR, LARGEST_SHIFT = 1e100, 1e20


@stored
@dataclass(frozen=True)
class Columns:
    """Statistics of each column over rows with positive weight.

    Attributes
    ----------
    weight : total weight.
    mean, spread : arrays of shape (d,), the weighted mean and the weighted sum of squared deviations from it.
    low, high : arrays of shape (d,), minimum and maximum.

    """

    weight: float
    mean: Array
    spread: Array
    low: Array
    high: Array

    @classmethod
    @np.errstate(over="ignore", invalid="ignore")
    def of(cls, rows: Array, weights: Array) -> "Columns":
        """Statistics of rows with positive weight."""
        wide = np.asarray(rows, dtype=np.float64)
        if not len(wide):
            nothing = np.zeros(rows.shape[1])
            return cls(0.0, nothing, nothing, nothing + np.inf, nothing - np.inf)
        weight = float(weights.sum())
        mean = weights @ wide / weight
        return cls(weight, mean, weights @ (wide - mean) ** 2, wide.min(axis=0), wide.max(axis=0))

    @np.errstate(over="ignore", invalid="ignore")
    def __add__(self, other: "Columns") -> "Columns":
        # The pairwise update of Chan, Golub and LeVeque: sums of squares would cancel for columns far from zero.
        weight = self.weight + other.weight
        share = other.weight / weight if weight else 0.0
        apart = other.mean - self.mean
        return Columns(
            weight,
            self.mean + share * apart,
            self.spread + other.spread + self.weight * share * apart**2,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )


@stored
@dataclass(frozen=True)
class Scaling:
    """(x - shift) * factor for each column, or rows of norm 1.

    Attributes
    ----------
    kind : one of ``SCALES``.
    shift, factor : arrays of shape (d,), float64; empty for "unit".

    """

    kind: str
    shift: Array
    factor: Array

    def check(self) -> None:
        """Require a known kind, with a shift and a positive factor for each column."""
        require(self.kind in SCALES, f"kind is {self.kind!r}, expected one of {', '.join(SCALES)}")
        shift, factor = self.shift, self.factor
        require(
            shift.ndim == 1 and shift.shape == factor.shape and (self.kind != "unit" or not shift.size),
            f"shift and factor have shapes {shift.shape} and {factor.shape}",
        )
        require(
            shift.dtype.kind == factor.dtype.kind == "f", "shift and factor must be floating-point numbers"
        )
        require(
            (factor > 0).all() and largest(factor) <= LARGEST_FACTOR, "factors must be positive and bounded"
        )
        with np.errstate(over="ignore"):
            require(largest(shift * factor) <= LARGEST_SHIFT, "shifts are too large for their factors")

    def check_landmarks(self, landmarks: Any) -> None:
        """Raise a ValueError for landmarks that cannot have been scaled this way."""
        require(hasattr(landmarks, "shape"), "scaling needs landmarks that are vectors")
        if self.kind != "unit":
            require(
                not sparse.issparse(landmarks), f"scaling {self.kind} cannot be used with sparse landmarks"
            )
            d = landmarks.shape[1]
            require(self.shift.shape == (d,), f"scaling of {len(self.shift)} columns, landmarks have {d}")

    @classmethod
    def unit(cls) -> "Scaling":
        """Divide rows by their norm; nothing is learned."""
        return cls("unit", np.empty(0), np.empty(0))

    @classmethod
    def learned(cls, kind: str, columns: Columns) -> "Scaling":
        """Scale to [0, 1], or to mean 0 and variance 1; constant columns become 0."""
        largest = np.maximum(np.abs(columns.low), np.abs(columns.high))
        constant = columns.high - columns.low <= CONSTANT * largest
        if kind == "minmax":
            size = np.where(constant, 1.0, columns.high - columns.low)
            if (size < np.finfo(np.float64).tiny).any():
                raise ValueError(
                    f"scale='minmax' needs features that differ by more than the smallest floats; a column differs by "
                    f"{size.min():.3g}. Multiply them by a constant first."
                )
            return cls(kind, columns.low, 1 / size)
        size = rounded(np.where(constant, 1.0, np.sqrt(columns.spread / columns.weight)))
        if not (np.isfinite(size) & (size > np.sqrt(np.finfo(np.float64).tiny))).all():
            raise ValueError(
                f"scale='standard' needs squares of features within the range of float64; they reach "
                f"{largest.max():.3g}. Multiply them by a constant first, or use scale='minmax'."
            )
        # The mean is rounded in units of the column's size; its own leading digits could be too coarse.
        steps = np.round(np.where(constant, 0.0, columns.mean) / size, DIGITS)
        mean = np.where(constant, columns.low, steps * size)
        return cls(kind, mean, 1 / size)

    @np.errstate(over="ignore", invalid="ignore")
    def __call__(self, rows: Any, dtype: type) -> Any:
        """Scaled rows in the same kind of container, in ``dtype``."""
        if self.kind == "unit":
            return unit_rows(rows, dtype)
        return ((rows - self.shift) * self.factor).astype(dtype, copy=False)


def rounded(values: Array) -> Array:
    """Round to ``DIGITS`` significant digits."""
    return np.array([float(f"{value:.{DIGITS}g}") for value in values])


def unit_rows(rows: Any, dtype: type) -> Any:
    """Rows divided by their L2 norm; zero rows stay zero."""
    wide = rows.astype(np.float64)
    squares = wide.multiply(wide) if sparse.issparse(rows) else wide**2
    norms = np.sqrt(np.asarray(squares.sum(axis=1)).ravel())
    if not np.isfinite(norms).all():
        raise ValueError(
            "scale='unit' needs squares of features within the range of float64. Multiply them by a constant first."
        )
    factors = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    scaled = sparse.diags_array(factors) @ wide if sparse.issparse(rows) else wide * factors[:, None]
    return scaled.astype(dtype)


@dataclass(frozen=True)
class Scale:
    """Map: scale a chunk's rows."""

    scaling: Scaling
    dtype: type

    def __call__(self, chunk: Chunk) -> Chunk:
        return chunk.with_rows(self.scaling(chunk.rows, self.dtype))
