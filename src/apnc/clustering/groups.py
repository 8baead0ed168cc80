"""Clusters that are groups of centroids: a cluster's distance is that to the nearest centroid of its group."""

import numpy as np

from apnc.typing import Array


def nearest_of_groups(distances: Array, groups: Array) -> Array:
    """The smallest distance to each group, shape (n, number of groups), from those to the centroids."""
    order = np.argsort(groups, kind="stable")
    starts = np.searchsorted(groups[order], np.arange(groups.max() + 1))
    return np.minimum.reduceat(distances[:, order], starts, axis=1)


def sums_of_groups(values: Array, groups: Array) -> Array:
    """The sum of each group's values, along the first axis."""
    sums = np.zeros((groups.max() + 1, *values.shape[1:]))
    np.add.at(sums, groups, values)
    return sums


def means_of_groups(rows: Array, weights: Array, groups: Array) -> Array:
    """The weighted mean of each group's rows; the plain mean where no row has a weight."""
    empty = sums_of_groups(weights, groups)[groups] == 0
    weights = np.where(empty, 1.0, weights)
    return sums_of_groups(weights[:, None] * rows, groups) / sums_of_groups(weights, groups)[:, None]
