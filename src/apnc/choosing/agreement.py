"""How well two clusterings of the same rows agree."""

import numpy as np

from apnc.typing import Array


def contingency(one: Array, two: Array, weights: Array, k: int) -> Array:
    """Weight of the rows in each pair of clusters, shape (k, k)."""
    return np.bincount(one * k + two, weights, k * k).reshape(k, k)


def prediction_strength(own: Array, predicted: Array, weights: Array, k: int) -> float:
    """Tibshirani and Walther's prediction strength: that of the worst cluster.

    Of the pairs of rows in one cluster of ``own``, the share that ``predicted`` keeps together. A cluster without a
    pair of rows has strength 0: nothing speaks for it.
    """
    # Pairs of a row with itself are left out: they always stay together.
    together = contingency(own, predicted, weights, k) ** 2 - contingency(own, predicted, weights**2, k)
    pairs = np.bincount(own, weights, k) ** 2 - np.bincount(own, weights**2, k)
    shares = np.divide(together.sum(axis=1), pairs, out=np.zeros(k), where=pairs > 0)
    return float(np.clip(shares.min(), 0.0, 1.0))


def adjusted_rand(one: Array, two: Array, weights: Array, k: int) -> float:
    """The adjusted Rand index over pairs of rows, each pair with the product of the weights."""
    table, selves = contingency(one, two, weights, k), float((weights**2).sum())
    both, first, second = (
        float((part**2).sum()) - selves for part in (table, table.sum(axis=1), table.sum(axis=0))
    )
    pairs = float(weights.sum()) ** 2 - selves
    expected = first * second / pairs if pairs > 0 else 0.0
    most = (first + second) / 2
    return (both - expected) / (most - expected) if most > expected else 1.0
