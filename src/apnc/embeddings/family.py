"""The family of APNC embeddings, and Algorithm 1, which computes any member of it."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from apnc.discrepancy import Discrepancy
from apnc.engines.contract import Chunk, Chunks
from apnc.kernels import Kernel, KernelRows
from apnc.rows import Rows, n_columns, n_rows
from apnc.stored import largest, require, stored
from apnc.typing import Array

#: Rows of a normalised kernel whose embedding is smaller than this are not seen by the landmarks; they stay there.
UNSEEN = 1e-6
#: Components computed by one product: as narrow as BLAS stays fast, so that few zeros of R are multiplied.
STEP = 256
#: ``n_components="auto"`` is no more, unless there are very many clusters.
MANY_COMPONENTS = 500
#: Largest weight and beta that a model file may have: what float32 can work with.
LARGEST_WEIGHT, LARGEST_BETA = 1e38, 1e15


@stored
@dataclass(frozen=True)
class Block:
    """Property 3: one block of R with its landmarks.

    Attributes
    ----------
    landmarks : the instances of L(b).
    weights : array of shape (m_b, l_b), R(b).

    """

    landmarks: Rows
    weights: Array

    def check(self) -> None:
        """A weight for each landmark and component."""
        l, shape = n_rows(self.landmarks), self.weights.shape  # noqa: E741
        require(
            len(shape) == 2 and shape[0] >= 1 and shape[1] == l >= 1,
            f"weights have shape {shape}, expected one column for each of {l} landmarks",
        )
        require(largest(self.weights) <= LARGEST_WEIGHT, f"weights are larger than {LARGEST_WEIGHT:g}")


@stored
@dataclass(frozen=True)
class Coefficients:
    """R and e of an embedding: all that Algorithms 1 and 2 need to know of it.

    Attributes
    ----------
    blocks : the diagonal blocks of R, each with its own landmarks.
    discrepancy : e of Property 4.
    beta : of Property 4; ``beta * e`` is a distance of the kernel's space.
    dropped : eigenvalues left out because they are zero or noise.
    negative : weight of the negative spectrum, sum |lambda < 0| / sum |lambda|.

    """

    blocks: tuple[Block, ...]
    discrepancy: Discrepancy
    beta: float = 1.0
    dropped: int = 0
    negative: float = 0.0

    def check(self) -> None:
        """Blocks of one kind, and numbers in range."""
        kinds = {(type(block.landmarks), n_columns(block.landmarks)) for block in self.blocks}
        require(len(kinds) == 1, "blocks are missing, or differ in the type or width of their landmarks")
        require(0 < self.beta <= LARGEST_BETA, f"beta is {self.beta}, expected in (0, {LARGEST_BETA:g}]")
        require(self.dropped >= 0, f"dropped is {self.dropped}, expected at least 0")
        require(0 <= self.negative <= 1, f"negative is {self.negative}, expected a share from 0 to 1")

    @property
    def n_components(self) -> int:
        """m, over all blocks."""
        return sum(len(block.weights) for block in self.blocks)

    @property
    def n_landmarks(self) -> int:
        """l, over all blocks."""
        return sum(block.weights.shape[1] for block in self.blocks)


class Embedding(BaseEstimator, ABC):
    """Base class of all embeddings, ours and yours.

    A subclass turns landmarks into coefficients. Everything else (sampling, Algorithm 1, seeding,
    Lloyd, prediction) follows from the four properties; ``apnc.testing.check_embedding`` verifies them.
    Options of the embedding are arguments of ``__init__``, stored unchanged.
    """

    def most_components(self, n_landmarks: int, n_clusters: int) -> int:
        """The m that ``n_components="auto"`` asks ``coefficients`` for.

        For clusters in an embedding with the Euclidean discrepancy as many of them are kept as the rows need.
        """
        return max(MANY_COMPONENTS, 2 * n_clusters)

    @abstractmethod
    def coefficients(
        self, landmarks: Any, kernel: Kernel, n_components: int, rng: np.random.Generator
    ) -> Coefficients:
        """Algorithms 3 and 4, reduce: R from the landmarks.

        Parameters
        ----------
        landmarks : l distinct instances, in an order that depends on their content alone; supports
            ``len`` (arrays: ``shape[0]``) and slicing.
        kernel : ``kernel(A, B)`` is the float64 matrix of shape (len(A), len(B)).
        n_components : m, the number of components asked for.
        rng : the only source of randomness.

        """


@dataclass(frozen=True)
class Portions:
    """A row's parts in Algorithm 1: the instances, and the portions of Y computed so far."""

    rows: Any
    parts: tuple[Array, ...] = ()

    @property
    def joined(self) -> Array:
        """R K_L(x), all portions side by side."""
        return self.parts[0] if len(self.parts) == 1 else np.concatenate(self.parts, axis=1)


