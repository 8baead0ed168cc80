"""The local engine: chunks on a thread pool, with one BLAS thread per worker."""

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from apnc.engines.blas import computing, limited, waiting
from apnc.engines.chunk_files import ChunkStore
from apnc.engines.contract import Chunk, Chunks, RowRange, SourceRows
from apnc.engines.spill import Kept
from apnc.parameters.rules import thread_count
from apnc.typing import Array

T = TypeVar("T")
Step = Callable[[Chunk], Chunk]

OnRows = Callable[[int], None]

#: Working memory of one chunk: a core's share of a large cache. It does not adapt to the machine's cache, since float32
#: results depend on the chunks; the speed hardly changes from 8 to 64 MB.
CHUNK_BYTES = 1 << 24
#: Small data is still split into a few chunks, so that every core has work.
MIN_CHUNKS, MIN_ROWS = 16, 256
#: Rows of a sample that one core handles at a time.
SAMPLE_ROWS = 512


def n_threads(n_jobs: int | None) -> int:
    """Threads for ``n_jobs``: ``None`` and -1 mean every core this process may use."""
    # Unlike os.cpu_count, the affinity respects taskset and the CPU sets of containers.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    n_jobs = thread_count("n_jobs", n_jobs)
    if n_jobs is None:
        return cores
    return n_jobs if n_jobs > 0 else max(1, cores + 1 + n_jobs)


