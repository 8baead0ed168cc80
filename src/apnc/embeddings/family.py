"""The family of APNC embeddings, and Algorithm 1, which computes any member of it."""

import threading
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator

from apnc.caching import cached_property
from apnc.discrepancy import Discrepancy
from apnc.embeddings.spectrum import SMALLER
from apnc.engines.contract import Chunk, Chunks, SingleChunk
from apnc.kernels import Kernel, KernelRows
from apnc.rows import Rows, n_columns, n_rows
from apnc.sampling import Sample
from apnc.stored import largest, require, stored
from apnc.typing import Array

#: Embedded rows of a normalised kernel with a smaller norm are orthogonal to the landmarks, and are not rescaled.
UNSEEN = 1e-6
#: Components per matrix product: as few as BLAS handles fast, so that few zeros of the triangular R are multiplied.
STEP = 256
#: Upper limit of ``n_components="auto"``, unless there are very many clusters.
MANY_COMPONENTS = 500
#: Float64 matrices of shape (l, l) in memory while the coefficients are computed: K_LL, its symmetric copy,
#: eigenvectors, the solver's workspace, and two products.
COEFFICIENT_MATRICES = 6
#: Largest weight and beta accepted from a model file, so that float32 does not overflow.
LARGEST_WEIGHT, LARGEST_BETA = 1e38, 1e15


@stored
@dataclass(frozen=True)
class Block:
    """Property 3: one block of R with its landmarks.

    Attributes
    ----------
    landmarks : the instances of L(b).
    weights : array of shape (m_b, l_b), R(b).
    of_kernel : whether inner products or distances of Y approximate those of the kernel.

    """

    of_kernel: ClassVar[bool] = True
    landmarks: Rows
    weights: Array

    def check(self) -> None:
        """Require one weight per landmark and component."""
        l, shape = n_rows(self.landmarks), self.weights.shape  # noqa: E741
        require(
            len(shape) == 2 and shape[0] >= 1 and shape[1] == l >= 1,
            f"weights have shape {shape}, expected one column for each of {l} landmarks",
        )
        require(largest(self.weights) <= LARGEST_WEIGHT, f"weights are larger than {LARGEST_WEIGHT:g}")

    def portion(self, kernel: Kernel, dtype: type) -> Callable[[Chunk], Chunk]:
        """The map that adds this block's portion of Y to a chunk."""
        return EmbedBlock(kernel, self, dtype)

    def work_bytes(self, kernel: Kernel, held: int, dtype: type) -> int:
        """Working memory for embedding one row of ``held`` numbers."""
        m, l = self.weights.shape  # noqa: E741
        return kernel.work_bytes(held, l, dtype) + m * np.dtype(dtype).itemsize

    def facts(self) -> dict[str, Any]:
        """Fitted attributes of an estimator with this block, besides those of every embedding."""
        return {}


@stored
@dataclass(frozen=True)
class Coefficients:
    """R and e of an embedding: all that Algorithms 1 and 2 need to know about it.

    Attributes
    ----------
    blocks : the diagonal blocks of R, each with its own landmarks.
    discrepancy : e of Property 4.
    beta : of Property 4; ``beta * e`` is a distance in the kernel's space.
    dropped : number of eigenvalues left out because they are zero or noise.
    negative : weight of the negative spectrum, ``sum |lambda < 0| / sum |lambda|``.

    """

    blocks: tuple[Block, ...]
    discrepancy: Discrepancy
    beta: float = 1.0
    dropped: int = 0
    negative: float = 0.0

    def check(self) -> None:
        """Require consistent blocks and numbers in range."""
        kinds = {(type(block.landmarks), n_columns(block.landmarks)) for block in self.blocks}
        require(len(kinds) == 1, "blocks are missing, or differ in the type or width of their landmarks")
        require(0 < self.beta <= LARGEST_BETA, f"beta is {self.beta}, expected in (0, {LARGEST_BETA:g}]")
        require(self.dropped >= 0, f"dropped is {self.dropped}, expected at least 0")
        require(0 <= self.negative <= 1, f"negative is {self.negative}, expected a share from 0 to 1")

    @property
    def n_components(self) -> int:
        """m, the total over all blocks."""
        return sum(len(block.weights) for block in self.blocks)

    @property
    def n_landmarks(self) -> int:
        """l, the total over all blocks."""
        return sum(block.weights.shape[1] for block in self.blocks)


