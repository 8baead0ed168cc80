"""Where embedded rows are among the clusters: labels, distances, memberships and outlier scores."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from apnc.caching import cached_property
from apnc.discrepancy.nearest import Nearest
from apnc.engines.contract import Chunk
from apnc.model import Clusters, Model
from apnc.typing import Array

OLD_MODEL = (
    "This model has no outlier scores: it was saved by an older version, which did not keep the distances of the fit. "
    "Fit again."
)


class Placed:
    """The embedded rows of a chunk among the clusters; each quantity is computed once, when it is asked for."""

    def __init__(self, chunk: Chunk, clusters: Clusters, nearest: Nearest, beta: float) -> None:
        self.chunk, self.clusters, self.search, self.beta = chunk, clusters, nearest, beta

    @cached_property
    def centroids(self) -> Array:
        """Number of the nearest centroid."""
        # Exact, because the discrepancies are kept for ``own``.
        return self.search.assign(self.chunk.rows, self.chunk.weights, self.chunk.scratch, exact=True)[0]

    @cached_property
    def own(self) -> Array:
        """Discrepancy to it."""
        return self.search.known_own(self.chunk.rows, self.centroids, self.chunk.scratch)

    @cached_property
    def labels(self) -> Array:
        """Cluster of each row, int32."""
        return self.clusters.clusters_of(self.centroids)

    @property
    def distance(self) -> Array:
        """Distance to the own centroid, in the kernel's space."""
        return self.beta * self.own

    @property
    def remoteness(self) -> Array:
        """What outliers are scored by: how far each row is from the own centroid, as in the model's quantiles."""
        quantiles = self.clusters.quantiles
        diagonal = None if quantiles is None else quantiles.diagonal
        return self.search.remoteness(self.chunk.rows, self.centroids, self.chunk.scratch, diagonal)

    @cached_property
    def distances(self) -> Array:
        """Distances to all clusters, in the kernel's space, shape (n, k)."""
        to_centroids = self.search.discrepancy.distances(self.chunk.rows, self.search.centroids)
        return self.clusters.nearest(self.beta * to_centroids)

    @property
    def membership(self) -> Array:
        """Softmax of -d^2 / T over the clusters, shape (n, k)."""
        return softened(self.distances**2, self.clusters.mean_square)

    @property
    def outlier(self) -> Array:
        """Share of the cluster's rows in the fit that are nearer to their centroid."""
        quantiles = self.clusters.cluster_quantiles
        if quantiles is None:
            raise ValueError(OLD_MODEL)
        return quantiles.scores(self.labels, self.remoteness)


def softened(squares: Array, temperature: float) -> Array:
    """Softmax of -squares / temperature along the rows; at 0 the smallest of a row share 1."""
    gaps = squares - squares.min(axis=1, keepdims=True)
    with np.errstate(over="ignore"):
        shares = np.exp(-gaps / temperature) if temperature > 0 else (gaps == 0).astype(np.float64)
    return shares / shares.sum(axis=1, keepdims=True)


def label_of(placed: Placed) -> Array:
    """The cluster."""
    return placed.labels


def distance_of(placed: Placed) -> Array:
    """Distance to the own centroid."""
    return placed.distance


def distances_of(placed: Placed) -> Array:
    """Distances to all clusters."""
    return placed.distances


def membership_of(placed: Placed) -> Array:
    """Shares of all clusters."""
    return placed.membership


def outlier_of(placed: Placed) -> Array:
    """The outlier score."""
    return placed.outlier


Value = Callable[[Placed], Array]
#: What can be found for embedded rows, by the name of the output.
VALUES: Mapping[str, Value] = MappingProxyType(
    {
        "label": label_of,
        "distance": distance_of,
        "distances": distances_of,
        "membership": membership_of,
        "outlier": outlier_of,
    }
)


@dataclass(frozen=True)
class Together:
    """Several values of each row, as one structured array."""

    dtype: np.dtype[Any]

    def __call__(self, placed: Placed) -> Array:
        names = self.dtype.names or ()
        found = np.empty(len(placed.chunk.weights), self.dtype)
        for name in names:
            found[name] = VALUES[name](placed)
        return found


@dataclass(frozen=True)
class Placing:
    """Embedded chunks to their place among the clusters of a model."""

    clusters: Clusters
    nearest: Nearest
    beta: float

    @classmethod
    def of(cls, model: Model) -> "Placing":
        """The place among the clusters of this model."""
        assert model.clusters is not None
        return cls(model.clusters, model.discrepancy.against(model.centroids), model.beta)

    def __call__(self, chunk: Chunk) -> Placed:
        return Placed(chunk, self.clusters, self.nearest, self.beta)


@dataclass(frozen=True)
class Find:
    """Map: embedded rows to one of the values."""

    placing: Placing
    value: Value

    def __call__(self, chunk: Chunk) -> Chunk:
        return chunk.with_rows(self.value(self.placing(chunk)))