def split(n_rows: int, rows_per_chunk: int) -> list[RowRange]:
    """Consecutive row ranges that cover ``n_rows``, of nearly equal length."""
    n_chunks = max(1, -(-n_rows // max(1, rows_per_chunk)))
    edges = np.linspace(0, n_rows, n_chunks + 1).astype(int).tolist()
    return [RowRange(start, stop) for start, stop in pairwise(edges)]


def in_flight(threads: int) -> int:
    """Number of chunks in progress or queued at one time."""
    # One more chunk per worker is queued, so that no worker waits for the reader.
    return 2 * threads


@dataclass(frozen=True)
class LocalChunks:
    """Chunks read in sequence; maps are composed and run lazily, by a reduce or a loop.

    Attributes
    ----------
    read : the chunks in index order; iterated once per pass.
    threads : number of workers.
    steps : maps to run on each chunk.
    room : bytes that ``cached`` may hold in memory; the rest goes to a temporary file.
    progress : called with the number of rows of each finished chunk.
    store : keeps what ``cached`` computes on disk, for a later run too.

    """

    read: Iterable[Chunk]
    threads: int = 1
    steps: tuple[Step, ...] = ()
    room: float = np.inf
    progress: Callable[[int], None] | None = None
    store: ChunkStore | None = None

    @classmethod
    def of(
        cls,
        rows: Any,
        weights: Array,
        ranges: Sequence[RowRange],
        threads: int,
        room: float = np.inf,
        progress: Callable[[int], None] | None = None,
        store: ChunkStore | None = None,
    ) -> "LocalChunks":
        """Chunks of ``rows``, which can be anything that supports slicing."""
        return cls(_Slices(rows, weights, tuple(ranges)), threads, (), room, progress, store)

    def map(self, fn: Step) -> "LocalChunks":
        """Compose; nothing is computed yet."""
        return replace(self, steps=(*self.steps, fn))

    def reduce(self, fn: Callable[[Chunk], T], combine: Callable[[T, T], T]) -> T:
        """Map the chunks on the pool and fold the partial results in index order."""
        partials = self._run(fn)
        # Not as they finish: floating-point sums depend on the order.
        total = next(partials)
        for partial in partials:
            total = combine(total, partial)
        return total

    def cached(self) -> AbstractContextManager["LocalChunks"]:
        """All chunks, computed once and kept until the context ends."""
        return _kept(self)

    def __iter__(self) -> Iterator[Chunk]:
        """The computed chunks in index order."""
        return self._run(_itself)

    def _run(self, fn: Callable[[Chunk], T]) -> Iterator[T]:
        def work(chunk: Chunk) -> tuple[int, T]:
            with computing():
                for step in self.steps:
                    chunk = step(chunk)
                return len(chunk.weights), fn(chunk)

        with limited(), _pool(self.threads) as pool:
            for n_rows, result in _in_order(pool, work, self.read, in_flight(self.threads)):
                if self.progress is not None:
                    with waiting():
                        self.progress(n_rows)
                yield result


@dataclass(frozen=True)
class _Slices:
    rows: Any
    weights: Array
    ranges: tuple[RowRange, ...]

    def __iter__(self) -> Iterator[Chunk]:
        for index, (start, stop) in enumerate(self.ranges):
            yield Chunk(index, self.rows[start:stop], self.weights[start:stop], self.ranges[index])


@contextmanager
def _kept(chunks: LocalChunks) -> Iterator[LocalChunks]:
    store = chunks.store
    with Kept(chunks.room, store) as kept:
        for chunk in chunks if store is None else _through(chunks, store):
            kept.add(chunk)
        if store is not None:
            store.finish(len(kept))
        yield replace(chunks, read=kept, steps=(), store=None)


def _through(chunks: LocalChunks, store: ChunkStore) -> LocalChunks:
    """The chunks from the store, if all are there; else those that are not there are computed and stored."""
    if store.complete:
        return replace(chunks, read=store, steps=())
    return replace(chunks, steps=(StoredOrComputed(chunks.steps, store),))


@dataclass(frozen=True)
class StoredOrComputed:
    """Map: the chunk that an earlier run stored, or the result of ``steps``, stored now."""

    steps: tuple[Step, ...]
    store: ChunkStore

    def __call__(self, chunk: Chunk) -> Chunk:
        if chunk.index in self.store:
            stored = self.store.load(chunk.index)
            # A chunk of other rows is not one that this run would have stored.
            if stored.carry[:2] == chunk.carry[:2]:
                return stored
        for step in self.steps:
            chunk = step(chunk)
        self.store.save(chunk)
        return chunk


@contextmanager
def _pool(threads: int) -> Iterator[ThreadPoolExecutor]:
    """A thread pool that has ended its work when the context ends."""
    pool = ThreadPoolExecutor(threads)
    try:
        yield pool
    finally:
        # Its threads may wait for a fork, which must not wait for this one.
        with waiting():
            pool.shutdown()


def _in_order(
    pool: ThreadPoolExecutor, work: Callable[[Chunk], T], chunks: Iterable[Chunk], at_once: int
) -> Iterator[T]:
    """Results in index order with at most ``at_once`` chunks in flight, so that memory is bounded."""
    submitted: deque[Future[T]] = deque()
    try:
        for chunk in chunks:
            if len(submitted) >= at_once:
                yield _result(submitted.popleft())
            submitted.append(pool.submit(work, chunk))
            # Otherwise the loop variable would keep the chunk alive while the next one is read.
            del chunk
        while submitted:
            yield _result(submitted.popleft())
    finally:
        for future in submitted:
            future.cancel()


def _result(future: Future[T]) -> T:
    with waiting():
        return future.result()


def _itself(chunk: Chunk) -> Chunk:
    return chunk


@dataclass(frozen=True)
class Layout:
    """How rows are split into chunks and cached.

    Attributes
    ----------
    work_bytes : working memory of one row, besides reading it.
    threads : number of workers.
    chunk_bytes : memory of one chunk.
    room : bytes of computed chunks that may be cached in memory.
    on_rows : called with the number of rows of each finished chunk.
    store : keeps cached chunks on disk, for a later run too; engines whose rows are elsewhere do not use it.
    ids : chunks carry the id columns, if rows cannot be found again by their number.

    """

    work_bytes: int
    threads: int
    chunk_bytes: int = CHUNK_BYTES
    room: float = np.inf
    on_rows: OnRows | None = None
    store: ChunkStore | None = None
    ids: bool = False

    def rows_per_chunk(self, n_rows: int | None, read_bytes: int = 0) -> int:
        """Rows per chunk; depends on the rows, the kernel's memory cost and the limit, never on the threads."""
        most = self.chunk_bytes // max(1, self.work_bytes + read_bytes)
        if n_rows is not None:
            most = min(most, max(MIN_ROWS, -(-n_rows // MIN_CHUNKS)))
        return max(1, most)


def row_numbers(carry: SourceRows) -> Array:
    """Row numbers of a chunk's rows in the source, int64."""
    kept = getattr(carry, "kept", None)
    return np.arange(carry.start, carry.stop) if kept is None else carry.start + kept


def row_ids(carry: SourceRows, picked: Array) -> Array:
    """Ids that came along with some of a chunk's rows, objects of shape (n, columns); no columns if none did."""
    ids, kept = getattr(carry, "ids", None), getattr(carry, "kept", None)
    columns, places = [] if ids is None else ids.columns, picked if kept is None else kept[picked]
    found = np.empty((len(picked), len(columns)), object)
    for j, column in enumerate(columns):
        found[:, j] = column.take(places).to_pylist()
    return found


@dataclass(frozen=True)
class Spread:
    """Distributes a sample over the cores, in chunks that do not depend on the number of cores."""

    threads: int

    def __call__(self, rows: Array, weights: Array) -> Chunks:
        return LocalChunks.of(rows, weights, split(len(weights), SAMPLE_ROWS), self.threads)