class Embedding(BaseEstimator, ABC):
    """Base class of all embeddings, including your own.

    A subclass turns landmarks into coefficients. Everything else (sampling, Algorithm 1, seeding,
    Lloyd, prediction) follows from the four properties; ``apnc.testing.check_embedding`` verifies them.
    Options of the embedding are arguments of ``__init__``, stored unchanged.

    Attributes
    ----------
    least_landmarks, most_landmarks : range of ``n_landmarks="auto"``.
    roots : "auto" is this many square roots of the number of distinct instances.
    share : "auto" is at most this share of the distinct instances, if that is more than ``least_landmarks``.
    rows_each : instances of a sample that each landmark is made from.
    sample_passes : passes over that sample, at most.
    n_starts : number of starts if ``n_init="auto"``.
    compares_rows : the coefficients depend on all rows, not on the landmarks alone; ``compare`` says how rows are
        looked at.

    """

    least_landmarks: ClassVar[int] = 300
    most_landmarks: ClassVar[int] = 2000
    roots: ClassVar[int] = 1
    share: ClassVar[float] = 1.0
    rows_each: ClassVar[int] = 1
    sample_passes: ClassVar[int] = 1
    n_starts: ClassVar[int] = 10
    compares_rows: ClassVar[bool] = False

    def most_components(self, n_landmarks: int, n_clusters: int) -> int:
        """The m that ``coefficients`` is asked for if ``n_components="auto"``.

        Clusterers then reduce it by variance if the discrepancy is Euclidean.
        """
        return max(MANY_COMPONENTS, 2 * n_clusters)

    def reduce_bytes(self, n_landmarks: int, n_components: int, sample_rows: int) -> dict[str, float]:
        """Memory, by part, while the coefficients are computed and a sample is embedded."""
        return {
            "coefficients": 8.0 * n_landmarks * (COEFFICIENT_MATRICES * n_landmarks + 2 * n_components),
            "embedded sample": 8.0 * sample_rows * (n_landmarks + 2 * n_components),
        }

    def vector_bytes(self, sample_rows: int, n_clusters: int, itemsize: int) -> dict[str, float]:
        """Memory, by part, to make vectors of a sample for which the kernel is linear; most embeddings need none."""
        return {}

    @abstractmethod
    def coefficients(
        self, landmarks: Any, kernel: Kernel, n_components: int, rng: np.random.Generator
    ) -> Coefficients:
        """Algorithms 3 and 4, reduce: R from the landmarks.

        Parameters
        ----------
        landmarks : l distinct instances, in an order that depends only on their content; supports
            ``len`` (arrays: ``shape[0]``) and slicing.
        kernel : ``kernel(A, B)`` is the float64 matrix of shape (len(A), len(B)).
        n_components : m, the number of components asked for.
        rng : the only source of randomness.

        """

    def compare(self, request: "Request") -> "Comparison":
        """How rows are compared with landmarks, if ``compares_rows``."""
        raise NotImplementedError


@dataclass(frozen=True)
class Request:
    """What an embedding that compares rows is asked for.

    Attributes
    ----------
    pool : the sample that landmarks are made from, in key order.
    kernel : k(., .) with every parameter resolved.
    n_landmarks, n_clusters : l and k; k = 0 for an embedding alone.
    dtype : compute type.
    rng : the only source of randomness.
    fixed : whether l is the user's own; otherwise it is the largest allowed.
    spread : how a sample is distributed over the cores.
    on_rows : called with the number of sampled rows gone over.

    """

    pool: Sample
    kernel: Kernel
    n_landmarks: int
    n_clusters: int
    dtype: type
    rng: np.random.Generator
    fixed: bool = False
    spread: Callable[[Array, Array], Chunks] = SingleChunk.of
    on_rows: Callable[[int], None] = lambda n: None


class Comparison(ABC):
    """How rows are compared with landmarks: ``compare`` maps rows to an array that is kept between passes."""

    compare: Callable[[Chunk], Chunk]

    @property
    @abstractmethod
    def kernel(self) -> Kernel:
        """The kernel that belongs to the coefficients."""

    @property
    def n_compared(self) -> int:
        """Number of instances whose kernel values with every row are computed; 0 if rows are compared as vectors."""
        return 0

    @property
    @abstractmethod
    def n_landmarks(self) -> int:
        """Number of landmarks that rows are compared with."""

    @abstractmethod
    def check_for(self, n_columns: int, n_clusters: int, dtype: type) -> None:
        """Raise a ValueError if this is no comparison for rows of these columns and compute type."""

    @abstractmethod
    def check_compared(self, rows: Array) -> None:
        """Raise a ValueError for an array that ``compare`` cannot have returned."""

    @abstractmethod
    def work_bytes(self, held: int) -> int:
        """Working memory for comparing one row of ``held`` numbers."""

    @abstractmethod
    def coefficients(self, compared: Chunks, n_components: int) -> tuple[Coefficients, Sample]:
        """The coefficients, from all compared rows; and embedded instances with their weights, to start from."""

    @abstractmethod
    def steps(self, coefficients: Coefficients, out: type) -> list[Callable[[Chunk], Chunk]]:
        """The maps from compared rows to Y of type ``out``."""


