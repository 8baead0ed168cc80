"""The Spark engine: chunks of the partitions of a DataFrame, on classic Spark and Spark Connect.

Tasks run the local engine (``tasks``). Chunks are cached between passes as files in the executors' local folders. An
index of these files is in Spark's cache, so that Spark schedules tasks where their files are, and recomputes both if an
executor is lost.
"""

import uuid
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from apnc.engines.contract import Chunk
from apnc.engines.local import Step
from apnc.engines.outcomes import Outcome, join
from apnc.engines.spark.executors import all_lost, there_and_lost
from apnc.engines.spark.losses import told_plainly
from apnc.engines.spark.session import as_written, collected, on_drivers_python, shipped
from apnc.engines.spark.tasks import (
    Fold,
    Forget,
    JoinNeighbours,
    Keep,
    Read,
    ReadKept,
    Work,
    unpacked,
)
from apnc.sources.columns import no_rows
from apnc.sources.pieces import SourceError

T = TypeVar("T")

#: What messages call the rows.
NAME = "the DataFrame"
#: What tasks return.
OUTCOME = "position long, outcome binary"
#: Number of partial results combined by one task, or by the driver.
FAN = 32
#: How often partitions whose files were not found on their task's executor are retried before everything is recomputed,
#: and how often that is done.
TRIES, RENEWALS = 4, 3
DISAPPEAR = (
    "Files cached in the executors' local folders disappear while they are needed. Check spark.local.dir."
)
#: Tasks that search the executors for files when there is no index.
CLEANERS = 64


@dataclass(frozen=True)
class SparkChunks:
    """Chunks read from the partitions of a DataFrame; maps are composed and run by a reduce.

    Attributes
    ----------
    rows : the DataFrame, or the index of its cached chunks.
    read : turns the Arrow batches of a task into the chunks of partitions.
    steps : maps to run on each chunk.

    """

    rows: "Rows"
    read: Read
    steps: tuple[Step, ...] = ()

    def map(self, fn: Step) -> "SparkChunks":
        """Compose; nothing is computed yet."""
        return replace(self, steps=(*self.steps, fn))

    def reduce(self, fn: Callable[[Chunk], T], combine: Callable[[T, T], T]) -> T:
        """Fold the chunks of each partition, then the partial results in a tree, in partition order."""
        fold = Fold(Work(self.read, self.steps), fn, combine)
        for _ in range(RENEWALS):
            found = Outcome(lost=(-1,))
            for attempt in range(TRIES):
                # Spark runs a task away from its files if their executor stays busy: retry only those partitions.
                frame = self.rows.only(found.lost) if attempt else self.rows.frame
                found = join([replace(found, lost=()), self._outcome(frame, fold)], combine)
                if not found.lost:
                    return _value(found)
            self.rows.renew()
        raise RuntimeError(DISAPPEAR)

    def cached(self) -> AbstractContextManager["SparkChunks"]:
        """All chunks, computed once and kept on the executors until the context ends."""
        return _kept(self)

    def split(self, n_rows: int) -> "SparkChunks":
        """Cached chunks, in pieces of at most ``n_rows`` rows."""
        return replace(self, read=ReadKept(n_rows))

    def __iter__(self) -> Iterator[Chunk]:
        raise TypeError(
            "Rows of a Spark DataFrame stay on the executors; they cannot be iterated on the driver."
        )

    def _outcome(self, frame: Any, fold: Fold) -> Outcome:
        """The combined outcome of all partitions; tasks combine while there are too many for the driver."""
        with told_plainly(frame), on_drivers_python(frame):
            outcomes = frame.mapInArrow(shipped(frame, fold).run, OUTCOME)
            for level in range(self.rows.levels):
                key = (outcomes["position"] / FAN).cast("long")
                groups = self.rows.groups(level)
                together = outcomes.repartition(key) if groups is None else outcomes.repartition(groups, key)
                outcomes = together.mapInArrow(JoinNeighbours(fold.combine, FAN).run, OUTCOME)
        with self.rows.planned():
            found = collected(outcomes)
        return join(unpacked(found.sort_by("position")), fold.combine)


def _value(found: Outcome) -> Any:
    if found.errors:
        raise found.errors[0]
    if not found.values:
        raise SourceError(no_rows(NAME))
    return found.values[0]


