"""The local engine: chunks on a thread pool, BLAS held to one thread a worker."""

import os
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Integral
from typing import Any, TypeVar

import numpy as np

from apnc.blas import one_thread
from apnc.engines.contract import Array, Chunk, RowRange

T = TypeVar("T")
Step = Callable[[Chunk], Chunk]


def n_threads(n_jobs: int | None) -> int:
    """Threads for ``n_jobs``: ``None`` and -1 mean every core this process may use."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if n_jobs is None:
        return cores
    if not isinstance(n_jobs, Integral) or isinstance(n_jobs, bool) or n_jobs == 0:
        raise ValueError(f"n_jobs={n_jobs!r} has no meaning; use a positive integer, or None for all cores.")
    n_jobs = int(n_jobs)
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def split(n_rows: int, rows_per_chunk: int) -> list[RowRange]:
    """Consecutive row ranges that cover ``n_rows``, of nearly equal length."""
    n_chunks = max(1, -(-n_rows // max(1, rows_per_chunk)))
    edges = np.linspace(0, n_rows, n_chunks + 1).astype(int).tolist()
    return [RowRange(start, stop) for start, stop in pairwise(edges)]


@dataclass(frozen=True)
class LocalChunks:
    """Rows in memory, cut into ranges; maps are composed and run when a reduce or a loop asks."""

    load: Callable[[int], Chunk]
    n_chunks: int
    threads: int = 1
    steps: tuple[Step, ...] = ()

    @classmethod
    def of(cls, rows: Any, weights: Array, ranges: Sequence[RowRange], threads: int) -> "LocalChunks":
        """Chunks of ``rows`` (anything that can be sliced)."""
        return cls(_Slices(rows, weights, tuple(ranges)), len(ranges), threads)

    def map(self, fn: Step) -> "LocalChunks":
        """Compose; nothing is computed yet."""
        return replace(self, steps=(*self.steps, fn))

    def reduce(self, fn: Callable[[Chunk], T], combine: Callable[[T, T], T]) -> T:
        """Map the chunks on the pool and fold the partial results in index order."""
        partials = self._run(fn)
        total = next(partials)
        for partial in partials:
            total = combine(total, partial)
        return total

    def cached(self) -> AbstractContextManager["LocalChunks"]:
        """All chunks computed once and held in memory until the context ends."""
        return _held(self)

    def __iter__(self) -> Iterator[Chunk]:
        """The computed chunks in index order."""
        return self._run(_itself)

    def _run(self, fn: Callable[[Chunk], T]) -> Iterator[T]:
        def work(index: int) -> T:
            chunk = self.load(index)
            for step in self.steps:
                chunk = step(chunk)
            return fn(chunk)

        with (
            one_thread(),
            ThreadPoolExecutor(self.threads) as pool,
        ):
            yield from _in_order(pool, work, self.n_chunks, 2 * self.threads)


@dataclass(frozen=True)
class _Slices:
    rows: Any
    weights: Array
    ranges: tuple[RowRange, ...]

    def __call__(self, index: int) -> Chunk:
        start, stop = self.ranges[index]
        return Chunk(index, self.rows[start:stop], self.weights[start:stop], self.ranges[index])


@contextmanager
def _held(chunks: LocalChunks) -> Iterator[LocalChunks]:
    held = list(chunks)
    try:
        yield LocalChunks(held.__getitem__, len(held), chunks.threads)
    finally:
        held.clear()


def _in_order(
    pool: ThreadPoolExecutor, work: Callable[[int], T], n_chunks: int, in_flight: int
) -> Iterator[T]:
    """Results in index order with at most ``in_flight`` chunks under way, so memory stays flat."""
    waiting: deque[Future[T]] = deque()
    try:
        for index in range(n_chunks):
            if len(waiting) >= in_flight:
                yield waiting.popleft().result()
            waiting.append(pool.submit(work, index))
        while waiting:
            yield waiting.popleft().result()
    finally:
        for future in waiting:
            future.cancel()


def _itself(chunk: Chunk) -> Chunk:
    return chunk
