"""The neighbour graph as an APNC embedding: sparse kernel rows, and spectral coordinates of the landmarks."""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from apnc.discrepancy import Euclidean
from apnc.embeddings.components import LEAST_COMPONENTS, needed_components
from apnc.embeddings.family import (
    Block,
    Coefficients,
    Comparison,
    Embedding,
    Join,
    Request,
    block_steps,
    join_of,
)
from apnc.embeddings.neighbours.block import Compare, NeighbourBlock, Place, Step
from apnc.embeddings.neighbours.coordinates import Coordinates, coordinates_of
from apnc.embeddings.neighbours.landmarks import ITERATIONS, LEAST, MOST_NEAREST, ROWS_EACH, chosen
from apnc.embeddings.neighbours.links import UNITS, Graph, Neighbours, SumGraph
from apnc.embeddings.nystroem import NystroemEmbedding
from apnc.engines.contract import Chunks, SingleChunk
from apnc.kernels import Kernel
from apnc.kernels.remembering import RememberingKernel
from apnc.parameters.rules import links_or_auto
from apnc.rows import n_rows
from apnc.sampling import Sample
from apnc.stored import require, stored
from apnc.typing import Array

#: Components besides one for each cluster.
MORE_COMPONENTS = 10
#: Bytes for each landmark and vector of the Lanczos method, and of the dense matrices of a small graph.
LANCZOS_BYTES, DENSE_BYTES = 8 * 100, 4 * 8 * 1000**2
#: Kernel values and vectors of the sample, before and after the components that are needed are known.
VECTOR_COPIES = 3


class NeighbourEmbedding(Embedding):
    """Spectral coordinates of a graph between rows and landmarks, in which only the nearest landmarks count.

    ``SpectralClustering`` is k-means on it. Rows are compared with the landmarks by the distance
    d^2 = k(x, x) + k(y, y) - 2 k(x, y). A row's kernel row z(x) holds its similarities exp(-d^2 / (s_x s_j)) to its
    ``n_nearest`` landmarks; y = z(x) F, scaled to norm 1, where F are eigenvectors of the landmarks' graph
    G = sum z z^T, weighted by commute times (docs/decisions/21-neighbour-graph.md).

    Parameters
    ----------
    n_nearest : int or "auto", default="auto"
        Landmarks that a row is linked to, at least 2. More make the graph smoother; text needs about 20. "auto": 3, or
        6 or 12 if the graph of a sample falls into more pieces than there are clusters and that joins some.

    """

    least_landmarks: ClassVar[int] = LEAST
    most_landmarks: ClassVar[int] = 10_000
    roots: ClassVar[int] = 20
    share: ClassVar[float] = 0.25
    rows_each: ClassVar[int] = ROWS_EACH
    # Those of Lloyd and one for the scales, as often as landmarks are halved; two to make vectors of objects.
    sample_passes: ClassVar[int] = 2 * (ITERATIONS + 1) + 2
    n_starts: ClassVar[int] = 20
    compares_rows: ClassVar[bool] = True

    def __init__(self, n_nearest: int | str = "auto"):
        self.n_nearest = n_nearest

    def most_components(self, n_landmarks: int, n_clusters: int) -> int:
        """One for each cluster, and ten more."""
        return n_clusters + MORE_COMPONENTS

    def reduce_bytes(self, n_landmarks: int, n_components: int, sample_rows: int) -> dict[str, float]:
        """The sparse eigenproblem, and the neighbours of the sample."""
        r = MOST_NEAREST if self.n_nearest == "auto" else int(self.n_nearest)
        links = 40.0 * n_landmarks * r**2
        return {
            "coefficients": DENSE_BYTES + n_landmarks * (LANCZOS_BYTES + 32.0 * n_components) + links,
            "embedded sample": sample_rows * (40.0 * r + 128),
        }

    def vector_bytes(self, sample_rows: int, n_clusters: int, itemsize: int) -> dict[str, float]:
        """Kernel values of the sample, and its vectors."""
        values = float(sample_rows * n_spanning(sample_rows, n_clusters))
        return {"vectors of the sample": VECTOR_COPIES * itemsize * values}

    def coefficients(
        self, landmarks: Any, kernel: Kernel, n_components: int, rng: np.random.Generator
    ) -> Coefficients:
        """The graph of the landmarks' own rows, without any other."""
        weights = np.ones(landmarks.shape[0] if hasattr(landmarks, "shape") else len(landmarks))
        request = Request(Sample(landmarks, weights), kernel, len(weights), 0, np.float64, rng, fixed=True)
        comparison = self.compare(request)
        rows = comparison.compare(SingleChunk.of(landmarks, weights).chunk)
        return comparison.coefficients(SingleChunk(rows), n_components)[0]

    def compare(self, request: Request) -> "GraphOfRows":
        """Choose the landmarks, and how rows are compared with them."""
        r = links_or_auto("n_nearest", self.n_nearest)
        pool, base, kernel = request.pool, None, request.kernel
        rows = pool.rows
        if not (kernel.euclidean and isinstance(rows, np.ndarray)):
            base, kernel, rows = vectors_of(request)
        vectors = Sample(np.ascontiguousarray(rows, dtype=request.dtype), pool.weights)
        l = min(request.n_landmarks, len(pool))  # noqa: E741
        found = chosen(vectors, l, r, request.n_clusters, request.fixed, request.spread)
        return GraphOfRows(Compare(kernel, base, found, request.dtype), request.n_clusters)


