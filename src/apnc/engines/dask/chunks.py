"""The Dask engine: chunks of the partitions of a collection, on this process's threads or a cluster's workers.

All work is ``dask.delayed``: Dask decides where tasks run, spills what is kept, and repeats what a lost worker had.
"""

import pickle
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from apnc.engines.blas import one_thread, waiting
from apnc.engines.contract import Chunk
from apnc.engines.dask.losses import told_plainly
from apnc.engines.local import Step
from apnc.engines.outcomes import Combine, Outcome, join, portable
from apnc.sources.columns import no_rows
from apnc.sources.pieces import SourceError

T = TypeVar("T")
#: Turns a partition and its number into chunks.
Read = Callable[[Any, int], Iterator[Chunk]]

#: Number of partial results combined by one task.
FAN = 32
#: Bytes of a row's bounds, which Lloyd's iterations add to kept chunks.
BOUNDS = 52


@dataclass(frozen=True)
class DaskChunks:
    """Chunks read from the partitions of a collection; maps are composed and run by a reduce.

    Attributes
    ----------
    parts : the partitions.
    read : turns a partition into chunks.
    steps : maps to run on each chunk.
    name : what messages call the rows.

    """

    parts: "Parts"
    read: Read
    steps: tuple[Step, ...] = ()
    name: str = "the collection"

    def map(self, fn: Step) -> "DaskChunks":
        """Compose; nothing is computed yet."""
        return replace(self, steps=(*self.steps, fn))

    def reduce(self, fn: Callable[[Chunk], T], combine: Callable[[T, T], T]) -> T:
        """Fold the chunks of each partition in its task, then the partial results in a tree, in partition order."""
        with told_plainly(), waiting():
            found: Outcome = self.total(fn, combine).compute()
        if found.errors:
            raise found.errors[0]
        if not found.values:
            raise SourceError(no_rows(self.name))
        value: T = found.values[0]
        return value

    def total(self, fn: Callable[[Chunk], Any], combine: Combine) -> Any:
        """The delayed outcome of a reduce."""
        from dask import delayed

        found, joining = self.parts.each(Fold(self.work, fn, combine)), shipped(combine)
        while True:
            groups = [found[i : i + FAN] for i in range(0, len(found), FAN)]
            found = [delayed(join, pure=False)(group, joining) for group in groups]
            if len(found) == 1:
                return found[0]

    def cached(self) -> AbstractContextManager["DaskChunks"]:
        """All chunks, computed once and kept by the workers until the context ends."""
        return _kept(self)

    def __iter__(self) -> Iterator[Chunk]:
        raise TypeError("Rows of a Dask collection stay in the workers; they cannot be iterated here.")

    @property
    def work(self) -> "Work":
        """How a partition becomes chunks."""
        return Work(self.read, self.steps)


class Parts:
    """The partitions of a collection, or their kept chunks, as delayed objects in order."""

    def __init__(self, delayed: Sequence[Any]) -> None:
        self._delayed: Sequence[Any] | None = delayed

    def each(self, task: Callable[[Any, int], Any]) -> list[Any]:
        """The delayed outcome of a task for every partition."""
        from dask import delayed

        if self._delayed is None:
            raise RuntimeError(
                "These chunks are no longer available: the context that cached them has ended."
            )
        sent, run = shipped(task), delayed(attempted, pure=False)
        return [run(sent, part, number) for number, part in enumerate(self._delayed)]

    def release(self) -> None:
        """Let the workers forget kept chunks, even if someone still refers to them."""
        from distributed import futures_of

        # A client that was closed has released them, and a failure here must not hide the original error.
        with suppress(Exception):
            for future in futures_of(self._delayed):
                future.release()
        self._delayed = None


def shipped(task: Any) -> Any:
    """A function and its state as one key of the graph, by value if its module was registered so."""
    import cloudpickle
    from dask import delayed

    return delayed(pickle.loads, pure=False)(cloudpickle.dumps(task))


def attempted(task: Callable[[Any, int], Any], part: Any, number: int) -> Any:
    """The result of a task on one thread; an error is returned, so that the first partition's can be reported."""
    if isinstance(part, Outcome):
        return part
    try:
        with one_thread():
            return task(part, number)
    except Exception as error:
        return Outcome(errors=(portable(error),))


@dataclass(frozen=True)
class Work:
    """How a partition is turned into chunks: read, then mapped."""

    read: Read
    steps: tuple[Step, ...]

    def __call__(self, part: Any, number: int) -> Iterator[Chunk]:
        for chunk in self.read(part, number):
            for step in self.steps:
                chunk = step(chunk)
            yield chunk


@dataclass(frozen=True)
class Fold:
    """Task: the partial result of a partition."""

    work: Work
    fn: Callable[[Chunk], Any]
    combine: Combine

    def __call__(self, part: Any, number: int) -> Outcome:
        return join((Outcome((self.fn(chunk),)) for chunk in self.work(part, number)), self.combine)


@dataclass(frozen=True)
class Keep:
    """Task: the mapped chunks of a partition."""

    work: Work

    def __call__(self, part: Any, number: int) -> "Kept":
        return Kept(tuple(self.work(part, number)))


@dataclass(frozen=True)
class Kept:
    """Chunks in a worker's memory. Their scratch stays there: a copy on disk or for another worker has none."""

    chunks: tuple[Chunk, ...]

    def __sizeof__(self) -> int:
        # Dask spills by this; without it, kept chunks would seem to need no memory.
        return sum(
            chunk.rows.nbytes + chunk.weights.nbytes + BOUNDS * len(chunk.weights) for chunk in self.chunks
        )

    def __reduce__(self) -> tuple[Any, ...]:
        return Kept, (tuple(replace(chunk, scratch={}) for chunk in self.chunks),)


def read_kept(kept: Kept, number: int) -> Iterator[Chunk]:
    """The chunks of a partition that were kept."""
    return iter(kept.chunks)


@contextmanager
def _kept(chunks: DaskChunks) -> Iterator[DaskChunks]:
    import dask

    with told_plainly(), waiting():
        parts = Parts(dask.persist(*chunks.parts.each(Keep(chunks.work))))
    kept = DaskChunks(parts, read_kept, name=chunks.name)
    try:
        # Wait until all are there, or one has failed.
        kept.reduce(_done, _both)
        yield kept
    finally:
        parts.release()


def _done(chunk: Chunk) -> bool:
    return True


def _both(left: bool, right: bool) -> bool:
    return left and right
