"""Chunks cached between passes: in memory as far as they fit, the rest in a temporary file or a store."""

import tempfile
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import IO, Any, Self, TypeVar

import numpy as np

from apnc.engines.chunk_files import ChunkStore, bytes_of
from apnc.engines.contract import Chunk
from apnc.temporary import place_for_files
from apnc.typing import Array

T = TypeVar("T")

#: Number of chunks read ahead.
AHEAD = 2
#: Bytes per row that passes keep in the scratch of a chunk in memory.
SCRATCH_BYTES = 64


def kept_bytes(n_rows: int, n_columns: int) -> int:
    """Memory of ``n_rows`` embedded rows, including weights and scratch."""
    return n_rows * (4 * n_columns + 8 + SCRATCH_BYTES)


@dataclass(frozen=True)
class _Place:
    """Location of a chunk in the file: its rows, followed by its weights."""

    index: int
    carry: Any
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class Kept:
    """Chunks of arrays in index order that can be iterated repeatedly until the context ends.

    The temporary file has no name, so nothing is left behind however the process ends. It is read into buffers
    rather than memory-mapped, because mapped pages would count towards this process's memory. With a store there is no
    temporary file: all chunks are in the store.
    """

    def __init__(self, room: float, store: ChunkStore | None = None):
        self.room, self.store = room, store
        self._held: list[Chunk] = []
        self._places: list[_Place] = []
        self._in_store: list[int] = []
        self._file: IO[bytes] | None = None
        self._end = 0
        self._closed = False
        self._reading = Lock()

    def add(self, chunk: Chunk) -> None:
        """Add the next chunk."""
        rows = chunk.rows
        size = rows.nbytes + chunk.weights.nbytes + SCRATCH_BYTES * len(chunk.weights)
        # Once one chunk is in the file, all later ones follow it there: iteration must stay in index order.
        if not self._places and not self._in_store and size <= self.room:
            self.room -= size
            self._held.append(chunk)
            return
        if self.store is not None:
            self._in_store.append(chunk.index)
            return
        self._places.append(_Place(chunk.index, chunk.carry, self._end, rows.shape, rows.dtype))
        for part in (rows, chunk.weights):
            self._write(np.ascontiguousarray(part))

    def __len__(self) -> int:
        return len(self._held) + len(self._places) + len(self._in_store)

    def __iter__(self) -> Iterator[Chunk]:
        if self._closed:
            raise RuntimeError(
                "These chunks are no longer available: the context that cached them has ended."
            )
        yield from self._held
        yield from read_ahead(self._stored())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._closed = True
        self._held.clear()
        self._places.clear()
        if self._file is not None:
            self._file.close()

    def _write(self, part: Array) -> None:
        place = place_for_files()
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="apnc-", buffering=0, dir=place)  # noqa: SIM115
            view = bytes_of(part)
            # An unbuffered file may write fewer bytes than asked for.
            while view:
                view = view[self._file.write(view) :]
        except OSError as error:
            raise OSError(
                error.errno,
                f"The embedding could not be written to a temporary file in {place} after "
                f"{self._end:,} bytes: {error.strerror}. Free some space, point TMPDIR to a larger disk, or raise "
                "memory_limit",
            ) from error
        self._end += part.nbytes

    def _stored(self) -> Iterator[Chunk]:
        if self.store is not None:
            yield from map(self.store.load, self._in_store)
            return
        for place in self._places:
            rows: Array = np.empty(place.shape, dtype=place.dtype)
            weights = np.empty(place.shape[0])
            self._read(rows, place.offset)
            self._read(weights, place.offset + rows.nbytes)
            yield Chunk(place.index, rows, weights, place.carry)

    def _read(self, into: Array, offset: int) -> None:
        assert self._file is not None
        view = bytes_of(into)
        # Two iterations may run at once, and share the file's position.
        with self._reading:
            self._file.seek(offset)
            while view and (n := self._file.readinto(view)):  # type: ignore[attr-defined]
                view = view[n:]
        if view:
            raise OSError(
                f"The temporary file of the embedding has fewer than {offset + into.nbytes:,} bytes."
            )


def read_ahead(items: Iterable[T], ahead: int = AHEAD) -> Iterator[T]:
    """The items, fetched ahead of time on a separate thread."""
    iterator, end = iter(items), object()
    pool = ThreadPoolExecutor(1, thread_name_prefix="apnc-read")
    waiting: deque[Future[Any]] = deque(pool.submit(next, iterator, end) for _ in range(ahead))
    try:
        while (item := waiting.popleft().result()) is not end:
            waiting.append(pool.submit(next, iterator, end))
            yield item
            # Otherwise the item would stay in memory while waiting for the next one.
            del item
    finally:
        pool.shutdown(cancel_futures=True)
        if hasattr(iterator, "close"):
            iterator.close()
