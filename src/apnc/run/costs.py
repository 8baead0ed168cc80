"""Memory estimates for each stage of a fit."""

from collections.abc import Callable
from dataclasses import dataclass

from apnc.clustering.quantiles import N_BINS
from apnc.engines.local import in_flight
from apnc.engines.spill import AHEAD, SCRATCH_BYTES
from apnc.settings import Sizes

#: Memory of threads, the allocator and the label writer, besides the arrays.
SLACK = 48_000_000
#: Partial results of a reduce besides those in flight: the total, the next total, and what it is made from.
PARTIALS = 3
#: Copies of a start's centroids besides the sums in flight: before and after, as they are searched, their sums.
CENTROID_COPIES = 6
#: What is known about a row that stands for its cluster, and an entry of a sparse matrix.
EXAMPLE_BYTES, WORD_BYTES = 64, 16


@dataclass(frozen=True)
class Problem:
    """What the memory of a fit depends on.

    Attributes
    ----------
    sizes : of the fit.
    held_bytes : bytes of one row in a sample.
    landmark_bytes : bytes of one landmark, prepared by the kernel, besides the row.
    dense : whether rows are dense vectors.
    overhead : bytes needed for reading, besides the rows.
    labels : number of rows whose labels are kept in memory.
    itemsize : of the compute type.
    threads : number of workers.
    chunk_bytes : working memory of one chunk.

    """

    sizes: Sizes
    held_bytes: int
    landmark_bytes: int
    dense: bool
    overhead: int
    labels: int
    itemsize: int
    threads: int
    chunk_bytes: int

    @property
    def chunks(self) -> float:
        """Bytes of all chunks in progress, queued or read ahead, and of reading."""
        return (in_flight(self.threads) + AHEAD + 1) * self.chunk_bytes + self.overhead


#: Memory of a stage, by part.
Cost = Callable[[Problem], dict[str, float]]


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
    others, embedding = problem.sizes.n_candidates - 1, problem.sizes.embedding
    vectors = problem.dense and problem.sizes.linear
    return {
        "samples": 2.0 * samples * (problem.held_bytes + 16),
        "landmarks": float(l * problem.landmark_bytes),
        **embedding.reduce_bytes(l, m, samples),
        **({} if vectors else embedding.vector_bytes(samples, problem.sizes.n_clusters, problem.itemsize)),
        # Kernel values and embedded sample of the other candidates are kept until the best is known.
        "other gammas": 8.0 * others * (l * l + samples * (l + 2 * m)),
        "other": SLACK,
    }


def clustering(problem: Problem) -> dict[str, float]:
    """Algorithms 1 and 2 with Y in a file: coefficients, chunks in flight, partial sums, labels."""
    sizes = problem.sizes
    l, m = sizes.n_landmarks, sizes.n_components  # noqa: E741
    return {
        "coefficients": (8.0 + problem.itemsize) * l * m,
        "landmarks": l * (3.0 * problem.held_bytes + problem.landmark_bytes),
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
    return {name: parts[name] for name in ("coefficients", "landmarks", "chunks", "labels", "other")}


def describing(
    problem: Problem, n_clusters: int, n_examples: int, n_features: int = 0, words: bool = False
) -> dict[str, float]:
    """Describing clusters: as applying, and of each chunk in flight sums by feature and a few rows of each cluster."""
    flying = in_flight(problem.threads)
    entries = float(n_clusters * n_features)
    sums = 8.0 * entries * (flying + PARTIALS)
    if words:
        # Sparse sums have no more entries than the rows they are made from.
        rows = problem.sizes.n_rows * problem.held_bytes / 8 or entries
        few = min(entries, rows)
        sums = WORD_BYTES * (PARTIALS * few + flying * min(few, problem.chunk_bytes / WORD_BYTES))
    examples = float(n_clusters * n_examples * (problem.held_bytes + EXAMPLE_BYTES)) * (flying + PARTIALS)
    parts = {name: size for name, size in applying(problem).items() if name != "labels"}
    return {**parts, "sums by cluster and feature": sums, "examples": examples}


def choosing(problem: Problem, n_sampled: int, starts: float) -> dict[str, float]:
    """Comparing numbers of clusters on an embedded sample; ``starts`` is the memory of those advanced together."""
    n, m, k = n_sampled, problem.sizes.n_components, problem.sizes.n_clusters
    return {
        "sample": n * (2.0 * problem.held_bytes + 16),
        # Y, and a Gaussian sample of its covariance, which is drawn in float64.
        "embedded sample": 28.0 * n * m + 24.0 * m * m,
        "comparisons": n * (8.0 * k + 2 * problem.held_bytes),
        "starts": starts,
        "other": SLACK,
    }


def start_bytes(k: int, m: int, n_sampled: int, threads: int) -> float:
    """Memory of one of several starts that share passes over a sample: centroids, sums, and what each row knows."""
    return 8.0 * k * m * (in_flight(threads) + CENTROID_COPIES) + SCRATCH_BYTES * n_sampled


def most(problem: Problem) -> dict[str, float]:
    """The stage that needs the most memory, with Y in a file."""
    stages = [sampling(problem), coefficients(problem), clustering(problem)]
    return max(stages, key=lambda parts: sum(parts.values()))
