"""The Spark engine: chunks of the partitions of a DataFrame, on classic Spark and on Spark Connect alike.

Tasks run the local engine (``spark_tasks``). What is kept between passes lies in files in the executors' local folders;
an index of them is in Spark's cache, which brings tasks to their files and makes both again where an executor is lost.
"""

import uuid
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, TypeVar

from apnc.engines.contract import Chunk
from apnc.engines.local import Step
from apnc.engines.spark.session import collected, on_drivers_python, shipped
from apnc.engines.spark.tasks import (
    Fold,
    Forget,
    JoinNeighbours,
    Keep,
    Outcome,
    Read,
    Work,
    join,
    read_kept,
    unpacked,
)
from apnc.sources.columns import no_rows
from apnc.sources.pieces import SourceError

T = TypeVar("T")

#: What messages call the rows.
NAME = "the DataFrame"
#: Partial results that are combined by one task, or by the driver.
FAN = 32
#: Times that partitions whose files were not where their task ran are tried again, then all is embedded anew.
TRIES, RENEWALS = 4, 3
#: Tasks that look for files on the executors when there is no index to follow.
CLEANERS = 64


@dataclass(frozen=True)
class SparkChunks:
    """Chunks that are read from the partitions of a DataFrame; maps are composed and run when a reduce asks.

    Attributes
    ----------
    rows : the DataFrame, or the index of what was kept of one.
    read : makes chunks of the Arrow batches of a partition.
    steps : maps to run on each chunk.

    """

    rows: "Rows"
    read: Read
    steps: tuple[Step, ...] = ()

    def map(self, fn: Step) -> "SparkChunks":
        """Compose; nothing is computed yet."""
        return replace(self, steps=(*self.steps, fn))

    def reduce(self, fn: Callable[[Chunk], T], combine: Callable[[T, T], T]) -> T:
        """Fold the chunks of each partition there, then the partial results in a tree, in order of partitions."""
        fold = Fold(Work(self.read, self.steps), fn, combine)
        for _ in range(RENEWALS):
            found = Outcome(lost=(-1,))
            for attempt in range(TRIES):
                frame = self.rows.frame
                if attempt:
                    frame = frame.where(frame["position"].isin(list(found.lost)))
                found = join([replace(found, lost=()), self._outcome(frame, fold)], combine)
                if not found.lost:
                    return _value(found)
            self.rows.renew()
        raise RuntimeError(
            "Files that were kept in the executors' local folders vanish while they are needed. See spark.local.dir."
        )

    def cached(self) -> AbstractContextManager["SparkChunks"]:
        """All chunks computed once and kept on the executors until the context ends."""
        return _kept(self)

    def __iter__(self) -> Iterator[Chunk]:
        raise TypeError("Rows of a Spark DataFrame stay on the executors; they are not looped over.")

    def _outcome(self, frame: Any, fold: Fold) -> Outcome:
        """Outcomes of all partitions as one; combined by tasks as long as there are too many for the driver."""
        from pyspark.sql.functions import spark_partition_id

        with on_drivers_python(frame):
            outcomes = frame.mapInArrow(shipped(frame, fold).run, "outcome binary")
            for level in range(self.rows.levels):
                position = spark_partition_id() if level == 0 else outcomes["position"]
                numbered = outcomes.withColumn("position", position.cast("long"))
                together = numbered.repartition((numbered["position"] / FAN).cast("long"))
                task = JoinNeighbours(fold.combine, FAN)
                outcomes = together.mapInArrow(task.run, "position long, outcome binary")
        found = collected(outcomes)
        return join(unpacked(found.sort_by("position") if self.rows.levels else found), fold.combine)


def _value(found: Outcome) -> Any:
    if found.errors:
        raise found.errors[0]
    if not found.values:
        raise SourceError(no_rows(NAME))
    return found.values[0]


class Rows:
    """A DataFrame; the number of its partitions is not known before it is computed."""

    levels = 1

    def __init__(self, frame: Any):
        self.frame = frame

    def renew(self) -> None:
        """Nothing is kept that could be lost."""


class Index(Rows):
    """Where the kept chunks of each partition are: a DataFrame in Spark's cache."""

    def __init__(self, chunks: SparkChunks):
        self._chunks, self._run_id, self._complete = chunks, uuid.uuid4().hex, False
        self._cached: Any = None

    @property
    def frame(self) -> Any:
        """The index while it is kept."""
        if self._cached is None:
            raise RuntimeError("These chunks were kept until the end of their context, which is over.")
        return self._cached

    def renew(self) -> None:
        """Compute and keep all chunks, again if they were before."""
        self._forget()
        source = self._chunks.rows.frame
        with on_drivers_python(source):
            task = shipped(source, Keep(Work(self._chunks.read, self._chunks.steps), self._run_id))
            columns = "position long, path string, outcome binary"
            self._cached = source.mapInArrow(task.run, columns).persist()
        kept = collected(self._cached.select("position", "outcome"))
        self._complete = True
        failed = next((outcome.errors[0] for outcome in unpacked(kept) if outcome.errors), None)
        if failed is not None:
            raise failed
        self.levels = levels_for(len(kept))

    def release(self) -> None:
        """Remove the files and the index, as far as the session still lives; else they went with it."""
        with suppress(Exception):
            self._remove_files()
        with suppress(Exception):
            self._forget()

    def _remove_files(self) -> None:
        """By tasks that follow the index; an index that failed would only be tried again, so by some anywhere."""
        source = self._chunks.rows.frame
        tasks = self._cached if self._complete else source.sparkSession.range(0, CLEANERS, 1, CLEANERS)
        with on_drivers_python(source):
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
        yield SparkChunks(index, read_kept)
    finally:
        index.release()


def levels_for(n_partitions: int) -> int:
    """Rounds of combining by tasks until the driver gets few enough partial results."""
    levels = 0
    while n_partitions > FAN:
        n_partitions, levels = -(-n_partitions // FAN), levels + 1
    return levels
