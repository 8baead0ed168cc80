"""A fitted model: everything that prediction needs, and the results of the fit."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from apnc.clustering.groups import means_of_groups, nearest_of_groups, sums_of_groups
from apnc.clustering.quantiles import Quantiles
from apnc.discrepancy import Discrepancy
from apnc.embeddings import Coefficients
from apnc.embeddings.family import embedding_steps
from apnc.engines.contract import Chunk, Chunks
from apnc.kernels import Kernel
from apnc.rows import GivenRows, compute_dtype, concatenate, n_rows
from apnc.scaling import Scale, Scaling
from apnc.stored import ADDED, largest, require, stored
from apnc.typing import Array

Step = Callable[[Chunk], Chunk]
#: Largest coordinates of embedded landmarks and of centroids in a model file: their squares must fit in float32.
LARGEST_ROW, LARGEST_CENTROID = 1e16, 1e18


@stored
@dataclass(frozen=True)
class EmbeddingModel:
    """A kernel with fitted coefficients.

    Attributes
    ----------
    kernel : k(., .) with every parameter resolved.
    coefficients : R, e and beta.
    residual : mean of 1 - |y|^2 / k(x, x) over a sample: the share that the landmarks do not span; None if the
        embedding does not approximate the kernel.
    scaling : applied to rows before the kernel.

    """

    kernel: Kernel
    coefficients: Coefficients
    residual: float | None
    scaling: Scaling | None = None

    def check(self) -> None:
        """Require landmarks that suit the kernel, and embed a few of them as a test."""
        of_kernel = all(block.of_kernel for block in self.coefficients.blocks)
        require((self.residual is not None) == of_kernel, "residual does not go with the embedding")
        for block in self.coefficients.blocks:
            self.kernel.check_landmarks(block.landmarks)
        landmarks = self.coefficients.blocks[0].landmarks
        if self.scaling is not None:
            self.scaling.check_landmarks(landmarks)
        rows = self.kernel.trial(landmarks)
        if rows is not None:
            with np.errstate(all="ignore"):
                chunk = Chunk(0, rows, np.ones(n_rows(rows)))
                for step in embedding_steps(self.kernel, self.coefficients, compute_dtype(landmarks)):
                    chunk = step(chunk)
            found = largest(chunk.rows)
            require(
                found <= LARGEST_ROW, f"landmarks are embedded at {found:.3g}, too far out to compute with"
            )

    @property
    def n_pairs(self) -> int:
        """Pairs of objects that the kernel compares to embed one row; 0 if it does not work by pairs."""
        return (
            sum(n_rows(block.landmarks) for block in self.coefficients.blocks) if self.kernel.pairwise else 0
        )

    def work_bytes(self, held: int, dtype: type) -> int:
        """Working memory for embedding one row of ``held`` numbers, one block at a time."""
        largest = max(block.work_bytes(self.kernel, held, dtype) for block in self.coefficients.blocks)
        return largest + self.coefficients.n_components * np.dtype(dtype).itemsize

    def embed(self, chunks: Chunks, dtype: type, out: type = np.float32) -> Chunks:
        """Algorithm 1 on new data."""
        for step in self.steps(dtype, out):
            chunks = chunks.map(step)
        return chunks

    def steps(self, dtype: type, out: type = np.float32) -> list[Step]:
        """The maps of Algorithm 1, preceded by the scaling."""
        steps = embedding_steps(self.kernel, self.coefficients, dtype, out)
        return steps if self.scaling is None else [Scale(self.scaling, dtype), *steps]

    @property
    def diagonal(self) -> float | None:
        """k(x, x), if it is the same for all x, and k(x, x) - |y|^2 is what the landmarks do not span; else None."""
        found = self.coefficients
        of_products = found.discrepancy.of_products and all(block.of_kernel for block in found.blocks)
        known = of_products and found.beta == 1
        # Rows of a normalised kernel are scaled to norm 1, but for those that share nothing with the landmarks.
        return (1.0 if self.kernel.unit else self.kernel.same_diagonal) if known else None

    @property
    def landmarks(self) -> Any:
        """L, the landmarks of all blocks."""
        return concatenate([block.landmarks for block in self.coefficients.blocks])

    @property
    def landmark_numbers(self) -> Array | None:
        """Row numbers of the landmarks in a precomputed kernel matrix; None for other kernels."""
        landmarks = [block.landmarks for block in self.coefficients.blocks]
        if not isinstance(landmarks[0], GivenRows):
            return None
        return np.concatenate([given.numbers for given in landmarks])


@stored
@dataclass(frozen=True)
class Clusters:
    """The result of the clustering.

    Attributes
    ----------
    centroids : array of shape (k, m), in embedding space.
    inertia : weighted sum of squared distances to the nearest centroid, in the kernel's space.
    n_iter : iterations of the full run.
    sizes : array of shape (k,), the weight of each centroid's rows.
    quantiles : their distances, in bins; None in models of an older version.
    groups : array of shape (k,), the cluster of each centroid, after a cut; None: each centroid is a cluster.

    """

    centroids: Array
    inertia: float
    n_iter: int
    sizes: Array
    quantiles: Quantiles | None = field(default=None, metadata={ADDED: True})
    groups: Array | None = field(default=None, metadata={ADDED: True})

    @property
    def n_clusters(self) -> int:
        """Number of clusters."""
        return len(self.centroids) if self.groups is None else int(self.groups.max()) + 1

    @property
    def cluster_sizes(self) -> Array:
        """Weight of each cluster."""
        return self.sizes if self.groups is None else sums_of_groups(self.sizes, self.groups)

    @property
    def centers(self) -> Array:
        """The centroid of each cluster; of a group, the weighted mean."""
        if self.groups is None:
            return self.centroids
        return means_of_groups(self.centroids, self.sizes, self.groups)

    @property
    def mean_square(self) -> float:
        """Mean squared distance to the nearest centroid, in the kernel's space."""
        total = float(self.sizes.sum())
        return max(0.0, self.inertia / total) if total else 0.0

    @property
    def cluster_quantiles(self) -> Quantiles | None:
        """The distances of each cluster's rows, in bins; None if they are not known."""
        if self.groups is None or self.quantiles is None:
            return self.quantiles
        return replace(self.quantiles, weights=sums_of_groups(self.quantiles.weights, self.groups))

    def clusters_of(self, labels: Array) -> Array:
        """Clusters of rows whose nearest centroids are given, int32."""
        return labels if self.groups is None else self.groups[labels]

    def nearest(self, distances: Array) -> Array:
        """Distances to the clusters, shape (n, n_clusters), from those to the centroids."""
        return distances if self.groups is None else nearest_of_groups(distances, self.groups)

    def check(self) -> None:
        """Require k bounded centroids, k sizes, and what else there is for k centroids."""
        shape = self.centroids.shape
        require(len(shape) == 2 and shape[0] >= 1, f"centroids have shape {shape}, expected (k, m)")
        require(largest(self.centroids) <= LARGEST_CENTROID, f"centroids are beyond {LARGEST_CENTROID:g}")
        expected = shape[:1]
        require(self.sizes.shape == expected, f"sizes have shape {self.sizes.shape}, expected {expected}")
        require((self.sizes >= 0).all(), "sizes are negative")
        require(self.n_iter >= 0, f"n_iter is {self.n_iter}, expected at least 0")
        if self.quantiles is not None:
            found = self.quantiles.weights
            require(len(found) == shape[0], f"quantiles of {len(found)} clusters, expected {shape[0]}")
            agree = np.allclose(found.sum(axis=1), self.sizes, rtol=1e-6, atol=0)
            require(agree, "quantiles do not add up to sizes")
        if self.groups is not None:
            groups = self.groups
            require(groups.shape == expected, f"groups have shape {groups.shape}, expected {expected}")
            require(groups.dtype == np.int32, f"groups are of type {groups.dtype}, expected int32")
            require(
                np.array_equal(np.unique(groups), np.arange(groups.max() + 1)),
                "groups are not numbered from 0",
            )


