"""Kernel k-means on a sample, as it would go on all rows.

A row of a sample pulls the mean of its cluster towards itself, and the means of few rows are noisy, so that on a small
sample rows stay where they are. The distances here are those to the means of all rows, estimated without bias
(docs/decisions/23-certificate.md).
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from apnc.caching import cached_property
from apnc.typing import Array

#: Iterations, at most.
ITERATIONS = 100


class Points(Protocol):
    """Points that are known by their inner products."""

    @property
    def squares(self) -> Array:
        """Squared norms, shape (n,)."""
        ...

    def times(self, U: Array) -> Array:
        """Inner products with the combinations U of the points, shape (n, k)."""
        ...

    def part(self, rows: Array) -> "Points":
        """Some of the points."""
        ...


@dataclass(frozen=True)
class Similar:
    """Points of the kernel's space, from their kernel matrix K, shape (n, n)."""

    K: Array

    @property
    def squares(self) -> Array:
        """k(x, x)."""
        return self.K.diagonal()

    def times(self, U: Array) -> Array:
        """K U."""
        product: Array = self.K @ U
        return product

    def part(self, rows: Array) -> "Similar":
        """A submatrix."""
        return Similar(self.K[np.ix_(rows, rows)])


@dataclass(frozen=True)
class Vectors:
    """Points as vectors Y, shape (n, m)."""

    Y: Array

    @cached_property
    def squares(self) -> Array:
        """Squared norms."""
        return np.einsum("ij,ij->i", self.Y, self.Y)

    def times(self, U: Array) -> Array:
        """Y Y^T U."""
        product: Array = self.Y @ (self.Y.T @ U)
        return product

    def part(self, rows: Array) -> "Vectors":
        """Some of the rows."""
        return Vectors(self.Y[rows])


@dataclass(frozen=True)
class Sampled:
    """What a partition of a sample is measured by: weights of the points, k, and their share of all rows."""

    weights: Array
    n_clusters: int
    share: float

    def part(self, rows: Array) -> "Sampled":
        """Some of the points."""
        return Sampled(self.weights[rows], self.n_clusters, self.share * len(rows) / len(self.weights))


def distances(points: Points, labels: Array, sampled: Sampled) -> Array:
    """Squared distances to the means of all rows in each cluster, shape (n, k), estimated from the sample.

    With W the weight of a cluster, V the variance of its mean in a sample and d the squared distance to that mean, a
    row of another cluster is d - (1 - share) V from the mean of all rows, and a row of weight w of the cluster itself
    (1 - share w / W)^2 (d / (1 - w / W)^2 - (1 - share) V / (1 - w / W)). With share = 1 both are d.
    """
    weights, k, rest = sampled.weights, sampled.n_clusters, 1 - sampled.share
    rows, W = np.arange(len(labels)), np.bincount(labels, sampled.weights, minlength=sampled.n_clusters)
    r = weights / W[labels]
    U = np.zeros((len(labels), k))
    U[rows, labels] = r
    products = points.times(U)
    D = points.squares[:, None] - 2 * products + np.einsum("nk,nk->k", U, products)
    D[:, W == 0] = np.inf
    own = D[rows, labels]
    alone = r > 1 - 1e-9
    off = 1 - np.where(alone, 0.0, r)
    lost = np.maximum(1 - np.bincount(labels, r**2, minlength=k), 1e-9)
    V = np.bincount(labels, r**2 * own, minlength=k) / lost
    D -= rest * V
    estimated = (1 - sampled.share * r) ** 2 * (own / off**2 - rest * V[labels] / off)
    # Nothing is known of other rows around a single one.
    D[rows, labels] = np.where(alone, own, estimated)
    return D


def objective(points: Points, labels: Array, sampled: Sampled) -> float:
    """Sum of squared distances to the own mean, for all rows per row of the sample."""
    D = distances(points, labels, sampled)
    return float(sampled.weights @ D[np.arange(len(labels)), labels])


def continued(points: Points, labels: Array, sampled: Sampled) -> Array:
    """Labels after Lloyd's iterations from a partition: the best met, since unbiased distances need not descend."""
    best, lowest = labels, np.inf
    for _ in range(ITERATIONS):
        D = distances(points, labels, sampled)
        reached = float(sampled.weights @ D[np.arange(len(labels)), labels])
        if reached < lowest:
            best, lowest = labels, reached
        moved = D.argmin(axis=1)
        if np.array_equal(moved, labels):
            break
        labels = moved
    return best
