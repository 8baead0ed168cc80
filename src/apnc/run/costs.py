"""Memory estimates for each stage of a fit."""

from dataclasses import dataclass

from apnc.clustering.quantiles import N_BINS
from apnc.engines.local import in_flight
from apnc.engines.spill import AHEAD
from apnc.settings import Sizes

#: Memory of threads, the allocator and the label writer, besides the arrays.
SLACK = 48_000_000


@dataclass(frozen=True)
class Problem:
    """What the memory of a fit depends on.

    Attributes
    ----------
    sizes : of the fit.
    held_bytes : bytes of one row in a sample.
    overhead : bytes needed for reading, besides the rows.
    labels : number of rows whose labels are kept in memory.
    itemsize : of the compute type.
    threads : number of workers.
    chunk_bytes : working memory of one chunk.

    """

    sizes: Sizes
    held_bytes: int
    overhead: int
    labels: int
    itemsize: int
    threads: int
    chunk_bytes: int

    @property
    def chunks(self) -> float:
        """Bytes of all chunks in progress, queued or read ahead, and of reading."""
        return (in_flight(self.threads) + AHEAD + 1) * self.chunk_bytes + self.overhead


def sampling(problem: Problem) -> dict[str, float]:
    """Algorithms 3 and 4, map: chunks in flight, and two copies of the samples while they are merged."""
    return {
        "chunks": problem.chunks,
        "samples": 3.0 * problem.sizes.sample_rows * (problem.held_bytes + 16),
        "other": SLACK,
    }


def coefficients(problem: Problem) -> dict[str, float]:
    """Algorithms 3 and 4, reduce: the eigendecomposition, and the embedded seeding sample."""
    l, m, samples = problem.sizes.n_landmarks, problem.sizes.n_components, problem.sizes.sample_rows  # noqa: E741
    others = problem.sizes.n_candidates - 1
    return {
        "samples": 2.0 * samples * (problem.held_bytes + 16),
        **problem.sizes.embedding.reduce_bytes(l, m, samples),
        # Kernel values and embedded sample of the other candidates are kept until the best is known.
        "other gammas": 8.0 * others * (l * l + samples * (l + 2 * m)),
        "other": SLACK,
    }


def clustering(problem: Problem) -> dict[str, float]:
    """Algorithms 1 and 2 with Y in a file: coefficients, chunks in flight, partial sums, labels."""
    sizes = problem.sizes
    l, m = sizes.n_landmarks, sizes.n_components  # noqa: E741
    return {
        "coefficients": (8.0 + problem.itemsize) * l * m + 3.0 * l * problem.held_bytes,
        "chunks": problem.chunks,
        "samples": sizes.sample_rows * (2.0 * problem.held_bytes + 8 * m),
        "centroids and sums": 8.0
        * sizes.n_clusters
        * (m + N_BINS)
        * (in_flight(problem.threads) + AHEAD + 5),
        "labels": 8.0 * problem.labels,
        "other": SLACK,
    }


def applying(problem: Problem) -> dict[str, float]:
    """Applying a fitted model: coefficients, chunks in flight, results kept in memory."""
    parts = clustering(problem)
    return {name: parts[name] for name in ("coefficients", "chunks", "labels", "other")}


def most(problem: Problem) -> dict[str, float]:
    """The stage that needs the most memory, with Y in a file."""
    stages = [sampling(problem), coefficients(problem), clustering(problem)]
    return max(stages, key=lambda parts: sum(parts.values()))