@stored
@dataclass(frozen=True)
class Features:
    """Number of features (0 for objects), and their names if they have any."""

    number: int = 0
    names: tuple[str, ...] | None = None

    def check(self) -> None:
        """Require as many names as features."""
        require(self.number >= 0, f"number is {self.number}, expected at least 0")
        if self.names is not None:
            require(len(self.names) == self.number, f"{len(self.names)} names of {self.number} features")


@stored
@dataclass(frozen=True)
class Model:
    """An embedding and, if any, the clusters."""

    embedding: EmbeddingModel
    features: Features
    clusters: Clusters | None = None

    def check(self) -> None:
        """Require features and centroids that match the embedding."""
        coefficients = self.embedding.coefficients
        expected = self.embedding.kernel.n_features(coefficients.blocks[0].landmarks)
        require(
            self.features.number == expected,
            f"features.number is {self.features.number}, but the landmarks have {expected} features",
        )
        if self.clusters is not None:
            found, m = self.centroids.shape[1], coefficients.n_components
            require(found == m, f"clusters.centroids have {found} components, expected {m}")

    @property
    def centroids(self) -> Array:
        """Y-bar, shape (k, m)."""
        assert self.clusters is not None
        return self.clusters.centroids

    @property
    def beta(self) -> float:
        """Factor from discrepancies to distances in the kernel's space."""
        return self.embedding.coefficients.beta

    @property
    def discrepancy(self) -> Discrepancy:
        """The discrepancy e."""
        return self.embedding.coefficients.discrepancy

    def attributes(self) -> dict[str, Any]:
        """Fitted attributes of an estimator with this model."""
        embedding, clusters, features = self.embedding, self.clusters, self.features
        found: dict[str, Any] = {
            "_model": self,
            "gamma_": embedding.kernel.gamma,
            "n_landmarks_": embedding.coefficients.n_landmarks,
            "n_components_": embedding.coefficients.n_components,
        }
        if embedding.residual is not None:
            found["residual_"] = embedding.residual
        for block in embedding.coefficients.blocks:
            found |= block.facts()
        numbers = embedding.landmark_numbers
        found |= {"landmarks_": embedding.landmarks} if numbers is None else {"landmark_indices_": numbers}
        if features.number:
            found["n_features_in_"] = features.number
        if features.names is not None:
            found["feature_names_in_"] = np.array(features.names, dtype=object)
        if clusters is not None:
            found |= {
                "cluster_centers_": clusters.centers,
                "inertia_": clusters.inertia,
                "n_iter_": clusters.n_iter,
                "cluster_sizes_": clusters.cluster_sizes,
            }
        return found
