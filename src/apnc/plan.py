"""What a fit needs in memory, stage by stage, before it is run."""

from dataclasses import dataclass

import numpy as np

from apnc.engines.local import in_flight
from apnc.engines.spill import AHEAD

#: Memory of one chunk while it is worked on: a core's share of a large cache. Chunks do not follow the cache of the
#: machine at hand, since float32 results depend on them; the speed hardly changes from 8 to 64 MB.
CHUNK_BYTES = 1 << 24
#: The least that is worth working on at a time.
LEAST_CHUNK_BYTES = 1 << 19
#: Matrices of l x l numbers in float64 while the coefficients are computed: K_LL, its symmetric copy, eigenvectors,
#: the solver's own, and two products.
COEFFICIENT_MATRICES = 6
#: What writing labels, threads and the allocator take beside the arrays.
SLACK = 48_000_000


@dataclass(frozen=True)
class Problem:
    """What the memory of a fit depends on.

    Attributes
    ----------
    row_bytes : one row as it is held by a sample.
    source_overhead : what reading takes besides the rows.
    n_rows : 0 while it is unknown.
    itemsize : of the compute type.
    sample_rows : instances in all samples together.

    """

    n_landmarks: int
    n_components: int
    n_clusters: int
    row_bytes: int
    source_overhead: int
    n_rows: int
    itemsize: int
    sample_rows: int
    threads: int

    @property
    def chunks_at_once(self) -> int:
        """Chunks in memory at one time: worked on, waiting, and read ahead."""
        return in_flight(self.threads) + AHEAD + 1


def sampling(problem: Problem, chunk_bytes: float) -> dict[str, float]:
    """Algorithms 3 and 4, map: chunks under way, and the samples twice over while they are merged."""
    return {
        "chunks": problem.chunks_at_once * chunk_bytes + problem.source_overhead,
        "samples": 3.0 * problem.sample_rows * (problem.row_bytes + 16),
        "other": SLACK,
    }


def coefficients(problem: Problem) -> dict[str, float]:
    """Algorithms 3 and 4, reduce: eigen-decomposition, and the embedding of the seeding sample."""
    l, m = problem.n_landmarks, problem.n_components  # noqa: E741
    return {
        "samples": 2.0 * problem.sample_rows * (problem.row_bytes + 16),
        "coefficients": 8.0 * l * (COEFFICIENT_MATRICES * l + 2 * m),
        "embedded sample": 8.0 * problem.sample_rows * (l + 2 * m),
        "other": SLACK,
    }


def clustering(problem: Problem, chunk_bytes: float) -> dict[str, float]:
    """Algorithms 1 and 2 with Y in a file: coefficients, chunks under way, partial sums, labels."""
    l, m, k = problem.n_landmarks, problem.n_components, problem.n_clusters  # noqa: E741
    sums = 8.0 * k * m * (problem.chunks_at_once + 4)
    return {
        "coefficients": (8.0 + problem.itemsize) * l * m + 3.0 * l * problem.row_bytes,
        "chunks": problem.chunks_at_once * chunk_bytes + problem.source_overhead,
        "samples": problem.sample_rows * (2.0 * problem.row_bytes + 8 * m),
        "centroids and sums": sums,
        "labels": 8.0 * problem.n_rows,
        "other": SLACK,
    }


def least(problem: Problem) -> dict[str, float]:
    """The stage that needs most, with the smallest chunks and Y in a file."""
    stages = [
        sampling(problem, LEAST_CHUNK_BYTES),
        coefficients(problem),
        clustering(problem, LEAST_CHUNK_BYTES),
    ]
    return max(stages, key=lambda parts: sum(parts.values()))


def chunk_bytes(problem: Problem, free: float) -> int:
    """Chunks as large as is of use, and no larger than a quarter of what is left beside the rest."""
    rest = sum(clustering(problem, 0).values())
    share = (free - rest) / 4 / problem.chunks_at_once
    return int(np.clip(share, LEAST_CHUNK_BYTES, CHUNK_BYTES))


def room_for_rows(problem: Problem, free: float) -> float:
    """Bytes of Y that may stay in memory."""
    return max(0.0, free - sum(clustering(problem, chunk_bytes(problem, free)).values()))
