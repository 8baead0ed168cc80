"""Property 4: how far an embedded row is from an embedded centroid, and Algorithm 2's map over a chunk."""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]

#: Bytes of Y handled at a time, so that rows are still in cache when their sums are taken.
TILE_BYTES = 1 << 19


@dataclass(frozen=True)
class PartialSums:
    """Z and g of Algorithm 2 for some rows, with weights.

    Attributes
    ----------
    sums : array of shape (k, m), the weighted sum of the rows of each cluster.
    counts : array of shape (k,), the weight of each cluster.
    inertia : weighted sum of squared discrepancies to the own centroid.
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
    def mean_variance(self) -> float:
        """Weighted variance of the rows, averaged over the m components."""
        total = self.counts.sum()
        mean = self.sums.sum(axis=0) / total
        return max(0.0, float((self.squares / total - mean @ mean) / mean.size))


class Discrepancy(ABC):
    """e(y, y-bar) of Property 4. A subclass must give ``distances``; the rest follows from it."""

    @abstractmethod
    def distances(self, Y: Array, centroids: Array) -> Array:
        """The discrepancy e of every row to every centroid, float64, shape (n_rows, k)."""

    def nearest(self, Y: Array, centroids: Array) -> Array:
        """Eq. 4: the number of the nearest centroid of each row, int32."""
        return self.distances(Y, centroids).argmin(axis=1).astype(np.int32)

    def to_own(self, Y: Array, centroids: Array, labels: Array) -> Array:
        """The discrepancy e of each row to the centroid of its label, shape (n_rows,)."""
        return self.distances(Y, centroids)[np.arange(len(labels)), labels]

    def assign(self, Y: Array, centroids: Array, weights: Array) -> tuple[Array, PartialSums]:
        """Algorithm 2, map: labels and partial sums of these rows in one read of Y."""
        from apnc.loops import accumulate

        labels = np.empty(len(Y), dtype=np.int32)
        sums = np.zeros(centroids.shape)
        counts = np.zeros(len(centroids))
        inertia = squares = 0.0
        step = max(64, TILE_BYTES // max(1, Y.shape[1] * Y.itemsize))
        for start in range(0, len(Y), step):
            tile = slice(start, start + step)
            labels[tile] = self.nearest(Y[tile], centroids)
            squares += accumulate(Y[tile], weights[tile], labels[tile], sums, counts)
            inertia += float(weights[tile] @ self.to_own(Y[tile], centroids, labels[tile]) ** 2)
        return labels, PartialSums(sums, counts, inertia, squares)


class Euclidean(Discrepancy):
    """The L2 distance, of the Nystroem embeddings (Eq. 7)."""

    def distances(self, Y: Array, centroids: Array) -> Array:
        """By direct differences, so that small distances keep their digits."""
        from apnc.loops import distances_l2

        out = np.empty((len(Y), len(centroids)))
        distances_l2(Y, np.asarray(centroids, dtype=np.float64), out)
        return out

    def nearest(self, Y: Array, centroids: Array) -> Array:
        """One matrix product and an argmin."""
        from apnc.loops import nearest_l2

        labels = np.empty(len(Y), dtype=np.int32)
        centroids = np.asarray(centroids, dtype=np.float64)
        nearest_l2(
            Y @ centroids.T.astype(Y.dtype),
            np.einsum("ij,ij->i", Y, Y).astype(np.float64),
            np.einsum("ij,ij->i", centroids, centroids),
            Y,
            centroids,
            labels,
        )
        return labels

    def to_own(self, Y: Array, centroids: Array, labels: Array) -> Array:
        """By direct differences."""
        from apnc.loops import to_own_l2

        out = np.empty(len(Y))
        to_own_l2(Y, np.asarray(centroids, dtype=np.float64), labels, out)
        return out


class Manhattan(Discrepancy):
    """The L1 distance, of the stable embedding (Eq. 12)."""

    def distances(self, Y: Array, centroids: Array) -> Array:
        """By direct differences."""
        from apnc.loops import distances_l1

        out = np.empty((len(Y), len(centroids)))
        distances_l1(Y, np.asarray(centroids, dtype=np.float64), out)
        return out

    def nearest(self, Y: Array, centroids: Array) -> Array:
        """A register-tiled loop over rows and centroids."""
        from apnc.loops import nearest_l1

        labels = np.empty(len(Y), dtype=np.int32)
        centroids = np.asarray(centroids, dtype=np.float64)
        nearest_l1(Y, centroids.astype(np.float32), centroids, labels)
        return labels

    def to_own(self, Y: Array, centroids: Array, labels: Array) -> Array:
        """By direct differences."""
        from apnc.loops import to_own_l1

        out = np.empty(len(Y))
        to_own_l1(Y, np.asarray(centroids, dtype=np.float64), labels, out)
        return out
