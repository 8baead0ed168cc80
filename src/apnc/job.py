"""One run of an estimator over some data: what is read, in how much memory, and who is told."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from apnc import advice, plan
from apnc.kernels import compute_dtype
from apnc.memory import Budget
from apnc.model import EmbeddingModel
from apnc.pipeline import Data, Drawn
from apnc.progress import SILENT, Progress
from apnc.settings import EmbeddingSettings, expected_sizes, sample_sizes
from apnc.sources.chunks import Layout, chunked
from apnc.sources.family import MissingValuesError, Source, refuse_missing
from apnc.sources.rows import n_rows, numbers_held

Array = npt.NDArray[Any]
COMPILING = "compiling loops for this machine, which takes some seconds, once"


@dataclass(frozen=True)
class Job:
    """Data and means.

    Attributes
    ----------
    given : rows in memory, or a source.
    weights : of rows in memory; None: one each, or those of the source.
    threads : workers.
    budget : memory.
    progress : told what is done.

    """

    given: Any
    weights: Array | None
    threads: int
    budget: Budget
    progress: Progress = SILENT

    @classmethod
    def begin(
        cls,
        given: Any,
        weights: Array | None,
        threads: int,
        limit: str | int | None,
        progress: Progress = SILENT,
    ) -> "Job":
        """A job from here on; libraries that it loads count as part of the interpreter."""
        if limit is not None:
            from apnc.loops.compiled import load

            load()
        return cls(given, weights, threads, Budget.now(limit), progress)

    @property
    def held(self) -> int:
        """Numbers in a row."""
        return self.given.held if isinstance(self.given, Source) else numbers_held(self.given)

    @property
    def dtype(self) -> type:
        """Compute type."""
        return compute_dtype(self.given)

    def rows_at_once(self, model: EmbeddingModel) -> int:
        """Rows that suit a fitted embedding, on Spark."""
        layout = self._layout(model.row_bytes(self.held, self.dtype), plan.CHUNK_BYTES)
        return layout.rows_per_chunk(None, self.given.row_bytes)

    def told(self, progress: Progress) -> "Job":
        """The same, told to someone else."""
        return replace(self, progress=progress)

    def for_sampling(self, settings: EmbeddingSettings) -> Data:
        """The data in chunks for hashing; refuses a memory limit that the whole fit cannot keep, as far as is known."""
        problem = self.expected(settings, self.n_rows_known())
        self.budget.require(plan.least(problem))
        return self._data(8 * self.held, problem)

    def expected(self, settings: EmbeddingSettings, n_rows: int | None) -> plan.Problem:
        """What the memory of a fit depends on, before anything is sampled."""
        l, m = expected_sizes(settings, n_rows or np.inf)  # noqa: E741
        return self.problem(l, m, settings.n_clusters, n_rows or 0, sum(sample_sizes(settings).values()))

    def n_rows_known(self) -> int | None:
        """Rows of the data, if they need not be counted."""
        return self.given.n_rows_known() if isinstance(self.given, Source) else n_rows(self.given)

    def allow(self, drawn: Drawn, n_landmarks: int, n_components: int, n_clusters: int) -> None:
        """Refuse a memory limit that the fit cannot keep."""
        rows = sum(len(sample) for sample in drawn.samples.values())
        n = drawn.census.n_rows
        self.budget.require(plan.least(self.problem(n_landmarks, n_components, n_clusters, n, rows)))

    def for_embedding(self, model: EmbeddingModel) -> Data:
        """The data in chunks for a fitted embedding, of which nothing is kept."""
        return self._embedding(model, 0, self.n_rows_known() or 0, 0)

    def for_clustering(self, model: EmbeddingModel, n_clusters: int, drawn: Drawn) -> Data:
        """The same, with room for what is kept of the embedding."""
        samples = sum(len(sample) for sample in drawn.samples.values())
        return self._embedding(model, n_clusters, drawn.census.n_rows, samples)

    def _embedding(self, model: EmbeddingModel, n_clusters: int, n: int, samples: int) -> Data:
        l, m = model.coefficients.n_landmarks, model.coefficients.n_components  # noqa: E741
        problem = self.problem(l, m, n_clusters, n, samples)
        self.budget.require(plan.clustering(problem, plan.LEAST_CHUNK_BYTES))
        return self._data(model.row_bytes(self.held, self.dtype), problem)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Around all work on the data: what was missing in it is said in full, and what else takes time."""
        try:
            with self._told_of_compiling():
                yield
        except MissingValuesError:
            layout = self._layout(8 * self.held, plan.CHUNK_BYTES)
            refuse_missing(self.given, layout.rows_per_chunk(None, self.given.row_bytes))

    def _told_of_compiling(self) -> AbstractContextManager[Any]:
        if self.progress is SILENT:
            return nullcontext()
        from apnc.loops.compiled import watched

        return watched(partial(self.progress.note, COMPILING))

    def tell_skipped(self, data: Data) -> None:
        """Warn of rows left out."""
        if isinstance(self.given, Source):
            advice.warn_if_skipped(self.given.name, sum(data.skipped.values()))

    def _data(self, row_bytes: int, problem: plan.Problem) -> Data:
        free = self.budget.free
        limited = self.budget.limit is not None
        layout = self._layout(row_bytes, plan.chunk_bytes(problem, free) if limited else plan.CHUNK_BYTES)
        room = plan.room_for_rows(problem, free)
        return chunked(self.given, self.weights, replace(layout, room=room))

    def _layout(self, row_bytes: int, chunk_bytes: int) -> Layout:
        on_rows = None if self.progress is SILENT else self.progress.rows
        return Layout(row_bytes, self.threads, chunk_bytes, on_rows=on_rows)

    def problem(self, n_landmarks: int, n_components: int, k: int, n_rows: int, samples: int) -> plan.Problem:
        """What the memory of the work depends on."""
        source = self.given if isinstance(self.given, Source) else None
        itemsize = np.dtype(self.dtype).itemsize
        return plan.Problem(
            n_landmarks=n_landmarks,
            n_components=n_components,
            n_clusters=k,
            row_bytes=8 * self.held or (source.row_bytes if source else 0),
            source_overhead=source.overhead if source else 0,
            n_rows=n_rows,
            itemsize=itemsize,
            sample_rows=samples,
            threads=self.threads,
        )
