"""A fitted kernel k-means: all that prediction needs."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from apnc.clustering.lloyd import LabelAndSum, assign_all
from apnc.discrepancy import Discrepancy
from apnc.embeddings import Coefficients
from apnc.embeddings.family import embed
from apnc.engines.contract import Chunk, Chunks
from apnc.kernels import Kernel

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class EmbeddingModel:
    """A kernel with fitted coefficients.

    Attributes
    ----------
    kernel : k(., .) with every parameter resolved.
    coefficients : R, e and beta.
    residual : mean of 1 - |y|^2 / k(x, x) over a sample: what the landmarks do not span.

    """

    kernel: Kernel
    coefficients: Coefficients
    residual: float

    def embed(self, chunks: Chunks, dtype: type, out: type = np.float32) -> Chunks:
        """Algorithm 1 over new data."""
        return embed(chunks, self.kernel, self.coefficients, dtype, out)

    def embed_array(self, chunks: Chunks, dtype: type, out: type = np.float32) -> Array:
        """Y of local chunks as one array."""
        return np.concatenate([chunk.rows for chunk in self.embed(chunks, dtype, out)])


@dataclass(frozen=True)
class DistancesToAll:
    """Map: distances of a chunk's rows to all centroids, on the kernel's scale."""

    discrepancy: Discrepancy
    centroids: Array
    scale: float

    def __call__(self, chunk: Chunk) -> Chunk:
        return chunk.with_rows(self.scale * self.discrepancy.distances(chunk.rows, self.centroids))


@dataclass(frozen=True)
class ClusterModel:
    """An embedding with centroids, shape (k, m), in embedding space."""

    embedding: EmbeddingModel
    centroids: Array

    @property
    def scale(self) -> float:
        """beta: from discrepancies to the kernel's scale."""
        return self.embedding.coefficients.scale

    @property
    def discrepancy(self) -> Discrepancy:
        """The discrepancy e."""
        return self.embedding.coefficients.discrepancy

    def labels(self, chunks: Chunks, dtype: type) -> Array:
        """Nearest centroid of each row, int32."""
        return assign_all(self.embedding.embed(chunks, dtype), self.centroids, self.discrepancy).labels

    def distances(self, chunks: Chunks, dtype: type) -> Array:
        """Distances to all centroids on the kernel's scale, shape (n, k)."""
        measure = DistancesToAll(self.discrepancy, self.centroids, self.scale)
        return np.concatenate([chunk.rows for chunk in self.embedding.embed(chunks, dtype).map(measure)])

    def inertia(self, chunks: Chunks, dtype: type) -> float:
        """Weighted sum of squared distances to the nearest centroid, on the kernel's scale."""
        step = LabelAndSum(self.discrepancy.against(self.centroids))
        embedded = self.embedding.embed(chunks, dtype)
        return float(embedded.reduce(lambda chunk: step(chunk).sums.inertia, _add)) * self.scale**2


def _add(one: float, two: float) -> float:
    return one + two