def leading_zeros(weights: Array) -> int:
    """Columns on the left without any weight."""
    used = np.flatnonzero(weights.any(axis=0))
    return int(used[0]) if len(used) else weights.shape[1]


@dataclass(frozen=True)
class EmbedBlock:
    """Algorithm 1, lines 2 to 8: y_[b] = R(b) K_L(b),i for every row of a chunk."""

    kernel: Kernel
    block: Block
    dtype: type

    @cached_property
    def _kernel_rows(self) -> KernelRows:
        return self.kernel.against(self.block.landmarks, self.dtype)

    @cached_property
    def _steps(self) -> list[tuple[int, slice, Array]]:
        """R(b)^T in groups of columns, each with the first landmark that it needs."""
        weights: Array = np.asarray(self._kernel_rows.factor * self.block.weights, dtype=self.dtype)
        groups = (slice(j, j + STEP) for j in range(0, len(weights), STEP))
        return [(first := leading_zeros(weights[g]), g, weights[g, first:].T.copy(order="F")) for g in groups]

    def __call__(self, chunk: Chunk) -> Chunk:
        so_far: Portions = chunk.rows
        K = self._kernel_rows(so_far.rows, self._room(len(chunk.weights)))
        portion: Array = np.empty((len(K), len(self.block.weights)), dtype=self.dtype)
        for first, columns, weights in self._steps:
            np.matmul(K[:, first:], weights, out=portion[:, columns])
        return chunk.with_rows(Portions(so_far.rows, (*so_far.parts, portion)))

    @cached_property
    def _rooms(self) -> threading.local:
        return threading.local()

    def _room(self, n: int) -> Array:
        """A kernel block of n rows that each thread uses again: fresh memory would cost page faults."""
        room: Array | None = getattr(self._rooms, "room", None)
        if room is None or len(room) < n:
            room = self._rooms.room = np.empty((n, self.block.weights.shape[1]), dtype=self.dtype)
        return room[:n]

    def __getstate__(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "block": self.block, "dtype": self.dtype}


@dataclass(frozen=True)
class Join:
    """Algorithm 1, lines 10 to 14: the portions of each row side by side; X is dropped here.

    ``unit`` scales each row to norm 1 (docs/decisions/16-unit-rows.md).
    """

    dtype: type
    unit: bool = False

    def __call__(self, chunk: Chunk) -> Chunk:
        return chunk.with_rows(self.finished(chunk.rows.joined))

    def finished(self, Y: Array) -> Array:
        """R K_L(x) of some rows as Y; may write into it."""
        if self.unit:
            norms = np.sqrt(np.einsum("ij,ij->i", Y, Y))
            Y *= np.divide(1, norms, out=np.zeros_like(norms), where=norms > UNSEEN)[:, None]
        Y = Y.astype(self.dtype, copy=False)
        if not np.isfinite(np.vdot(Y, Y)):
            raise ValueError(
                "Some rows have kernel values too large to compute with. Look for outliers, scale the features "
                "(for example to [0, 1]), lower degree or gamma, or set normalize_kernel=True."
            )
        return Y


def _begin(chunk: Chunk) -> Chunk:
    return chunk.with_rows(Portions(chunk.rows))


def embed(
    chunks: Chunks, kernel: Kernel, coefficients: Coefficients, dtype: type, out: type = np.float32
) -> Chunks:
    """Algorithm 1: embed every row, block after block; ``dtype`` is the type of the products, ``out`` that of Y."""
    for step in embedding_steps(kernel, coefficients, dtype, out):
        chunks = chunks.map(step)
    return chunks


def embedding_steps(
    kernel: Kernel, coefficients: Coefficients, dtype: type, out: type = np.float32
) -> list[Callable[[Chunk], Chunk]]:
    """The maps of Algorithm 1: q blocks, and the join."""
    return [*block_steps(kernel, coefficients, dtype), join_of(kernel, coefficients, out)]


def block_steps(kernel: Kernel, coefficients: Coefficients, dtype: type) -> list[Callable[[Chunk], Chunk]]:
    """Algorithm 1 up to the join: rows become the portions of R K_L(x)."""
    return [_begin, *(EmbedBlock(kernel, block, dtype) for block in coefficients.blocks)]


def join_of(kernel: Kernel, coefficients: Coefficients, out: type = np.float32) -> Join:
    """The last step of Algorithm 1; rows of a normalised kernel are scaled to norm 1."""
    return Join(out, kernel.unit and coefficients.discrepancy.of_products)
