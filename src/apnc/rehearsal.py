"""Each step of a fit on some rows of the data, against the clock."""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from apnc.clustering.lloyd import SumByNearest
from apnc.discrepancy import Discrepancy, Euclidean
from apnc.embeddings import Block, Coefficients
from apnc.embeddings.family import embedding_steps
from apnc.embeddings.spectrum import decompose, landmark_kernel
from apnc.engines.contract import Chunk
from apnc.engines.local import LocalChunks
from apnc.job import Job
from apnc.kernels import Kernel, compute_dtype
from apnc.nearest import PartialSums
from apnc.sampling import TakeCensus, content_hash
from apnc.sources.family import Source
from apnc.sources.rows import n_rows

#: Rows of a rehearsal, and of the eigenvalue problem in it.
ROWS, LANDMARKS = 8192, 400
#: Iterations that are expected where more are allowed: after starts refined on a sample, and from a single start.
REFINED_ITERATIONS, ITERATIONS = 5, 20
#: Embedded rows that a pass is rehearsed on: more than any cache.
PASS_BYTES = 1 << 26


@dataclass(frozen=True)
class Speeds:
    """Seconds on this machine: of one row in each step, of a byte of fresh memory, and of the coefficients."""

    read: float
    hash: float
    embed: float
    assign: float
    touch: float
    coefficients: float


@dataclass(frozen=True)
class Asked:
    """Sizes of a fit and what it computes with."""

    kernel: Kernel
    discrepancy: Discrepancy
    n_landmarks: int
    n_components: int
    n_clusters: int
    max_iter: int
    refined: bool
    partition: bool

    @property
    def iterations(self) -> int:
        """What is expected of them."""
        return min(self.max_iter, REFINED_ITERATIONS if self.refined else ITERATIONS)

    def within(self, rank: float) -> "Asked":
        """With no more components than the landmarks have rank; those of L1 embeddings do not depend on it."""
        if not isinstance(self.discrepancy, Euclidean):
            return self
        return replace(self, n_components=max(1, min(self.n_components, int(rank))))


def rehearse(job: Job, rows: Any, asked: Asked) -> Speeds:
    """Run each step on some rows and look at the clock."""
    dtype = compute_dtype(job.given)
    weights = np.ones(n_rows(rows))
    landmarks = spread(rows, asked.n_landmarks)
    random = np.random.default_rng(0).normal(size=(asked.n_components, n_rows(landmarks))) / asked.n_landmarks
    coefficients = Coefficients((Block(landmarks, random),), asked.discrepancy)
    steps = embedding_steps(asked.kernel, coefficients, dtype)
    chunk = Chunk(0, rows, weights)
    cut = [_part(chunk, index, 4 * job.threads) for index in range(4 * job.threads)]
    embedded = list(LocalChunks(cut, job.threads, tuple(steps)))
    return Speeds(
        read=_seconds_to_read(job),
        hash=_best(lambda: LocalChunks(cut, job.threads).reduce(Keys(), max)) / len(weights),
        embed=_best(lambda: LocalChunks(cut, job.threads, tuple(steps)).reduce(_rows_of, int.__add__))
        / len(weights),
        assign=_seconds_to_assign(embedded, asked, job.threads),
        touch=_best(lambda: np.ones(1 << 22), 1) / (8 << 22),
        coefficients=_seconds_of_coefficients(landmarks, asked),
    )


@dataclass(frozen=True)
class Keys:
    """Hashing, as the sampling pass does it."""

    def __call__(self, chunk: Chunk) -> int:
        return TakeCensus(content_hash, {"a": (1, 100), "b": (2, 100)})(chunk).n_rows


def _rows_of(chunk: Chunk) -> int:
    return len(chunk.weights)


def spread(rows: Any, size: int) -> Any:
    """So many rows from all over the given ones, or all of them."""
    return rows[:: max(1, n_rows(rows) // size)][:size]


def _part(chunk: Chunk, index: int, n_parts: int) -> Chunk:
    n = len(chunk.weights)
    part = slice(index * n // n_parts, (index + 1) * n // n_parts)
    return Chunk(index, chunk.rows[part], chunk.weights[part])


def _best(work: Callable[[], Any], repetitions: int = 3) -> float:
    """Seconds of the quickest; the first has also to load what it needs."""
    return min(seconds_of(work) for _ in range(repetitions))


def seconds_of(work: Callable[[], Any]) -> float:
    """Seconds that some work takes."""
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def _seconds_to_read(job: Job) -> float:
    """A row from the source; of rows in memory nothing."""
    if not isinstance(job.given, Source):
        return 0.0
    begin, n = time.perf_counter(), 0
    for piece in _head(job.given.pieces(ROWS), 4):
        job.given.decode(piece)
        n += piece.n_rows
    return (time.perf_counter() - begin) / max(1, n)


def _head(items: Iterable[Any], size: int) -> Iterator[Any]:
    for _, item in zip(range(size), items, strict=False):
        yield item


def _seconds_to_assign(embedded: list[Chunk], asked: Asked, threads: int) -> float:
    """A row in a pass over Y, out of the cache."""
    total = sum(chunk.rows.nbytes for chunk in embedded)
    copies = [
        Chunk(index, chunk.rows.copy(), chunk.weights)
        for index, chunk in enumerate(embedded * max(1, PASS_BYTES // max(1, total)))
    ]
    rows = np.concatenate([chunk.rows for chunk in embedded])
    centroids = rows[np.arange(asked.n_clusters) % len(rows)].astype(np.float64)
    nearest = asked.discrepancy.against(centroids)
    seconds = _best(
        lambda: LocalChunks(copies, threads).reduce(SumByNearest(nearest), PartialSums.__add__), 2
    )
    return seconds / sum(len(chunk.weights) for chunk in copies)


def _seconds_of_coefficients(landmarks: Any, asked: Asked) -> float:
    few = spread(landmarks, LANDMARKS)
    seconds = _best(lambda: decompose(landmark_kernel(few, asked.kernel), few), 2)
    return seconds * (asked.n_landmarks / n_rows(few)) ** 2.5