def vectors_of(request: Request) -> tuple[Block, Kernel, Array]:
    """The Nystroem embedding in which rows are vectors, its kernel, and the vectors of the pool."""
    nystroem, pool = NystroemEmbedding(), request.pool
    landmarks = pool.first(n_spanning(len(pool), request.n_clusters)).rows
    kernel = request.kernel.of_landmarks(landmarks)
    known = RememberingKernel(kernel, lambda n: request.on_rows(n // n_rows(landmarks)))
    found = nystroem.coefficients(landmarks, known, nystroem.most_components(0, 0), request.rng)
    found = needed_components(
        found, embedded(pool, known, found, request.dtype), pool.weights, LEAST_COMPONENTS
    )
    Y = join_of(kernel, found, request.dtype).finished(embedded(pool, known, found, request.dtype))
    return Block(kernel.remember(landmarks), found.blocks[0].weights), kernel, Y


def n_spanning(n_pool: int, n_clusters: int) -> int:
    """Number of landmarks in whose span rows become vectors."""
    rule = NystroemEmbedding()
    return min(max(rule.least_landmarks, 4 * n_clusters, int(np.sqrt(n_pool))), rule.most_landmarks)


def embedded(sample: Sample, kernel: Kernel, coefficients: Coefficients, dtype: type) -> Array:
    """R K_L(x) of a sample on the driver."""
    chunks = SingleChunk.of(sample.rows, sample.weights)
    for step in block_steps(kernel, coefficients, dtype):
        chunks = chunks.map(step)
    joined: Array = chunks.chunk.rows.joined
    return joined


@stored
@dataclass(frozen=True)
class GraphOfRows(Comparison):
    """How rows are compared with their nearest landmarks, before the graph is known."""

    compare: Compare
    n_clusters: int

    def check(self) -> None:
        """Require shapes that match, as in the coefficients."""
        self.nowhere.check()

    def check_for(self, n_columns: int, n_clusters: int, dtype: type) -> None:
        """Require the columns of the rows, the number of clusters and the compute type."""
        block, kernel = self.nowhere, self.kernel
        require(kernel.n_features(block.landmarks) == n_columns, f"landmarks without {n_columns} columns")
        require(self.n_clusters == n_clusters, f"n_clusters is {self.n_clusters}, expected {n_clusters}")
        right = self.compare.dtype is dtype and block.vectors.dtype == dtype
        require(right, f"vectors of type {block.vectors.dtype}, expected {dtype.__name__}")
        if self.compare.base is not None:
            kernel.check_landmarks(block.landmarks)

    def check_compared(self, rows: Array) -> None:
        """Require r numbers of landmarks and r similarities in each row: the loops do not check them."""
        r = self.neighbours.n_nearest
        require(rows.dtype == np.int32 and rows.shape[1] == 2 * r, f"rows of {rows.dtype}, {rows.shape}")
        landmarks, similar = rows[:, :r], rows[:, r:]
        inside = not len(rows) or (landmarks.min() >= 0 and landmarks.max() < self.n_landmarks)
        require(inside, f"landmarks are not all from 0 to {self.n_landmarks - 1}")
        units = not len(rows) or (similar.min() >= 0 and 0 < similar.max() <= UNITS)
        require(units and similar.any(axis=1).all(), f"similarities are not all from 0 to {UNITS}")

    @property
    def n_landmarks(self) -> int:
        """Number of landmarks."""
        return len(self.neighbours.scales)

    @property
    def nowhere(self) -> NeighbourBlock:
        """The coefficients before landmarks have coordinates."""
        return self.block(Coordinates(np.zeros((self.n_landmarks, 1)), np.zeros(1), 0, 1))

    @property
    def kernel(self) -> Kernel:
        """The kernel by which rows are compared."""
        return self.compare.kernel

    @property
    def neighbours(self) -> Neighbours:
        """The rows of the graph."""
        return self.compare.neighbours

    @property
    def n_compared(self) -> int:
        """Those in whose span rows become vectors, unless they are vectors already."""
        return 0 if self.compare.base is None else n_rows(self.compare.base.landmarks)

    def work_bytes(self, held: int) -> int:
        """That of embedding, but for the embedding itself."""
        return self.nowhere.work_bytes(self.compare.kernel, held, self.compare.dtype)

    def coefficients(self, compared: Chunks, n_components: int) -> tuple[Coefficients, Sample]:
        """One pass over the rows of the graph, then its eigenvectors; and the landmarks, to start from."""
        graph = compared.reduce(SumGraph(self.n_landmarks), Graph.__add__)
        search = self.neighbours.search
        found = coordinates_of(graph, search, n_components, self.n_clusters)
        block = self.block(found)
        there = np.flatnonzero(graph.mass)
        rows = np.column_stack([there, np.ones_like(there)]).astype(np.int32)
        places = Place(block.weights, block.n_between, np.float32).placed(rows)
        return Coefficients((block,), Euclidean()), Sample(places, graph.mass[there])

    def block(self, found: Coordinates) -> NeighbourBlock:
        """The coefficients with these coordinates."""
        near, base = self.neighbours, self.compare.base
        vectors = near.search.landmarks
        return NeighbourBlock(
            vectors if base is None else base.landmarks,
            np.ascontiguousarray(found.places.T),
            near.scales,
            near.typical,
            near.n_nearest,
            found.eigenvalues,
            found.n_pieces,
            found.n_between,
            near.search.basis,
            None if base is None else base.weights,
            None if base is None else vectors,
        )

    def steps(self, coefficients: Coefficients, out: type) -> list[Step]:
        """The maps from rows of the graph to Y."""
        (block,) = coefficients.blocks
        assert isinstance(block, NeighbourBlock)
        return [Place(block.weights, block.n_between, self.compare.dtype), Join(out)]
