"""The engine contract: chunks that can be mapped, reduced and cached."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Protocol, TypeVar

import numpy as np

from apnc.typing import Array

T = TypeVar("T")

#: Upper bound on the chunks of a partition of a remote source; chunk indices of a partition start at a multiple of it.
MOST_CHUNKS = 1 << 32


class RowRange(NamedTuple):
    """The carry of an in-memory chunk: rows ``start`` up to ``stop`` of the source."""

    start: int
    stop: int


class SourceRows(NamedTuple):
    """The carry of a source's chunk: rows ``start`` up to ``stop``; ``kept`` are those not skipped, None means all.

    ``ids`` are the id columns of all of them, if the engine reads these along.
    """

    start: int
    stop: int
    kept: Array | None = None
    ids: Any = None


@dataclass(frozen=True)
class Chunk:
    """A block of consecutive rows.

    Attributes
    ----------
    index : position among the chunks; partial results are combined in this order.
    rows : the instances (array, CSR matrix, list of objects), or what a map made of them.
    weights : array of shape (n_rows,), float64.
    carry : opaque to the algorithms and preserved by ``map``: row range, ids, columns to write back.
    scratch : state that an engine may drop at any time; correctness never needs it.

    """

    index: int
    rows: Any
    weights: Array
    carry: Any = None
    scratch: dict[str, Any] = field(default_factory=dict, compare=False)

    def with_rows(self, rows: Any) -> "Chunk":
        """This chunk with other rows and the same index, weights and carry."""
        return replace(self, rows=rows, scratch={})


class Chunks(Protocol):
    """The engine contract. Functions passed to it must be picklable."""

    def map(self, fn: Callable[[Chunk], Chunk]) -> "Chunks":
        """Algorithm 1: chunk to chunk; index and carry must be preserved, weights may be replaced."""
        ...

    def reduce(self, fn: Callable[[Chunk], T], combine: Callable[[T, T], T]) -> T:
        """Algorithms 2 to 4: chunk to partial result; partials are combined in index order."""
        ...

    def cached(self) -> AbstractContextManager["Chunks"]:
        """The chunks, cached between passes; released at the end, also on failure."""
        ...

    def __iter__(self) -> Iterator[Chunk]:
        """The chunks in index order (local data only)."""
        ...


@dataclass(frozen=True)
class SingleChunk:
    """The smallest engine: one chunk in memory, for samples that the driver holds."""

    chunk: Chunk

    @classmethod
    def of(cls, rows: Any, weights: Array) -> "SingleChunk":
        """All of ``rows`` as one chunk."""
        return cls(Chunk(0, rows, np.asarray(weights, dtype=np.float64), RowRange(0, len(weights))))

    def map(self, fn: Callable[[Chunk], Chunk]) -> "SingleChunk":
        """Apply at once."""
        return SingleChunk(fn(self.chunk))

    def reduce(self, fn: Callable[[Chunk], T], combine: Callable[[T, T], T]) -> T:
        """One chunk needs no combining."""
        return fn(self.chunk)

    def cached(self) -> AbstractContextManager["SingleChunk"]:
        """The chunk is already in memory."""
        from contextlib import nullcontext

        return nullcontext(self)

    def __iter__(self) -> Iterator[Chunk]:
        """The single chunk."""
        yield self.chunk


@dataclass(frozen=True)
class Data:
    """Rows in chunks on an engine, and what is known about them.

    Attributes
    ----------
    chunks : the rows.
    n_rows : number of rows; None until a file has been counted.
    dtype : compute type, derived from the type of the rows.
    n_columns : features (or columns of a precomputed kernel matrix); 0 for objects.
    by_number : rows have no content to sample by, only row numbers.
    spread : how a sample on the driver is distributed over its cores.
    skipped : rows skipped so far because of missing values, by the number of a nearby row.
    here : chunks can be iterated on this machine, so their labels can be kept in memory.

    """

    chunks: Chunks
    n_rows: int | None
    dtype: type
    n_columns: int
    by_number: bool = False
    spread: Callable[[Array, Array], Chunks] = SingleChunk.of
    skipped: dict[int, int] = field(default_factory=dict)
    here: bool = True
