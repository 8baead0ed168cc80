"""A score for ``GridSearchCV`` that may be compared between numbers of clusters and widths of the kernel."""

from typing import Any

import numpy as np
from sklearn.base import clone

from apnc.choosing.agreement import contingency
from apnc.choosing.probe import vectors
from apnc.choosing.valleys import means_of, worst_valley
from apnc.typing import Array


def stability_scorer(estimator: Any, X: Any, y: Any = None) -> float:
    """What a fit tells about rows that it has not seen: for ``GridSearchCV(km, grid, scoring=apnc.stability_scorer)``.

    A copy of ``estimator`` is fitted to X, and its clusters are compared with those that ``estimator``, fitted to other
    rows, predicts. The score is the information that the two have in common, minus that which only one of them has, in
    bits. It shrinks to 0 as the gap between the two nearest clusters fills with rows. So it is log2(k) for k equal
    clusters that are found again exactly and have gaps between them, and 0 or less for clusters that are not. Unlike
    ``estimator.score``, it does not grow with the number of clusters, nor as gamma shrinks.
    """
    if estimator.kernel == "precomputed":
        raise ValueError(
            "stability_scorer fits the rows of the test fold on their own, but kernel='precomputed' gives their "
            "similarities to other rows only. Use apnc.choose, or a kernel function."
        )
    own, labels = clone(estimator).fit(X).labels_.astype(np.int64), estimator.predict(X).astype(np.int64)
    k, weights = estimator.n_clusters, np.ones(len(own))
    shared = shared_information(contingency(labels, own, weights, k))
    if k < 2 or shared <= 0:
        return shared
    rows, scaling = vectors(X, estimator.kernel), estimator._model.embedding.scaling
    if rows is not None and scaling is not None:
        rows = scaling(rows, np.float64)
    means = None if rows is None else means_of(rows, weights, labels, k)
    valley = worst_valley(estimator.embed(X), weights, labels, estimator.cluster_centers_, rows, means)
    return shared * max(0.0, 1.0 - valley)


def shared_information(table: Array) -> float:
    """Mutual information less both conditional entropies, in bits, of a contingency table."""
    joint, first, second = (entropy(part) for part in (table, table.sum(axis=1), table.sum(axis=0)))
    # The mutual information is first + second - joint, the two conditional entropies are joint less each of them.
    return 2 * (first + second) - 3 * joint


def entropy(counts: Array) -> float:
    """The entropy of shares, in bits."""
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log2(shares)).sum())
