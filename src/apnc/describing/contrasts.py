"""Features that set a cluster apart from the rest: means of vectors, words of sparse rows."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from apnc.scaling import CONSTANT, Columns
from apnc.typing import Array

#: Weight of the prior, in rows: words are taken to be as frequent as everywhere until so many rows say otherwise.
PRIOR = 10.0


@dataclass(frozen=True)
class Contrast:
    """A feature that sets a cluster apart.

    Attributes
    ----------
    name : of the feature.
    score : for vectors, the difference of the means in standard deviations; for sparse rows, the z-score of the
        log-odds that the word occurs.
    inside, overall : mean of the feature in the cluster and in all rows; for sparse rows, the share of rows with it.

    """

    name: str
    score: float
    inside: float
    overall: float


@dataclass(frozen=True)
class VectorTotals:
    """Statistics of dense features: of all rows, and sums of shape (k, d) by cluster."""

    columns: Columns
    sums: Array

    @classmethod
    def of(cls, rows: Array, labels: Array, weights: Array, n_clusters: int) -> "VectorTotals":
        """Of rows with positive weight."""
        wide = np.asarray(rows, dtype=np.float64)
        return cls(Columns.of(wide, weights), indicator(labels, weights, n_clusters) @ wide)

    def __add__(self, other: "VectorTotals") -> "VectorTotals":
        return VectorTotals(self.columns + other.columns, self.sums + other.sums)

    def contrasts(self, sizes: Array, names: Sequence[str], n: int) -> list[tuple[Contrast, ...]]:
        """The ``n`` features of each cluster whose means differ most from those of all rows."""
        columns = self.columns
        varies = columns.high - columns.low > CONSTANT * np.maximum(np.abs(columns.low), np.abs(columns.high))
        deviation = np.sqrt(columns.spread / columns.weight)
        found = []
        for size, sums in zip(sizes, self.sums, strict=True):
            means = sums / size if size else columns.mean
            scores = np.divide(
                means - columns.mean, deviation, out=np.zeros(len(means)), where=varies & (deviation > 0)
            )
            found.append(listed(names, scores, means, columns.mean, np.abs(scores), n))
        return found


@dataclass(frozen=True)
class WordTotals:
    """Weights of the rows that have each feature, by cluster: a CSR matrix of shape (k, d)."""

    counts: Any

    @classmethod
    def of(cls, rows: Any, labels: Array, weights: Array, n_clusters: int) -> "WordTotals":
        """Of CSR rows with positive weight."""
        present = sparse.csr_array(
            ((rows.data != 0).astype(np.float64), rows.indices, rows.indptr), shape=rows.shape
        )
        return cls(sparse.csr_array(indicator(labels, weights, n_clusters) @ present))

    def __add__(self, other: "WordTotals") -> "WordTotals":
        return WordTotals(self.counts + other.counts)

    def contrasts(self, sizes: Array, names: Sequence[str], n: int) -> list[tuple[Contrast, ...]]:
        """The ``n`` words of each cluster that tell it best from the others."""
        total, everywhere = sizes.sum(), np.asarray(self.counts.sum(axis=0)).ravel()
        found = []
        for cluster, size in enumerate(sizes):
            within = self.counts[[cluster]].toarray().ravel()
            scores = log_odds(within, size, everywhere, total)
            shares = within / size if size else within
            found.append(
                listed(names, scores, shares, everywhere / total, np.where(within > 0, scores, 0), n)
            )
        return found


def log_odds(within: Array, size: float, everywhere: Array, total: float) -> Array:
    """z-score of the log-odds that rows of a cluster have a word, against the rest (Monroe et al. 2008, Eq. 22).

    The prior is informative: the odds everywhere, with the weight of ``PRIOR`` rows.
    """
    share = (everywhere + 0.5) / (total + 1)
    logs, variances = [], []
    for have, of in ((within, size), (everywhere - within, total - size)):
        yes = np.maximum(have, 0) + PRIOR * share
        no = np.maximum(of - have, 0) + PRIOR * (1 - share)
        logs.append(np.log(yes / no))
        variances.append(1 / yes + 1 / no)
    return (logs[0] - logs[1]) / np.sqrt(variances[0] + variances[1])


def indicator(labels: Array, weights: Array, n_clusters: int) -> Any:
    """A sparse matrix of shape (k, n) with the weight of each row at its cluster."""
    places = np.arange(len(labels) + 1)
    return sparse.csr_array((weights, labels, places), shape=(len(labels), n_clusters)).T


def listed(
    names: Sequence[str], scores: Array, inside: Array, overall: Array, merit: Array, n: int
) -> tuple[Contrast, ...]:
    """The ``n`` features of highest merit above 0; ties, in float32, in the order of features."""
    order = np.argsort(-merit.astype(np.float32), kind="stable")[:n]
    return tuple(
        Contrast(str(names[j]), float(scores[j]), float(inside[j]), float(overall[j]))
        for j in order[merit[order] > 0]
    )
