"""The coefficients of a neighbour graph, and the maps that embed rows with them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from apnc.caching import cached_property
from apnc.embeddings.family import Block, EmbedBlock, Join, Portions, begin
from apnc.embeddings.neighbours.links import Neighbours
from apnc.embeddings.neighbours.search import Search
from apnc.engines.contract import Chunk
from apnc.kernels import Kernel
from apnc.rows import GivenRows, compute_dtype, n_rows
from apnc.stored import largest, require, stored
from apnc.typing import Array

Step = Callable[[Chunk], Chunk]
#: Vectors from a kernel are rounded to the largest coordinate of a landmark divided by this.
GRID = 2.0**24
#: Range of the largest coordinate of vectors from a kernel in a model file: kernel values are from 1e-30 to 1e30.
LEAST_VECTOR, LARGEST_VECTOR = 1e-20, 1e16


@stored
@dataclass(frozen=True)
class NeighbourBlock(Block):
    """y = z(x) F, scaled to norm 1: z(x) are the similarities of a row to its nearest landmarks.

    Attributes
    ----------
    landmarks : the l landmarks if they are vectors; else the instances whose kernel values give the row's vector.
    weights : array of shape (m, l), F transposed.
    scales : array of shape (l,), the distance at which each landmark is similar.
    typical : the median of the rows' own scales.
    n_nearest : r.
    eigenvalues : array of shape (m,), of the graph.
    n_pieces : number of connected components of the graph.
    n_between : number of components that place these relative to each other; the others have norm 1 in each row.
    basis : array of shape (d, p), the subspace in which neighbours are searched; None: all of it.
    root : array of shape (d, l0), R of the Nystroem embedding that turns rows into vectors; None: they are vectors.
    centers : array of shape (l, d), the landmarks as vectors if ``root`` is not None.

    """

    of_kernel: ClassVar[bool] = False
    scales: Array
    typical: float
    n_nearest: int
    eigenvalues: Array
    n_pieces: int
    n_between: int
    basis: Array | None = None
    root: Array | None = None
    centers: Array | None = None

    def check(self) -> None:
        """Require shapes that match, and scales that are distances."""
        require(
            (self.root is None) == (self.centers is None),
            "either both of root and centers are null, or neither",
        )
        if self.root is not None:
            Block(self.landmarks, self.root).check()
            found = np.shape(self.vectors)
            require(len(found) == 2 and found[1] == len(self.root), f"centers have shape {found}")
        Block(self.vectors, self.weights).check()
        self._check_types()
        l, d = self.vectors.shape  # noqa: E741
        require(self.scales.shape == (l,), f"scales have shape {self.scales.shape}, expected {(l,)}")
        require(self.scales.min() >= 0 and self.typical >= 0, "scales are negative")
        require(2 <= self.n_nearest <= l or self.n_nearest == l == 1, f"n_nearest is {self.n_nearest}")
        shape, m = self.eigenvalues.shape, len(self.weights)
        require(shape == (m,), f"eigenvalues have shape {shape}, expected {(m,)}")
        require(largest(self.eigenvalues) <= 1 + 1e-6, "eigenvalues are beyond 1")
        require(1 <= self.n_pieces <= l, f"n_pieces is {self.n_pieces}, expected from 1 to {l}")
        require(0 <= self.n_between <= len(self.weights), f"n_between is {self.n_between}")
        if self.basis is not None:
            shape = self.basis.shape
            require(len(shape) == 2 and shape[0] == d and 1 <= shape[1] <= d, f"basis has shape {shape}")
            require(largest(self.basis) <= 1 + 1e-6, "basis is not orthonormal")

    def _check_types(self) -> None:
        """Require the types and the memory order of a fit: the loops would be compiled for any other, for seconds."""
        vectors, known = self.vectors, list[type]([np.float32, np.float64])
        # Row numbers of a precomputed kernel say nothing about the type of its values.
        if self.root is not None and not isinstance(self.landmarks, GivenRows):
            known = [compute_dtype(self.landmarks)]
        names = " or ".join(np.dtype(kind).name for kind in known)
        require(vectors.dtype in known, f"vectors are of type {vectors.dtype}, expected {names}")
        require(vectors.flags.c_contiguous, "vectors are not stored row by row")
        most = float(np.sqrt(np.finfo(vectors.dtype).max)) if self.root is None else LARGEST_VECTOR
        size = largest(vectors)
        require(size <= most, f"vectors are beyond {most:g}")
        # Vectors from a kernel are rounded to a share of the largest coordinate.
        least = 0.0 if self.root is None else LEAST_VECTOR
        require(not 0 < size < least, f"vectors reach {size:g}, expected at least {least:g}")
        parts = [part for part in (self.weights, self.scales, self.basis, self.root) if part is not None]
        odd = [part.dtype for part in parts if part.dtype != np.float64]
        require(not odd, f"weights, scales, basis and root must be float64, not {odd[:1]}")

    @property
    def vectors(self) -> Any:
        """The landmarks as vectors, shape (l, d)."""
        return self.landmarks if self.centers is None else self.centers

    @property
    def neighbours(self) -> Neighbours:
        """The rows of the graph."""
        return Neighbours(Search(self.vectors, self.basis), self.scales, self.typical, self.n_nearest)

    def portion(self, kernel: Kernel, dtype: type) -> Step:
        """Vector, row of the graph, embedding."""
        base = None if self.root is None else Block(self.landmarks, self.root)
        place = Place(self.weights, self.n_between, dtype)
        return EmbedNeighbours(Compare(kernel, base, self.neighbours, dtype), place)

    def work_bytes(self, kernel: Kernel, held: int, dtype: type) -> int:
        """The row and its vector, its neighbours and candidates, and its embedding."""
        d = self.vectors.shape[1]
        base = 0 if self.root is None else kernel.work_bytes(held, n_rows(self.landmarks), dtype)
        return base + 8 * (2 * d + 4 * self.n_nearest + 16) + 8 * len(self.weights)

    def facts(self) -> dict[str, Any]:
        """The spectrum of the graph, and the number of its connected components."""
        return {
            "eigenvalues_": self.eigenvalues,
            "n_connected_components_": self.n_pieces,
            "n_nearest_": self.n_nearest,
        }


@stored
@dataclass(frozen=True)
class Compare:
    """Map: rows to rows of the graph, int32 of shape (n, 2 r).

    ``base`` turns rows into vectors; None: they are vectors.
    """

    kernel: Kernel
    base: Block | None
    neighbours: Neighbours
    dtype: type

    @cached_property
    def _to_vectors(self) -> list[Step]:
        if self.base is None:
            return []
        embed, join = EmbedBlock(self.kernel, self.base, self.dtype), Join(self.dtype, self.kernel.unit)
        return [begin, embed, join, Rounded(GRID / (largest(self.neighbours.search.landmarks) or 1.0))]

    def __call__(self, chunk: Chunk) -> Chunk:
        for step in self._to_vectors:
            chunk = step(chunk)
        return chunk.with_rows(self.neighbours(np.ascontiguousarray(chunk.rows, dtype=self.dtype)))

    def __getstate__(self) -> dict[str, Any]:
        # Steps are rebuilt on the worker.
        return {name: vars(self)[name] for name in ("kernel", "base", "neighbours", "dtype")}


@dataclass(frozen=True)
class Rounded:
    """Map: vectors to whole multiples of 1 / ``units``.

    The last bits of matrix products depend on the number of rows in the chunk; they must not decide between two
    landmarks that are equally far.
    """

    units: float

    def __call__(self, chunk: Chunk) -> Chunk:
        return chunk.with_rows(np.rint(chunk.rows * self.units) / self.units)


@dataclass(frozen=True)
class Place:
    """Map: rows of the graph to portions of Y."""

    weights: Array
    n_between: int
    dtype: type

    def __call__(self, chunk: Chunk) -> Chunk:
        return chunk.with_rows(Portions(None, (self.placed(chunk.rows),)))

    def placed(self, rows: Array) -> Array:
        """The embedding of rows of the graph."""
        from apnc.loops.graph import embed_graph_rows

        portion: Array = np.empty((len(rows), len(self.weights)), self.dtype)
        embed_graph_rows(rows, np.ascontiguousarray(self.weights.T), self.n_between, portion)
        return portion


@dataclass(frozen=True)
class EmbedNeighbours:
    """Algorithm 1 for a neighbour graph: from rows to portions of Y."""

    compare: Compare
    place: Place

    def __call__(self, chunk: Chunk) -> Chunk:
        before: Portions = chunk.rows
        (portion,) = self.place(self.compare(chunk.with_rows(before.rows))).rows.parts
        return chunk.with_rows(Portions(before.rows, (*before.parts, portion)))