@dataclass(frozen=True)
class Portions:
    """Intermediate state of Algorithm 1: the instances, and the portions of Y computed so far."""

    rows: Any
    parts: tuple[Array, ...] = ()

    @property
    def joined(self) -> Array:
        """R K_L(x): all portions concatenated."""
        return self.parts[0] if len(self.parts) == 1 else np.concatenate(self.parts, axis=1)


def leading_zeros(weights: Array) -> int:
    """Number of all-zero columns on the left."""
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
        """R(b)^T in groups of columns, each with the first landmark whose weights are not all zero."""
        weights: Array = np.asarray(self._kernel_rows.factor * self.block.weights, dtype=self.dtype)
        groups = (slice(j, j + STEP) for j in range(0, len(weights), STEP))
        return [(first := leading_zeros(weights[g]), g, weights[g, first:].T.copy(order="F")) for g in groups]

    @np.errstate(over="ignore", invalid="ignore")
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
        """A buffer for n kernel rows, reused by each thread: fresh memory would cost page faults."""
        room: Array | None = getattr(self._rooms, "room", None)
        if room is None or len(room) < n:
            room = self._rooms.room = np.empty((n, self.block.weights.shape[1]), dtype=self.dtype)
        return room[:n]

    def __getstate__(self) -> dict[str, Any]:
        # Cached properties are rebuilt on the worker; thread-local buffers cannot be pickled.
        return {"kernel": self.kernel, "block": self.block, "dtype": self.dtype}


@dataclass(frozen=True)
class Join:
    """Algorithm 1, lines 10 to 14: concatenate the portions of each row, and drop X.

    ``unit`` scales each row to norm 1 (docs/decisions/16-unit-rows.md).
    """

    dtype: type
    unit: bool = False

    @np.errstate(over="ignore", invalid="ignore")
    def __call__(self, chunk: Chunk) -> Chunk:
        return chunk.with_rows(self.finished(chunk.rows.joined))

    def finished(self, Y: Array) -> Array:
        """Turn R K_L(x) into Y, possibly in place."""
        if self.unit:
            norms = np.sqrt(np.einsum("ij,ij->i", Y, Y))
            Y *= np.divide(1, norms, out=np.zeros_like(norms), where=norms > UNSEEN)[:, None]
        Y = Y.astype(self.dtype, copy=False)
        # One dot product detects NaN, infinity and squares that overflow, without a temporary array.
        if not np.isfinite(np.vdot(Y, Y)):
            raise ValueError(
                f"Some rows have kernel values too large to compute with. Look for outliers. {SMALLER}"
            )
        return Y


def begin(chunk: Chunk) -> Chunk:
    """Algorithm 1 before the first block: no portions yet."""
    return chunk.with_rows(Portions(chunk.rows))


def embed(
    chunks: Chunks, kernel: Kernel, coefficients: Coefficients, dtype: type, out: type = np.float32
) -> Chunks:
    """Algorithm 1: embed every row, block by block; ``dtype`` is the type of the products, ``out`` that of Y."""
    for step in embedding_steps(kernel, coefficients, dtype, out):
        chunks = chunks.map(step)
    return chunks


def embedding_steps(
    kernel: Kernel, coefficients: Coefficients, dtype: type, out: type = np.float32
) -> list[Callable[[Chunk], Chunk]]:
    """The maps of Algorithm 1: q blocks, and the join."""
    return [*block_steps(kernel, coefficients, dtype), join_of(kernel, coefficients, out)]


def block_steps(kernel: Kernel, coefficients: Coefficients, dtype: type) -> list[Callable[[Chunk], Chunk]]:
    """The maps of Algorithm 1 before the join: from rows to portions of R K_L(x)."""
    return [begin, *(block.portion(kernel, dtype) for block in coefficients.blocks)]


def join_of(kernel: Kernel, coefficients: Coefficients, out: type = np.float32) -> Join:
    """The last step of Algorithm 1; rows that approximate a normalised kernel are scaled to norm 1."""
    of_kernel = coefficients.discrepancy.of_products and all(block.of_kernel for block in coefficients.blocks)
    return Join(out, kernel.unit and of_kernel)
