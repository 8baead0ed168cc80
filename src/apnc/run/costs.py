"""Memory of a fit, stage by stage, before it is run."""

from dataclasses import dataclass

from apnc.engines.local import in_flight
from apnc.engines.spill import AHEAD

#: Matrices of l x l numbers in float64 while the coefficients are computed: K_LL, its symmetric copy, eigenvectors,
#: the solver's own, and two products.
COEFFICIENT_MATRICES = 6
#: What writing labels, threads and the allocator take beside the arrays.
SLACK = 48_000_000


@dataclass(frozen=True)
class Sizes:
    """Sizes of a fit: l, m, k, rows (0 while they are unknown), and instances in all samples together."""

    n_landmarks: int
    n_components: int
    n_clusters: int
    n_rows: int
    sample_rows: int


@dataclass(frozen=True)
class Problem:
    """What the memory of a fit depends on.

    Attributes
    ----------
    sizes : of the fit.
    held_bytes : one row as a sample holds it.
    overhead : what reading takes besides the rows.
    labels : rows whose labels are kept in memory.
    itemsize : of the compute type.
    threads : workers.
    chunk_bytes : one chunk while it is worked on.

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
        """Chunks in memory at one time, worked on, waiting and read ahead, and what reading takes."""
        return (in_flight(self.threads) + AHEAD + 1) * self.chunk_bytes + self.overhead


def sampling(problem: Problem) -> dict[str, float]:
    """Algorithms 3 and 4, map: chunks under way, and the samples twice over while they are merged."""
    return {
        "chunks": problem.chunks,
        "samples": 3.0 * problem.sizes.sample_rows * (problem.held_bytes + 16),
        "other": SLACK,
    }


def coefficients(problem: Problem) -> dict[str, float]:
    """Algorithms 3 and 4, reduce: eigen-decomposition, and the embedding of the seeding sample."""
    l, m, samples = problem.sizes.n_landmarks, problem.sizes.n_components, problem.sizes.sample_rows  # noqa: E741
    return {
        "samples": 2.0 * samples * (problem.held_bytes + 16),
        "coefficients": 8.0 * l * (COEFFICIENT_MATRICES * l + 2 * m),
        "embedded sample": 8.0 * samples * (l + 2 * m),
        "other": SLACK,
    }


def clustering(problem: Problem) -> dict[str, float]:
    """Algorithms 1 and 2 with Y in a file: coefficients, chunks under way, partial sums, labels."""
    sizes = problem.sizes
    l, m = sizes.n_landmarks, sizes.n_components  # noqa: E741
    return {
        "coefficients": (8.0 + problem.itemsize) * l * m + 3.0 * l * problem.held_bytes,
        "chunks": problem.chunks,
        "samples": sizes.sample_rows * (2.0 * problem.held_bytes + 8 * m),
        "centroids and sums": 8.0 * sizes.n_clusters * m * (in_flight(problem.threads) + AHEAD + 5),
        "labels": 8.0 * problem.labels,
        "other": SLACK,
    }


def applying(problem: Problem) -> dict[str, float]:
    """A fitted model over rows: coefficients, chunks under way, results that stay in memory."""
    parts = clustering(problem)
    return {name: parts[name] for name in ("coefficients", "chunks", "labels", "other")}


def most(problem: Problem) -> dict[str, float]:
    """The stage that needs most, with Y in a file."""
    stages = [sampling(problem), coefficients(problem), clustering(problem)]
    return max(stages, key=lambda parts: sum(parts.values()))
