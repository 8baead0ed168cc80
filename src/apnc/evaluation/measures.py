"""The contingency table of clusters and classes, and measures computed from it."""

import math
from dataclasses import dataclass

import numpy as np

from apnc.caching import cached_property
from apnc.typing import Array

#: Clusters and classes are not matched if there are more than this of both: 20,000 took 8 seconds, 200,000 took 150.
MOST_MATCHED = 20_000


@dataclass(frozen=True)
class Comparison:
    """A contingency table, and measures of agreement computed from it.

    Attributes
    ----------
    clusters, classes : names of the k clusters and c classes; integers are sorted by value.
    cluster_of, class_of, counts : arrays of shape (cells,), int64: the cells of the table that are not empty.
    ids : columns by which rows were matched; empty: rows were matched by order.
    n_only_labels, n_only_truth : number of rows that the other file lacks.

    """

    clusters: tuple[str, ...]
    classes: tuple[str, ...]
    cluster_of: Array
    class_of: Array
    counts: Array
    ids: tuple[str, ...] = ()
    n_only_labels: int = 0
    n_only_truth: int = 0

    @property
    def n_rows(self) -> int:
        """Number of rows compared."""
        return int(self.counts.sum())

    @property
    def table(self) -> Array:
        """Counts of shape (k, c), int64."""
        table = np.zeros((len(self.clusters), len(self.classes)), np.int64)
        table[self.cluster_of, self.class_of] = self.counts
        return table

    @cached_property
    def cluster_sizes(self) -> Array:
        """Number of rows in each cluster, shape (k,)."""
        return _sums(self.cluster_of, self.counts, len(self.clusters))

    @cached_property
    def class_sizes(self) -> Array:
        """Number of rows in each class, shape (c,)."""
        return _sums(self.class_of, self.counts, len(self.classes))

    @cached_property
    def mutual_information(self) -> float:
        """Mutual information of clusters and classes, in nats."""
        n = self.n_rows
        independent = self.cluster_sizes[self.cluster_of] / n * self.class_sizes[self.class_of]
        return max(0.0, float(np.sum(self.counts / n * np.log(self.counts / independent))))

    @property
    def nmi_geometric(self) -> float:
        """Mutual information over the geometric mean of the entropies."""
        return self._normalized(math.sqrt(_entropy(self.cluster_sizes) * _entropy(self.class_sizes)))

    @property
    def nmi_arithmetic(self) -> float:
        """Mutual information over the arithmetic mean of the entropies."""
        return self._normalized((_entropy(self.cluster_sizes) + _entropy(self.class_sizes)) / 2)

    @property
    def nmi_max(self) -> float:
        """Mutual information over the larger entropy."""
        return self._normalized(max(_entropy(self.cluster_sizes), _entropy(self.class_sizes)))

    def _normalized(self, mean: float) -> float:
        if len(self.clusters) == len(self.classes) == 1:
            return 1.0
        # As in scikit-learn: what is within rounding error counts as no information.
        if self.mutual_information <= np.finfo(np.float64).eps:
            return 0.0
        return self.mutual_information / mean

    @property
    def homogeneity(self) -> float:
        """1 if each cluster contains rows of one class only."""
        entropy = _entropy(self.class_sizes)
        return self.mutual_information / entropy if entropy else 1.0

    @property
    def completeness(self) -> float:
        """1 if all rows of a class are in one cluster."""
        entropy = _entropy(self.cluster_sizes)
        return self.mutual_information / entropy if entropy else 1.0

    @property
    def v_measure(self) -> float:
        """Harmonic mean of homogeneity and completeness."""
        both = self.homogeneity + self.completeness
        return 2 * self.homogeneity * self.completeness / both if both else 0.0

    @property
    def purity(self) -> float:
        """Share of rows in the most frequent class of their cluster."""
        largest = np.zeros(len(self.clusters), np.int64)
        np.maximum.at(largest, self.cluster_of, self.counts)
        return float(largest.sum() / self.n_rows)

    @property
    def accuracy(self) -> float:
        """Share of rows in the class matched to their cluster, under the best one-to-one matching.

        NaN if there are more than ``MOST_MATCHED`` of both clusters and classes, since matching them takes minutes.
        """
        from scipy import sparse
        from scipy.sparse.csgraph import min_weight_full_bipartite_matching

        shape = (len(self.clusters), len(self.classes))
        if min(shape) > MOST_MATCHED:
            return math.nan
        # Counts plus one, since an edge must not have weight 0; each row has an extra column for staying unmatched.
        table = sparse.csr_array((self.counts + 1.0, (self.cluster_of, self.class_of)), shape=shape)
        table = table if shape[0] <= shape[1] else table.T
        graph = sparse.hstack([table, sparse.eye_array(min(shape))], format="csr")
        matched = graph[min_weight_full_bipartite_matching(graph, maximize=True)].sum() - min(shape)
        return float(matched / self.n_rows)

    @property
    def ari(self) -> float:
        """Adjusted Rand index, computed in Python integers, which do not overflow."""
        n, together = self.n_rows, _squares(self.counts)
        in_clusters, in_classes = _squares(self.cluster_sizes), _squares(self.class_sizes)
        agree, apart = together - n, n * n + together - in_clusters - in_classes
        one, other = in_clusters - together, in_classes - together
        if not one and not other:
            return 1.0
        expected = (agree + one) * (one + apart) + (agree + other) * (other + apart)
        return 2 * (agree * apart - one * other) / expected


def _sums(codes: Array, counts: Array, size: int) -> Array:
    sums = np.zeros(size, np.int64)
    np.add.at(sums, codes, counts)
    return sums


def _entropy(sizes: Array) -> float:
    shares = sizes[sizes > 0] / sizes.sum()
    return float(-(shares * np.log(shares)).sum()) if len(shares) > 1 else 0.0


def _squares(counts: Array) -> int:
    return sum(count * count for count in counts.tolist())
