"""Chunks kept between passes: in memory while there is room, the rest in a temporary file."""

import tempfile
from collections import deque
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from threading import Lock
from typing import IO, Any, Self, TypeVar

import numpy as np

from apnc.engines.contract import Chunk
from apnc.typing import Array

T = TypeVar("T")

#: Chunks read before they are asked for.
AHEAD = 2
#: What passes remember of each row in the scratch of a chunk in memory.
SCRATCH_BYTES = 64


def kept_bytes(n_rows: int, n_columns: int) -> int:
    """Memory of so many embedded rows, weights and scratch included."""
    return n_rows * (4 * n_columns + 8 + SCRATCH_BYTES)


@dataclass(frozen=True)
class _Place:
    """Where a chunk is in the file: its rows, then its weights."""

    index: int
    carry: Any
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]


class Kept:
    """Chunks of arrays in index order, to be gone over any number of times until the context ends.

    The temporary file has no name, so that nothing is left of it, however the process ends. It is read into
    buffers, not mapped: mapped pages would count as memory of this process.
    """

    def __init__(self, room: float):
        self.room = room
        self._held: list[Chunk] = []
        self._places: list[_Place] = []
        self._file: IO[bytes] | None = None
        self._end = 0
        self._closed = False
        self._reading = Lock()

    def add(self, chunk: Chunk) -> None:
        """Keep the next chunk."""
        rows = chunk.rows
        size = rows.nbytes + chunk.weights.nbytes + SCRATCH_BYTES * len(chunk.weights)
        if not self._places and size <= self.room:
            self.room -= size
            self._held.append(chunk)
            return
        self._places.append(_Place(chunk.index, chunk.carry, self._end, rows.shape, rows.dtype))
        for part in (rows, chunk.weights):
            self._write(np.ascontiguousarray(part))

    def __iter__(self) -> Iterator[Chunk]:
        if self._closed:
            raise RuntimeError("These chunks were kept until the end of their context, which is over.")
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
        try:
            if self._file is None:
                self._file = tempfile.TemporaryFile(prefix="apnc-", buffering=0)  # noqa: SIM115
            view = _bytes_of(part)
            while view:
                view = view[self._file.write(view) :]
        except OSError as error:
            raise OSError(
                error.errno,
                f"The embedding could not be written to a temporary file in {tempfile.gettempdir()} after "
                f"{self._end:,} bytes: {error.strerror}. Free some space, point TMPDIR to a larger disk, or raise "
                "memory_limit",
            ) from error
        self._end += part.nbytes

    def _stored(self) -> Iterator[Chunk]:
        for place in self._places:
            rows: Array = np.empty(place.shape, dtype=place.dtype)
            weights = np.empty(place.shape[0])
            self._read(rows, place.offset)
            self._read(weights, place.offset + rows.nbytes)
            yield Chunk(place.index, rows, weights, place.carry)

    def _read(self, into: Array, offset: int) -> None:
        assert self._file is not None
        view = _bytes_of(into)
        with self._reading:
            self._file.seek(offset)
            while view and (n := self._file.readinto(view)):  # type: ignore[attr-defined]
                view = view[n:]
        if view:
            raise OSError(
                f"The temporary file of the embedding is shorter than {offset + into.nbytes:,} bytes."
            )


def _bytes_of(array: Array) -> memoryview:
    return memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]


def read_ahead(items: Iterable[T], ahead: int = AHEAD) -> Iterator[T]:
    """The items, fetched on a thread of their own before they are asked for."""
    iterator, end = iter(items), object()
    pool = ThreadPoolExecutor(1, thread_name_prefix="apnc-read")
    waiting: deque[Future[Any]] = deque(pool.submit(next, iterator, end) for _ in range(ahead))
    try:
        while (item := waiting.popleft().result()) is not end:
            waiting.append(pool.submit(next, iterator, end))
            yield item
            del item
    finally:
        pool.shutdown(cancel_futures=True)
        if hasattr(iterator, "close"):
            iterator.close()
