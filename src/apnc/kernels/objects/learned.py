"""What fields of records learn from a sample."""

import math
from abc import ABC
from dataclasses import dataclass

import numpy as np

from apnc.stored import require, stored
from apnc.typing import Array


class Learned(ABC):  # noqa: B024
    """What a field has learned from a sample of records."""


@stored
@dataclass(frozen=True)
class Nothing(Learned):
    """Nothing has to be learned."""


@stored
@dataclass(frozen=True)
class Spread(Learned):
    """Mean and standard deviation."""

    mean: float
    deviation: float

    def check(self) -> None:
        """Require a positive deviation."""
        require(0 < self.deviation < math.inf, f"deviation={self.deviation} must be a positive number")

    @classmethod
    def of(cls, values: Array, weights: Array) -> "Spread":
        """Of weighted values; the deviation of equal ones is 1."""
        with np.errstate(over="ignore", invalid="ignore"):
            mean = float(np.average(values, weights=weights))
            deviation = float(np.sqrt(np.average((values - mean) ** 2, weights=weights)))
        if not math.isfinite(deviation):
            raise ValueError(
                f"its values are too large to standardise: the largest is {np.abs(values).max():.3g}. Use logarithms"
            )
        # What rounding leaves of equal values is no spread.
        return cls(mean, deviation if deviation > 1e-13 * abs(mean) else 1.0)

    def standardised(self, values: Array) -> Array:
        """Values with mean 0 and deviation 1."""
        return (values - self.mean) / self.deviation


@stored
@dataclass(frozen=True)
class Rarity(Learned):
    """How rare words are: the inverse document frequency of those in the sample, and of all others."""

    words: Array
    values: Array
    others: float

    def check(self) -> None:
        """Require a value for every word, in order."""
        require(self.words.ndim == 1 and self.words.shape == self.values.shape, "words without values")
        require(self.words.dtype == np.int32 and (np.diff(self.words) > 0).all(), "words do not ascend")
        require(np.isfinite(self.values).all() and math.isfinite(self.others), "values are not finite")

    def of(self, words: Array) -> Array:
        """The inverse document frequency of each word."""
        places = np.minimum(np.searchsorted(self.words, words), max(0, len(self.words) - 1))
        known = self.words[places] == words if len(self.words) else np.zeros(len(words), dtype=bool)
        found = np.full(len(words), self.others)
        found[known] = self.values[places[known]]
        return found
