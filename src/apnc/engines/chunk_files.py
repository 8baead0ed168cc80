"""Chunks in checksummed files, one each: a later run goes on with those that are there.

A file is one line with the digest of everything after it, one line of JSON (sizes and types), and the bytes of the
rows, the weights and the numbers of the rows kept. Reading it runs nothing and imports nothing.
"""

import hashlib
import json
import math
import os
import re
from collections.abc import Callable, Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from typing import IO, Any, Protocol

import numpy as np

from apnc.engines.contract import Chunk, RowRange, SourceRows
from apnc.typing import Array

#: The beginning of every file; the digest follows.
MAGIC = b"apnc chunk 1 "
#: Name of a file, and of the one that says how many there are, and of how many rows.
CHUNK, COMPLETE = re.compile(r"(\d{8,})\.chunk"), "complete"
#: Bytes hashed at a time, and most bytes of the line that describes a chunk.
PIECE, HEADER_BYTES = 1 << 20, 1 << 12
#: Types of rows: embedded ones, and those of a graph.
TYPES = ("float32", "float64", "int32")
#: Largest number of a row or a chunk: what every JSON reader takes.
LARGEST = 1 << 53

#: Raises a ValueError for a chunk that the run cannot have written.
CheckChunk = Callable[[Chunk], None]


def anything(chunk: Chunk) -> None:
    """Accept every chunk."""


class ChunkStore(Protocol):
    """Chunks kept on disk between runs, by index."""

    def __contains__(self, index: int) -> bool: ...

    def __iter__(self) -> Iterator[Chunk]:
        """All chunks in index order, if all are there."""
        ...

    def load(self, index: int) -> Chunk:
        """The chunk."""
        ...

    def save(self, chunk: Chunk) -> None:
        """Keep a chunk; workers call this at the same time for different ones."""
        ...

    def finish(self, n_chunks: int) -> None:
        """All chunks are there."""
        ...

    @property
    def complete(self) -> int:
        """The number of chunks if all are there, else 0."""
        ...


class ChunkFolder:
    """A folder of chunk files, each verified when the folder is opened; damaged ones are removed.

    Attributes
    ----------
    check : what chunks must satisfy besides being whole.
    damaged : names of the files that were removed.

    """

    def __init__(self, folder: Path, check: CheckChunk = anything) -> None:
        folder.mkdir(exist_ok=True)
        self.folder, self.check, self.damaged = folder, check, list[str]()
        #: The rows of each chunk by its number.
        self._sound: dict[int, tuple[int, int]] = {}
        for path in sorted(folder.iterdir()):
            self._examine(path)

    def __contains__(self, index: int) -> bool:
        return index in self._sound

    def __len__(self) -> int:
        return len(self._sound)

    def __iter__(self) -> Iterator[Chunk]:
        for index in range(self.complete):
            yield self.load(index)

    @property
    def complete(self) -> int:
        """The number of chunks if all are there, else 0."""
        try:
            n_chunks, n_rows = map(int, (self.folder / COMPLETE).read_text()[:40].split())
        except (OSError, ValueError):
            return 0
        ranges = [self._sound.get(index, (-1, -1)) for index in range(len(self._sound))]
        # Each begins where the one before it ends: otherwise rows would be missing, or counted twice.
        adjoin = all(before[1] == after[0] for before, after in pairwise([(0, 0), *ranges]))
        whole = 0 < n_chunks == len(ranges) and ranges[-1][1] == n_rows
        return n_chunks if whole and adjoin else 0

    def save(self, chunk: Chunk) -> None:
        """Write a chunk under a name that is given only to whole files."""
        path = self._path(chunk.index)
        unfinished = path.with_suffix(".unfinished")
        try:
            with open(unfinished, "wb") as file:
                write_chunk(file, chunk)
            os.replace(unfinished, path)
        except OSError as error:
            with suppress(OSError):
                unfinished.unlink()
            raise OSError(
                error.errno, f"{error.strerror}. Free some space, or name another folder", str(self.folder)
            ) from error
        self._sound[chunk.index] = range_of(chunk)

    def load(self, index: int) -> Chunk:
        """A chunk whose file was verified or written by this run."""
        with open(self._path(index), "rb") as file:
            file.readline(len(MAGIC) + 130)
            return read_chunk(file)

    def finish(self, n_chunks: int) -> None:
        """Note that all chunks are there."""
        (self.folder / COMPLETE).write_text(f"{n_chunks} {self._sound[n_chunks - 1][1]}")

    def _path(self, index: int) -> Path:
        return self.folder / f"{index:08d}.chunk"

    def _examine(self, path: Path) -> None:
        if path.name == COMPLETE:
            return
        named = CHUNK.fullmatch(path.name)
        chunk = sound_chunk(path, int(named[1]), self.check) if named else None
        if chunk is not None:
            self._sound[chunk.index] = range_of(chunk)
            return
        # One that was being written when the last run ended is not damaged.
        if path.suffix != ".unfinished":
            self.damaged.append(path.name)
        path.unlink()


