"""Property 4: the discrepancy between an embedded row and an embedded centroid."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from apnc.discrepancy.nearest import (
    Nearest,
    NearestByProducts,
    NearestEuclidean,
    NearestManhattan,
    manhattan_terms,
    padded,
    squared_norms,
)
from apnc.stored import stored
from apnc.typing import Array

#: Discrepancies (for L2, squared) below this share of the norms are rounding errors of equal rows.
EQUAL = 1e-6
#: Up to this many centroids a register-tiled loop beats a BLAS matrix product.
FEW = 24


class Discrepancy(ABC):
    """e(y, y-bar) of Property 4. A subclass must implement ``distances``; the rest follows from it.

    ``of_products``: inner products of embedded rows approximate the kernel, so that their norms are meaningful.
    """

    of_products: ClassVar[bool] = False

    @abstractmethod
    def distances(self, Y: Array, centroids: Array) -> Array:
        """The discrepancy e of every row to every centroid, float64, shape (n_rows, k)."""

    def against(self, centroids: Array) -> Nearest:
        """Eq. 4 prepared for fixed centroids."""
        return Nearest(self, as_fixed(centroids))

    def squared_to(self, Y: Array) -> Callable[[Array], Array]:
        """C -> e^2 of every row of Y to every row of C, accurate enough for sampling; zero for equal rows."""
        return lambda C: self.distances(Y, C) ** 2


def as_fixed(centroids: Array) -> Array:
    """Centroids in the one type and memory order that the loops are compiled for."""
    return np.ascontiguousarray(centroids, dtype=np.float64)


@stored
@dataclass(frozen=True)
class Euclidean(Discrepancy):
    """The L2 distance, used by the Nystroem embeddings (Eq. 7)."""

    of_products: ClassVar[bool] = True

    def distances(self, Y: Array, centroids: Array) -> Array:
        """By direct differences, so that small distances keep their precision."""
        from apnc.loops.nearest import distances_l2

        out = np.empty((len(Y), len(centroids)))
        distances_l2(Y, as_fixed(centroids), out)
        return out

    def squared_to(self, Y: Array) -> Callable[[Array], Array]:
        """By a matrix product."""
        sizes = squared_norms(Y)

        def squared(C: Array) -> Array:
            magnitude = sizes[:, None] + squared_norms(C)
            e = magnitude - 2 * (Y @ C.T.astype(Y.dtype))
            # Without this, k-means++ could draw a copy of a centroid it already has.
            e[e < EQUAL * magnitude] = 0
            return e

        return squared

    def against(self, centroids: Array) -> Nearest:
        """Register-tiled loops for few centroids, else matrix products."""
        kind = NearestEuclidean if len(centroids) <= FEW else NearestByProducts
        return kind(self, as_fixed(centroids))


@stored
@dataclass(frozen=True)
class Manhattan(Discrepancy):
    """The L1 distance, used by the stable embedding (Eq. 12)."""

    def distances(self, Y: Array, centroids: Array) -> Array:
        """By direct differences."""
        from apnc.loops.nearest import distances_l1

        out = np.empty((len(Y), len(centroids)))
        distances_l1(Y, as_fixed(centroids), out)
        return out

    def squared_to(self, Y: Array) -> Callable[[Array], Array]:
        """By register-tiled loops."""
        from apnc.loops.nearest import twice_larger

        rows = np.arange(len(Y))
        sizes, sums, _ = manhattan_terms(Y)

        def squared(C: Array) -> Array:
            their_sizes, their_sums, _ = manhattan_terms(C)
            twice = np.empty((len(Y) + 2, -(-len(C) // 4) * 4), dtype=np.float32)
            twice_larger(Y, rows, padded(C), twice)
            e = twice[: len(Y), : len(C)] - sums[:, None] - their_sums
            # As for L2: equal rows must have mass zero when k-means++ draws.
            e[e < EQUAL * (sizes[:, None] + their_sizes)] = 0
            return e**2

        return squared

    def against(self, centroids: Array) -> Nearest:
        """Register-tiled loops over rows and centroids."""
        return NearestManhattan(self, as_fixed(centroids))
