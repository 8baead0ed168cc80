"""Tasks of Spark's Python workers: each runs the local engine on the chunks of one partition."""

import os
import pickle
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from operator import itemgetter
from pathlib import Path
from typing import IO, Any

import numpy as np
import pyarrow as pa

from apnc.engines.contract import MOST_CHUNKS, Chunk
from apnc.engines.local import LocalChunks, Step
from apnc.engines.outcomes import Combine, Outcome, join, portable
from apnc.typing import Array

#: Failures of a machine rather than of the data: the task fails, so that Spark retries it elsewhere.
TRANSIENT = (OSError, MemoryError)
#: Arrays in files start at multiples of this number of bytes, as numpy and compiled loops want them.
ALIGNED = 64
#: Names of the local folders that Spark makes for its executors.
SPARKS = "blockmgr-*"

#: Numbers of partitions with their chunks, from the Arrow batches of a task.
Read = Callable[[Iterable[Any]], Iterator[tuple[int, Iterator[Chunk]]]]


class LostError(Exception):
    """Cached chunks are not on this machine; the argument is the number of their partition."""


@dataclass(frozen=True)
class Work:
    """How the input of a task is turned into chunks: read, then mapped."""

    read: Read
    steps: tuple[Step, ...]

    def outcomes(
        self, batches: Iterable[Any], of: Callable[[int, LocalChunks], Any]
    ) -> Iterator[tuple[int, Outcome]]:
        """The number of each partition, and what ``of`` makes of its chunks; nothing for an empty one."""
        for position, chunks in self.read(batches):
            try:
                # Spark has empty partitions, but a reduce needs at least one chunk.
                first = next(chunks, None)
                if first is None:
                    continue
                mapped = LocalChunks(chain([first], chunks), _context().cpus(), self.steps)
                outcome = Outcome((of(position, mapped),))
            except LostError as error:
                outcome = Outcome(lost=error.args)
            except TRANSIENT:
                raise
            # An error in the data is returned, not raised: Spark would retry the task, and wrap the message in its own.
            except Exception as error:
                outcome = Outcome(errors=(portable(error),))
            yield position, outcome


@dataclass(frozen=True)
class Fold:
    """Task: compute the partial result of each partition."""

    work: Work
    fn: Callable[[Chunk], Any]
    combine: Combine

    def run(self, batches: Iterator[Any]) -> Iterator[Any]:
        """A row per partition: its number, and the outcome."""
        for position, outcome in self.work.outcomes(batches, self._folded):
            yield _row(position=position, outcome=outcome.packed())

    def _folded(self, position: int, chunks: LocalChunks) -> Any:
        return chunks.reduce(self.fn, self.combine)


@dataclass(frozen=True)
class JoinNeighbours:
    """Task: combine the outcomes of ``fan`` neighbouring partitions, which were shuffled to the same task."""

    combine: Combine
    fan: int

    def run(self, batches: Iterator[Any]) -> Iterator[Any]:
        """One row per group."""
        groups: dict[int, list[tuple[int, Outcome]]] = {}
        for batch in batches:
            for position, outcome in zip(batch["position"].to_pylist(), unpacked(batch), strict=True):
                groups.setdefault(position // self.fan, []).append((position, outcome))
        for group, members in groups.items():
            ordered = (outcome for _, outcome in sorted(members, key=itemgetter(0)))
            yield _row(position=group, outcome=join(ordered, self.combine).packed())


@dataclass(frozen=True)
class Keep:
    """Task: write the mapped chunks of each partition to a file on the executor; ``run_id`` names its folder."""

    work: Work
    run_id: str

    def run(self, batches: Iterator[Any]) -> Iterator[Any]:
        """A row per partition: its number, the path, the outcome."""
        for position, outcome in self.work.outcomes(batches, self._written):
            path = "".join(outcome.values)
            yield _row(position=position, path=path, outcome=replace(outcome, values=()).packed())

    def _written(self, position: int, chunks: LocalChunks) -> str:
        folders = folders_of(self.run_id)
        folder = folders[position % len(folders)]
        folder.mkdir(parents=True, exist_ok=True)
        # Two attempts of a task may run at once (speculation), so each has a file of its own.
        path = folder / f"{position}-{_context().taskAttemptId()}.npy"
        try:
            with open(path, "wb") as file:
                for chunk in chunks:
                    for part in (chunk.rows, chunk.weights):
                        file.write(bytes(-file.tell() % ALIGNED))
                        np.save(file, np.ascontiguousarray(part), allow_pickle=False)
        except BaseException:
            path.unlink(missing_ok=True)
            raise
        return str(path)


@dataclass(frozen=True)
class ReadKept:
    """Chunks from the files listed in the rows of an index, in pieces of at most ``n_rows`` rows if that is given."""

    n_rows: int | None = None

    def __call__(self, batches: Iterable[Any]) -> Iterator[tuple[int, Iterator[Chunk]]]:
        for batch in batches:
            for position, path in zip(batch["position"].to_pylist(), batch["path"].to_pylist(), strict=True):
                yield position, self._chunks(path, position)

    def _chunks(self, path: str, position: int) -> Iterator[Chunk]:
        try:
            for index, (rows, weights) in enumerate(self._split(path), position * MOST_CHUNKS):
                yield Chunk(index, rows, weights)
        except FileNotFoundError:
            raise LostError(position) from None

    def _split(self, path: str) -> Iterator[tuple[Array, Array]]:
        for rows, weights in stored_in(path):
            size = self.n_rows or max(1, len(weights))
            for first in range(0, len(weights), size):
                yield rows[first : first + size], weights[first : first + size]


def stored_in(path: str) -> Iterator[tuple[Array, Array]]:
    """Rows and weights of the chunks in a file, which stay in the system's cache of it: nothing is copied."""
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        while file.tell() < size:
            yield mapped(file), mapped(file)


def mapped(file: IO[bytes]) -> Array:
    """The next array of a file in numpy's format."""
    file.seek(-file.tell() % ALIGNED, os.SEEK_CUR)
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    start = file.tell()
    # Compiled loops take arrays that can be written to; the file stays as it is.
    found = np.memmap(file, dtype, "c", start, shape).view(np.ndarray)
    file.seek(start + found.nbytes)
    return found


@dataclass(frozen=True)
class Forget:
    """Task: remove cached files of this executor, and of those that died before it on this machine."""

    run_id: str

    def run(self, batches: Iterator[Any]) -> Iterator[Any]:
        """Return no rows."""
        for folder in folders_of(self.run_id):
            # An executor that was killed leaves its folder beside that of its successor until the session ends.
            for kept in folder.parent.parent.glob(f"{SPARKS}/{folder.name}"):
                shutil.rmtree(kept, ignore_errors=True)
            shutil.rmtree(folder, ignore_errors=True)
        # Spark kills a worker that does not read its input to the end.
        for _ in batches:
            pass
        yield from ()


def folders_of(run_id: str) -> list[Path]:
    """This executor's folders for cached files, in Spark's local folders, which Spark removes with the executor."""
    return [Path(folder) / f"apnc-{run_id}" for folder in os.environ["SPARK_LOCAL_DIRS"].split(",")]


def unpacked(rows: Any) -> Iterator[Outcome]:
    """The outcomes in a table, in row order."""
    return (Outcome(*pickle.loads(zlib.decompress(packed.as_py()))) for packed in rows["outcome"])


def _row(**values: Any) -> Any:
    return pa.RecordBatch.from_pylist([values])


def partition() -> int:
    """The number of this task's partition."""
    return int(_context().partitionId())


def _context() -> Any:
    from pyspark import TaskContext

    return TaskContext.get()
