"""A fitted kernel k-means: all that prediction needs."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from apnc.clustering.lloyd import LabelsOnly, Write, assign_all, label_into
from apnc.discrepancy import Discrepancy
from apnc.embeddings import Coefficients
from apnc.embeddings.family import embedding_steps
from apnc.engines.contract import Chunk, Chunks
from apnc.kernels import Kernel
from apnc.scaling import Scale, Scaling

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class EmbeddingModel:
    """A kernel with fitted coefficients.

    Attributes
    ----------
    kernel : k(., .) with every parameter resolved.
    coefficients : R, e and beta.
    residual : mean of 1 - |y|^2 / k(x, x) over a sample: what the landmarks do not span.
    scaling : what is done to rows before the kernel sees them.

    """

    kernel: Kernel
    coefficients: Coefficients
    residual: float
    scaling: Scaling | None = None

    def row_bytes(self, held: int, dtype: type) -> int:
        """Memory that one row of ``held`` numbers needs while it is embedded, one block at a time."""
        largest = max(block.weights.shape[1] for block in self.coefficients.blocks)
        embedded = self.coefficients.n_components * np.dtype(dtype).itemsize
        return self.kernel.row_bytes(held, largest, dtype) + embedded

    def embed(self, chunks: Chunks, dtype: type, out: type = np.float32) -> Chunks:
        """Algorithm 1 over new data."""
        for step in self.steps(dtype, out):
            chunks = chunks.map(step)
        return chunks

    def steps(self, dtype: type, out: type = np.float32) -> list[Callable[[Chunk], Chunk]]:
        """The maps of Algorithm 1, and the scaling before them."""
        steps = embedding_steps(self.kernel, self.coefficients, dtype, out)
        return steps if self.scaling is None else [Scale(self.scaling, dtype), *steps]

    def embed_array(self, chunks: Chunks, n_rows: int | None, dtype: type, out: type = np.float32) -> Array:
        """Y of local chunks as one array."""
        return collect(self.embed(chunks, dtype, out), n_rows, self.coefficients.n_components, out)


@dataclass(frozen=True)
class WriteInto:
    """Map: a local chunk's rows to their place in one array."""

    out: Array

    def __call__(self, chunk: Chunk) -> Chunk:
        self.out[chunk.carry.start : chunk.carry.stop] = chunk.rows
        return chunk.with_rows(None)


def collect(chunks: Chunks, n_rows: int | None, n_columns: int, dtype: type) -> Array:
    """Rows of local chunks as one array, written there by the workers if their number is known."""
    if n_rows is None:
        return np.concatenate([chunk.rows for chunk in chunks])
    write = WriteInto(np.empty((n_rows, n_columns), dtype=dtype))
    for _ in chunks.map(write):
        pass
    return write.out


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

    def label_steps(self, dtype: type) -> list[Callable[[Chunk], Chunk]]:
        """Maps of a chunk to its labels."""
        return [*self.embedding.steps(dtype), LabelsOnly(self.discrepancy.against(self.centroids))]

    def distance_steps(self, dtype: type) -> list[Callable[[Chunk], Chunk]]:
        """Maps of a chunk to its distances to all centroids."""
        return [
            *self.embedding.steps(dtype),
            DistancesToAll(self.discrepancy, self.centroids, self.scale),
        ]

    def label_into(self, write: Write, chunks: Chunks, dtype: type) -> None:
        """The same, handed on chunk by chunk."""
        label_into(write, self.embedding.embed(chunks, dtype), self.centroids, self.discrepancy)

    def distances(self, chunks: Chunks, n_rows: int | None, dtype: type) -> Array:
        """Distances to all centroids on the kernel's scale, shape (n, k)."""
        for step in self.distance_steps(dtype):
            chunks = chunks.map(step)
        return collect(chunks, n_rows, len(self.centroids), np.float64)

    def inertia(self, chunks: Chunks, dtype: type) -> float:
        """Weighted sum of squared distances to the nearest centroid, on the kernel's scale."""
        embedded = self.embedding.embed(chunks, dtype)
        last = assign_all(embedded, self.centroids, self.discrepancy, keep=False)
        return last.sums.inertia * self.scale**2
