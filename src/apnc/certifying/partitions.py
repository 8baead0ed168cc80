"""Two partitions of the same weighted rows."""

import numpy as np

from apnc.typing import Array


def shares(one: Array, two: Array, weights: Array) -> Array:
    """Contingency table: the share of the weight in each pair of clusters."""
    table = np.zeros((one.max() + 1, two.max() + 1))
    np.add.at(table, (one, two), weights)
    return table / weights.sum()


def agreement(one: Array, two: Array, weights: Array) -> float:
    """Adjusted Rand index of weighted rows, for pairs drawn with replacement, so that weights need not be counts."""
    table = shares(one, two, weights)
    together, in_one, in_two = (
        (table**2).sum(),
        (table.sum(axis=1) ** 2).sum(),
        (table.sum(axis=0) ** 2).sum(),
    )
    expected, most = in_one * in_two, (in_one + in_two) / 2
    return float((together - expected) / (most - expected)) if most > expected else 1.0


def pairwise_agreement(partitions: list[Array], weights: Array) -> float:
    """Mean agreement of all pairs of partitions."""
    pairs = [(one, two) for i, one in enumerate(partitions) for two in partitions[:i]]
    return float(np.mean([agreement(one, two, weights) for one, two in pairs]))


def share_changed(one: Array, two: Array, weights: Array) -> float:
    """Share of the weight whose label differs, for labels with the same meaning."""
    return float(weights @ (one != two) / weights.sum())


def share_moved(one: Array, two: Array, weights: Array) -> float:
    """Share of the weight outside the clusters that match best, one to one, for labels in any order."""
    from scipy.optimize import linear_sum_assignment

    table = shares(one, two, weights)
    return max(0.0, 1.0 - float(table[linear_sum_assignment(table, maximize=True)].sum()))
