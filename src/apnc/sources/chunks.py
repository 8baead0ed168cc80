"""From what a user passes to chunks on an engine."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from apnc.engines.contract import Chunk, Chunks
from apnc.engines.local import LocalChunks, split
from apnc.engines.spill import read_ahead
from apnc.kernels import GivenRows, compute_dtype
from apnc.pipeline import Data
from apnc.plan import CHUNK_BYTES
from apnc.sources.family import Decoded, Source, SourceError
from apnc.sources.rows import as_csr, n_columns, n_rows

Array = npt.NDArray[Any]
OnRows = Callable[[int], None]

#: Small data is still cut into some chunks, so that every core has work.
MIN_CHUNKS, MIN_ROWS = 16, 256
#: Rows of a sample that one core handles at a time.
SAMPLE_ROWS = 512


@dataclass(frozen=True)
class Layout:
    """How rows are cut into chunks and kept.

    Attributes
    ----------
    row_bytes : memory of one row while it is worked on, besides reading it.
    threads : workers.
    chunk_bytes : memory of one chunk.
    room : bytes of computed chunks that may be kept in memory.
    on_rows : told the number of rows of each chunk that is done.

    """

    row_bytes: int
    threads: int
    chunk_bytes: int = CHUNK_BYTES
    room: float = np.inf
    on_rows: OnRows | None = None

    def rows_per_chunk(self, n_rows: int | None, read_bytes: int = 0) -> int:
        """Rows in a chunk: a function of the data and the kernel's memory cost, never of the threads."""
        most = self.chunk_bytes // max(1, self.row_bytes + read_bytes)
        if n_rows is not None:
            most = min(most, max(MIN_ROWS, -(-n_rows // MIN_CHUNKS)))
        return max(1, most)


def chunked(given: Any, weights: Array | None, layout: Layout) -> Data:
    """A source, or rows in memory with their weights, on the engine that the data asks for."""
    if not isinstance(given, Source):
        return in_memory(given, weights, layout)
    return given.on_engine(layout) if given.remote else streamed(given, layout)


def in_memory(rows: Any, weights: Array | None, layout: Layout) -> Data:
    """Array, CSR, list of objects, or rows of a given kernel."""
    n = n_rows(rows)
    ranges = split(n, layout.rows_per_chunk(n))
    weights = np.ones(n) if weights is None else weights
    chunks = LocalChunks.of(rows, weights, ranges, layout.threads)
    chunks = replace(chunks, room=layout.room, progress=layout.on_rows)
    by_number = isinstance(rows, GivenRows)
    return Data(chunks, n, compute_dtype(rows), n_columns(rows), by_number, Spread(layout.threads))


def streamed(source: Source, layout: Layout) -> Data:
    """A source that is read piece by piece on a thread of its own and decoded by the workers."""
    pieces = Stream(source, layout.rows_per_chunk(None, source.row_bytes))
    decode = Decode(source)
    chunks = LocalChunks(pieces, layout.threads, (decode,), layout.room, layout.on_rows)
    dtype = compute_dtype(source)
    return Data(chunks, None, dtype, source.n_columns, False, Spread(layout.threads), decode.skipped, source)


class SourceRows(NamedTuple):
    """The carry of a source's chunk: rows ``start`` up to ``stop``, of which the ones at ``kept`` were not skipped."""

    start: int
    stop: int
    kept: Array | None = None


def row_numbers(carry: Any) -> Array:
    """Numbers in the source of a chunk's rows, int64."""
    kept = getattr(carry, "kept", None)
    return np.arange(carry.start, carry.stop) if kept is None else carry.start + kept


@dataclass(frozen=True)
class Stream:
    """Pieces of a source as chunks, fetched ahead of the workers."""

    source: Source
    n_rows: int

    def __iter__(self) -> Iterator[Chunk]:
        index = -1
        for index, piece in enumerate(read_ahead(self.source.pieces(self.n_rows))):
            yield Chunk(index, piece, np.empty(0), SourceRows(piece.start, piece.start + piece.n_rows))
        if index < 0:
            raise SourceError(f"{self.source.name} has no rows.")


@dataclass(frozen=True)
class Decode:
    """Map: a piece to its rows and weights; counts the rows that are skipped, by the first row of the piece."""

    source: Source
    skipped: dict[int, int] = field(default_factory=dict)

    def __call__(self, chunk: Chunk) -> Chunk:
        decoded: Decoded = self.source.decode(chunk.rows)
        start, stop, _ = chunk.carry
        n = n_rows(decoded.rows)
        if decoded.kept is not None:
            self.skipped[start] = stop - start - n
        weights = np.ones(n) if decoded.weights is None else decoded.weights
        return Chunk(chunk.index, as_csr(decoded.rows), weights, SourceRows(start, stop, decoded.kept))


@dataclass(frozen=True)
class Spread:
    """Gives a sample to the cores, in chunks that do not depend on their number."""

    threads: int

    def __call__(self, rows: Array, weights: Array) -> Chunks:
        return LocalChunks.of(rows, weights, split(len(weights), SAMPLE_ROWS), self.threads)