class Rows:
    """A DataFrame; the number of its partitions is unknown until it is computed."""

    levels = 1

    def __init__(self, frame: Any):
        self.frame = frame

    def only(self, positions: Iterable[int]) -> Any:
        """Not needed: nothing that a DataFrame is read from is lost."""
        raise NotImplementedError

    def groups(self, level: int) -> int | None:
        """Number of tasks that combine outcomes; None: as many as Spark thinks."""
        return None

    def planned(self) -> AbstractContextManager[None]:
        """How Spark plans jobs on these rows: as its configuration says."""
        return nullcontext()

    def renew(self) -> None:
        """Nothing to do: a DataFrame has no cached files to lose."""


class Index(Rows):
    """Locations of the cached chunks of each partition: a DataFrame in Spark's cache."""

    def __init__(self, chunks: SparkChunks):
        self._chunks, self._run_id, self._complete = chunks, uuid.uuid4().hex, False
        self._cached: Any = None
        self._n_kept = 0

    @property
    def frame(self) -> Any:
        """The index, until it is released."""
        if self._cached is None:
            raise RuntimeError(
                "These chunks are no longer available: the context that cached them has ended."
            )
        # One task a partition: in grouped ones, Spark would number partitions that it computes again by the group.
        return self._cached

    def only(self, positions: Iterable[int]) -> Any:
        """The rows for these partitions, each in a task of its own, where its files are."""
        with told_plainly(self._cached):
            return self._cached.where(self._cached["position"].isin(list(positions)))

    def groups(self, level: int) -> int:
        """One for each ``FAN`` outcomes."""
        return max(1, self._n_kept // FAN ** (level + 1))

    def planned(self) -> AbstractContextManager[None]:
        """As written: measuring an index of a few rows first would take longer than most passes."""
        return as_written(self._cached)

    def renew(self) -> None:
        """Compute and cache all chunks, replacing an earlier cache, and if it is lost, the one they are made from."""
        for _ in range(RENEWALS):
            kept = self._computed()
            if not any(outcome.lost for outcome in kept):
                break
            self._chunks.rows.renew()
        else:
            raise RuntimeError(DISAPPEAR)
        failed = next((outcome.errors[0] for outcome in kept if outcome.errors), None)
        if failed is not None:
            raise failed
        self._n_kept = len(kept)
        self.levels = levels_for(len(kept))

    def _computed(self) -> list[Outcome]:
        """The outcomes of all partitions, whose chunks are cached."""
        self._forget()
        source = self._chunks.rows.frame
        with told_plainly(source), on_drivers_python(source):
            task = shipped(source, Keep(Work(self._chunks.read, self._chunks.steps), self._run_id))
            columns = "position long, path string, outcome binary"
            self._cached = source.mapInArrow(task.run, columns).persist()
            outcomes = self._cached.select("position", "outcome")
        with self._chunks.rows.planned():
            kept = list(unpacked(collected(outcomes)))
        self._complete = True
        return kept

    def release(self) -> None:
        """Remove the files and the index."""
        # A session that has ended has removed both by itself, and a failure here must not hide the original error.
        for _ in range(TRIES):
            with suppress(Exception):
                self._remove_files()
                break
        with suppress(Exception):
            self._forget()

    def _remove_files(self) -> None:
        """Run removal tasks on the executors."""
        source = self._chunks.rows.frame
        if all_lost(source):
            return
        if self._complete:
            self._remove_by(self._cached)
        # Using an index whose computation failed would compute it again, and an index does not know of files that a
        # lost executor has left on its machine: plain tasks search the executors.
        if not self._complete or there_and_lost(source)[1]:
            self._remove_by(source.sparkSession.range(0, CLEANERS, 1, CLEANERS))

    def _remove_by(self, tasks: Any) -> None:
        with on_drivers_python(tasks):
            forgotten = tasks.mapInArrow(Forget(self._run_id).run, "position long")
        collected(forgotten)

    def _forget(self) -> None:
        cached, self._cached, self._complete = self._cached, None, False
        if cached is not None:
            cached.unpersist(blocking=True)


@contextmanager
def _kept(chunks: SparkChunks) -> Iterator[SparkChunks]:
    index = Index(chunks)
    try:
        index.renew()
        yield SparkChunks(index, ReadKept())
    finally:
        index.release()


def levels_for(n_partitions: int) -> int:
    """Rounds of combining in tasks before the driver receives at most ``FAN`` partial results."""
    levels = 0
    while n_partitions > FAN:
        n_partitions, levels = -(-n_partitions // FAN), levels + 1
    return levels
