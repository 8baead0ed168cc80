"""How clusters merge: Ward's tree on the centroids, and models with fewer clusters cut from it."""

from dataclasses import dataclass, replace

import numpy as np

from apnc.model import Model
from apnc.parameters.rules import Rule
from apnc.typing import Array

#: Weight of an empty cluster, as a share of the mean: it joins the nearest one first.
LEAST = 1e-12


@dataclass(frozen=True)
class Tree:
    """How clusters merge, step by step, by Ward's criterion: the pair whose union raises the inertia least.

    Attributes
    ----------
    linkage : array of shape (k - 1, 4) in the format of ``scipy.cluster.hierarchy``, which plots and cuts it: the two
        clusters merged, the height, the number of clusters below. A height is the root of twice the rise of the
        inertia, divided by the mean size of a cluster, so that for clusters of equal size it is scipy's.
    sizes : array of shape (k,), the weight of each cluster.

    """

    linkage: Array
    sizes: Array

    def __len__(self) -> int:
        return len(self.sizes)

    @property
    def heights(self) -> Array:
        """Height of each merge, ascending."""
        return self.linkage[:, 2]

    @property
    def order(self) -> list[int]:
        """The clusters in an order in which no branches cross."""
        n = len(self.sizes)
        below: list[list[int]] = [[leaf] for leaf in range(n)]
        for one, two in self.linkage[:, :2].astype(int).tolist():
            below.append(below[one] + below[two])
        return below[-1]

    def groups(self, k: int) -> Array:
        """The group of each cluster if they are merged until ``k`` are left, int32; numbered by their first cluster."""
        n = len(self.sizes)
        k = Rule(f"a whole number from 1 to {n}, the number of clusters", number=int, low=1, high=n)("k", k)
        roots = list(range(n))
        for step in range(n - k):
            one, two = self.linkage[step, :2].astype(int).tolist()
            roots = [n + step if root in (one, two) else root for root in roots]
        _, first, inverse = np.unique(roots, return_index=True, return_inverse=True)
        return np.argsort(np.argsort(first))[inverse.ravel()].astype(np.int32)


def tree(model: Model) -> Tree:
    """Ward's tree on the centroids, weighted by the sizes of the clusters."""
    assert model.clusters is not None
    sizes = model.clusters.cluster_sizes
    return Tree(ward(between(model), sizes), sizes)


def cut(model: Model, groups: Array) -> Model:
    """The model with its clusters merged into groups; the centroids stay, and a row gets the group of its nearest."""
    assert model.clusters is not None
    before = model.clusters.groups
    merged = groups if before is None else groups[before]
    return replace(model, clusters=replace(model.clusters, groups=merged))


def between(model: Model) -> Array:
    """Squared distances between the centroids of all clusters, in the kernel's space, shape (k, k).

    For clusters that are groups of centroids, between their weighted means, which follow from the distances alone.
    """
    clusters = model.clusters
    assert clusters is not None
    squares = (model.beta * model.discrepancy.distances(model.centroids, model.centroids)) ** 2
    if clusters.groups is None:
        return squares
    weights = positive(clusters.sizes)
    shares = np.zeros((len(weights), clusters.n_clusters))
    shares[np.arange(len(weights)), clusters.groups] = weights
    shares /= shares.sum(axis=0)
    means = shares.T @ squares @ shares
    own = np.diagonal(means) / 2
    found = np.maximum(means - own[:, None] - own, 0.0)
    np.fill_diagonal(found, 0.0)
    return found


def positive(sizes: Array) -> Array:
    """Weights relative to their mean, all above 0."""
    mean = sizes.mean()
    return np.maximum(sizes / mean, LEAST) if mean > 0 else np.ones(len(sizes))


def ward(squares: Array, sizes: Array) -> Array:
    """Ward's linkage of clusters with these squared distances and sizes, by the formula of Lance and Williams."""
    n, weights = len(sizes), positive(sizes)
    costs = 2 * squares * np.multiply.outer(weights, weights) / np.add.outer(weights, weights)
    np.fill_diagonal(costs, np.inf)
    best, numbers, counts = costs.min(axis=1), np.arange(n), np.ones(n, dtype=int)
    linkage = np.empty((n - 1, 4))
    for step in range(n - 1):
        one = int(best.argmin())
        two = int(costs[one].argmin())
        cost, a, b = costs[one, two], weights[one], weights[two]
        stale = (costs[one] == best) | (costs[two] == best)
        joined = ((a + weights) * costs[one] + (b + weights) * costs[two] - weights * cost) / (
            a + b + weights
        )
        linkage[step] = [*sorted((numbers[one], numbers[two])), np.sqrt(cost), counts[one] + counts[two]]
        joined[[one, two]] = np.inf
        costs[one], costs[:, one] = joined, joined
        costs[two], costs[:, two] = np.inf, np.inf
        weights[one], numbers[one], counts[one] = a + b, n + step, counts[one] + counts[two]
        # The union is never nearer to a third cluster than both parts were, so the other rows keep their best.
        stale[[one, two]] = [True, False]
        best[two] = np.inf
        best[stale] = costs[stale].min(axis=1)
    # Only rounding can make them descend.
    linkage[:, 2] = np.maximum.accumulate(linkage[:, 2])
    return linkage