def write_chunk(file: IO[bytes], chunk: Chunk) -> None:
    """Write the digest, the description and the arrays of a chunk."""
    kept = getattr(chunk.carry, "kept", None)
    arrays = [
        np.ascontiguousarray(part) for part in (chunk.rows, chunk.weights, *([] if kept is None else [kept]))
    ]
    described = {
        "index": chunk.index,
        "rows": [arrays[0].dtype.name, *arrays[0].shape],
        "carry": [type(chunk.carry).__name__, int(chunk.carry.start), int(chunk.carry.stop)],
        "kept": kept is not None,
    }
    header = json.dumps(described).encode() + b"\n"
    digest = hashlib.blake2b(header)
    for array in arrays:
        digest.update(bytes_of(array))
    file.write(MAGIC + digest.hexdigest().encode() + b"\n" + header)
    for array in arrays:
        file.write(bytes_of(array))


def range_of(chunk: Chunk) -> tuple[int, int]:
    """The rows of the source that a chunk is of, skipped ones included."""
    return int(chunk.carry.start), int(chunk.carry.stop)


def sound_chunk(path: Path, index: int, check: CheckChunk = anything) -> Chunk | None:
    """The chunk of a file, if it is whole, has this number and passes the check; else None."""
    try:
        with open(path, "rb") as file:
            line = file.readline(len(MAGIC) + 130)
            digest = hashlib.blake2b()
            begun = file.tell()
            while piece := file.read(PIECE):
                digest.update(piece)
            if line != MAGIC + digest.hexdigest().encode() + b"\n":
                return None
            file.seek(begun)
            chunk = read_chunk(file)
            check(chunk)
            return chunk if chunk.index == index else None
    except (OSError, ValueError, KeyError, TypeError, IndexError, RecursionError):
        return None


def read_chunk(file: IO[bytes]) -> Chunk:
    """A chunk, from its description on; sizes are compared with the file's before memory is allocated."""
    described = json.loads(file.readline(HEADER_BYTES))
    name, *shape = described["rows"]
    kind, start, stop = described["carry"]
    numbers = (*shape, start, stop, described["index"])
    if name not in TYPES or len(shape) != 2 or not all(type(n) is int and 0 <= n <= LARGEST for n in numbers):
        raise ValueError(f"rows of {described['rows']!r:.80}")
    rows_bytes, n = math.prod(shape) * np.dtype(name).itemsize, shape[0]
    there = os.fstat(file.fileno()).st_size - file.tell()
    if there != rows_bytes + 8 * n * (2 if described["kept"] else 1):
        raise ValueError(f"{there} bytes for rows of shape {shape}")
    rows, weights = read_array(file, shape, name), read_array(file, [n], "float64")
    kept = read_array(file, [n], "int64") if described["kept"] else None
    if not are_rows(n, stop - start, kept) or not (np.isfinite(weights) & (weights >= 0)).all():
        raise ValueError(f"{n} rows of {start} to {stop}, or weights that are none")
    carry = SourceRows(start, stop, kept) if kind == SourceRows.__name__ else RowRange(start, stop)
    return Chunk(described["index"], rows, weights, carry)


def are_rows(n: int, there: int, kept: Array | None) -> bool:
    """Whether n rows can be all of those that are there, or the ones kept, by number and in order."""
    if kept is None:
        return n == there
    return not n or bool(kept[0] >= 0 and kept[-1] < there and (kept[1:] > kept[:-1]).all())


def read_array(file: IO[bytes], shape: list[int], dtype: str) -> Array:
    """The next array of a file."""
    array: Array = np.empty(shape, dtype=dtype)
    view = bytes_of(array)
    while view:
        n = file.readinto(view)  # type: ignore[attr-defined]
        if not n:
            raise ValueError("the file ends early")
        view = view[n:]
    return array


def bytes_of(array: Array) -> Any:
    """The memory of a contiguous array."""
    return memoryview(array.reshape(-1).view(np.uint8))  # type: ignore[arg-type]
