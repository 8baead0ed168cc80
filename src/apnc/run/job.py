"""One run: source, memory budget, progress listener, records."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from apnc.engines.chunk_files import CheckChunk, anything
from apnc.engines.contract import Data
from apnc.engines.local import CHUNK_BYTES, Layout
from apnc.progress import SILENT, Progress
from apnc.rows import compute_dtype
from apnc.run import costs
from apnc.run.budget import NO_LIMIT, Budget
from apnc.run.records import NO_RECORDS, Records
from apnc.settings import Sizes
from apnc.sources import Source
from apnc.sources.missing import refuse_missing
from apnc.sources.pieces import MissingValuesError


@dataclass(frozen=True)
class Job:
    """One run: source, memory budget, progress listener, records.

    Attributes
    ----------
    source : the rows.
    threads : number of workers.
    budget : memory.
    progress : receives progress reports.
    labels_here : whether the labels of all rows are kept in memory.
    records : what the run keeps for a later one.

    """

    source: Source
    threads: int
    budget: Budget = NO_LIMIT
    progress: Progress = SILENT
    labels_here: bool = True
    records: Records = NO_RECORDS

    @property
    def dtype(self) -> type:
        """Compute type."""
        return compute_dtype(self.source)

    def data(
        self,
        work_bytes: int,
        room: float = np.inf,
        keep: str | None = None,
        check: CheckChunk = anything,
        ids: bool = False,
    ) -> Data:
        """The rows in chunks for work that needs ``work_bytes`` per row.

        ``room`` limits what is cached in memory; ``keep`` names the records that cached chunks belong to, ``check``
        what kept ones must satisfy. With ``ids``, ids of rows are found later, or come along if that is not possible.
        """
        store = None if keep is None else self.records.chunks(keep, check)
        return self.source.data(replace(self.layout(work_bytes, room), store=store, ids=ids))

    def layout(self, work_bytes: int, room: float = np.inf) -> Layout:
        """How rows are split: depends on the rows, the work and the given limit, never on the memory in use."""
        on_rows = None if self.progress is SILENT else self.progress.rows
        size = CHUNK_BYTES if self.budget.limit is None else self.budget.chunk_bytes
        return Layout(work_bytes, self.threads, size, room, on_rows)

    def announce(self, stage: str, n_pairs: int) -> None:
        """Report the beginning of a stage of one pass, in which ``n_pairs`` pairs are compared for each row."""
        self.progress.stage(stage, self.source.n_rows)
        if n_pairs:
            self.progress.pairs(n_pairs)

    def require_to_apply(
        self, n_landmarks: int, n_components: int, cost: costs.Cost = costs.applying
    ) -> None:
        """Refuse a memory limit that is too small for applying a model of that size; ``cost`` says what it costs."""
        if self.budget.limit is None:
            return
        sizes = Sizes(n_landmarks, n_components, 0, self.source.n_rows or 0, 0)

        def needs(budget: Budget) -> dict[str, float]:
            return cost(replace(self, budget=budget).problem(sizes))

        self.budget.require(needs)

    def allows(self, sizes: Sizes) -> bool:
        """Whether a fit of these sizes stays within the memory limit."""
        return self.budget.limit is None or sum(self.needs(sizes).values()) <= self.budget.free

    def needs(self, sizes: Sizes) -> dict[str, float]:
        """Memory of the stage that needs the most, by part."""
        return costs.most(self.problem(sizes))

    def problem(self, sizes: Sizes) -> costs.Problem:
        """What the memory of a fit of these sizes depends on."""
        source = self.source
        return costs.Problem(
            sizes,
            held_bytes=8 * source.held or source.read_bytes,
            landmark_bytes=0 if source.kernel is None else source.kernel.landmark_bytes(source.held),
            dense=source.dtype is not None and not source.is_sparse,
            overhead=source.overhead,
            labels=sizes.n_rows if self.labels_here and not source.remote else 0,
            itemsize=np.dtype(self.dtype).itemsize,
            threads=self.threads,
            chunk_bytes=self.budget.chunk_bytes,
        )

    def room(self, sizes: Sizes) -> float:
        """Bytes of Y that may stay in memory."""
        return max(0.0, self.budget.free - sum(costs.clustering(self.problem(sizes)).values()))

    @contextmanager
    def running(self) -> Iterator[None]:
        """Context for all work on the data: reports compilation, and lists all missing values in the error."""
        try:
            if self.progress is SILENT:
                yield
            else:
                from apnc.loops.compiled import watched

                with self.progress, watched(self.progress.note):
                    yield
        except MissingValuesError:
            layout = self.layout(8 * self.source.held)
            refuse_missing(self.source, layout.rows_per_chunk(None, self.source.read_bytes))
            # Rows that a remote frame computes anew may be other ones.
            raise
