"""The graph between rows and landmarks: its rows, and their sum over all rows."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from apnc.embeddings.neighbours.search import Search
from apnc.engines.contract import Chunk
from apnc.stored import stored
from apnc.typing import Array

#: Similarities are whole multiples of 1 / UNITS, so that sums of their products are exact in any order.
UNITS = 1 << 14
#: A row whose scale is larger than the typical one counts less: its similarities are multiplied by their ratio to this
#: power, but at least by FAINTEST (docs/decisions/21-neighbour-graph.md).
POWER, FAINTEST = 2, 1 / 64


@stored
@dataclass(frozen=True)
class Neighbours:
    """z(x): the r nearest landmarks of a row and its similarities to them.

    Attributes
    ----------
    search : finds the nearest landmarks.
    scales : array of shape (l,), the distance at which a landmark is similar.
    typical : the median of the rows' own scales; rows with a larger one are in sparse regions, and count less.
    n_nearest : r.

    """

    search: Search
    scales: Array
    typical: float
    n_nearest: int

    @classmethod
    def learned(cls, search: Search, indices: Array, squared: Array, weights: Array) -> "Neighbours":
        """The scales from a sample: s_x is the distance to the r-th landmark, s_j the mean of s_x over its rows."""
        r, size = indices.shape[1], len(search.landmarks)
        own = np.sqrt(squared[:, -1])
        counts = np.bincount(indices.ravel(), np.repeat(weights, r), minlength=size)
        sums = np.bincount(indices.ravel(), np.repeat(weights * own, r), minlength=size)
        scales, alone = np.zeros(size), np.flatnonzero(counts == 0)
        # A landmark that no sampled row is near to takes the distance to its own neighbours.
        scales[alone] = np.sqrt(search.nearest(search.landmarks[alone], min(r + 1, size))[1][:, -1])
        np.divide(sums, counts, out=scales, where=counts > 0)
        return cls(search, scales, weighted_median(own, weights), r)

    def __call__(self, X: Array) -> Array:
        """Rows of the graph, int32 of shape (n, 2 r): landmarks, then similarities in units."""
        return self.rows(*self.search.nearest(X, self.n_nearest))

    def rows(self, indices: Array, squared: Array) -> Array:
        """The same from nearest landmarks and squared distances."""
        from apnc.loops.graph import graph_rows

        out = np.empty((len(indices), 2 * self.n_nearest), np.int32)
        graph_rows(indices, squared, self.scales, self.typical, float(POWER), FAINTEST, UNITS, out)
        return out


def weighted_median(values: Array, weights: Array) -> float:
    """The smallest value that at least half of the weight does not exceed."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(weights[order])
    return float(values[order][np.searchsorted(below, below[-1] / 2)])


@dataclass(frozen=True)
class Graph:
    """The graph of the landmarks: sums over rows, exact for whole weights.

    Attributes
    ----------
    links : CSR matrix of shape (l, l), the sum of w z z^T.
    mass : array of shape (l,), the weight of the rows that are nearest to each landmark.

    """

    links: sparse.csr_array
    mass: Array

    def __add__(self, other: "Graph") -> "Graph":
        return Graph(self.links + other.links, self.mass + other.mass)


@dataclass(frozen=True)
class SumGraph:
    """Reduce: rows of the graph to its sum."""

    n_landmarks: int

    def __call__(self, chunk: Chunk) -> Graph:
        r = chunk.rows.shape[1] // 2
        landmarks, similar = chunk.rows[:, :r], chunk.rows[:, r:].astype(np.float64)
        edges = np.arange(0, landmarks.size + 1, r)
        shape = (len(landmarks), self.n_landmarks)
        Z = sparse.csr_array((similar.ravel(), landmarks.ravel(), edges), shape=shape)
        weighted = sparse.csr_array(
            ((similar * chunk.weights[:, None]).ravel(), Z.indices, edges), shape=shape
        )
        mass = np.bincount(landmarks[:, 0], chunk.weights, minlength=self.n_landmarks)
        return Graph((Z.T @ weighted).tocsr(), mass)
