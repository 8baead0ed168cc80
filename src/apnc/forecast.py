"""What a fit will take, before it is run: passes, operations, memory, and seconds at this machine's measured speed."""

import warnings
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from apnc import plan
from apnc.discrepancy import Euclidean, Manhattan
from apnc.embeddings import StableEmbedding
from apnc.embeddings.spectrum import decompose, landmark_kernel
from apnc.engines.spill import kept_bytes
from apnc.job import Job
from apnc.kernels import compute_dtype
from apnc.pipeline import fit_clusters, fit_embedding
from apnc.rehearsal import LANDMARKS, ROWS, Asked, rehearse, seconds_of, spread
from apnc.scaling import Columns, Scaling
from apnc.settings import BANDWIDTH_SAMPLE, ClusterSettings, EmbeddingSettings, expected_sizes, sample_sizes
from apnc.sources.family import Source, SourceError
from apnc.sources.rows import n_columns, n_rows

Array = npt.NDArray[Any]

#: Share of the memory set aside for chunks that is not used at one time: most of those under way wait.
UNUSED = 0.4
#: Rows of a fit that is there to load what any fit needs.
FEW = 64


@dataclass(frozen=True)
class Forecast:
    """What a fit will take.

    Attributes
    ----------
    n_rows : rows of the data; estimated from a part of it where ``counted`` is False.
    data_passes, embedding_passes : how often the data and the embedding are gone over.
    flops : floating point operations.
    bytes_moved : read from the data and from the embedding.
    peak_bytes : resident memory, interpreter included.
    disk_bytes : of the temporary file.
    seconds : by stage; "start-up" is what the first fit of a process has to load.

    """

    n_rows: int
    counted: bool
    n_landmarks: int
    n_components: int
    data_passes: int
    embedding_passes: int
    flops: float
    bytes_moved: float
    peak_bytes: float
    disk_bytes: float
    seconds: dict[str, float]


def forecast(job: Job, settings: EmbeddingSettings, clusters: ClusterSettings) -> Forecast:
    """From a rehearsal on some rows of the data to the whole of it; refuses a memory limit that cannot be kept."""
    n, counted = count_rows(job.given)
    job.budget.require(plan.least(job.expected(settings, n)))
    rows = some_rows(job.given)
    start_up = seconds_to_start(job, rows, settings, clusters)
    rows = scaled(rows, settings.scale, compute_dtype(job.given))
    asked = ask(rows, settings, clusters, n)
    asked = asked.within(expected_rank(rows, asked))
    speeds = rehearse(job, rows, asked)
    iterations = asked.iterations
    samples = sum(sample_sizes(settings).values())
    problem = job.problem(asked.n_landmarks, asked.n_components, asked.n_clusters, n, samples)
    kept = kept_bytes(n, asked.n_components)
    held = min(kept, plan.room_for_rows(problem, job.budget.free))
    data_passes = 4 if asked.partition else 3
    row_bytes = float(job.held * np.dtype(compute_dtype(job.given)).itemsize)
    embedding_bytes = 4.0 * n * asked.n_components
    embedding = overlapped(speeds.read, speeds.embed) * n
    seconds = {
        "start-up": start_up,
        "sampling": 2 * n * overlapped(speeds.read, speeds.hash),
        "coefficients": speeds.coefficients,
        "embedding": (data_passes - 2) * embedding + speeds.touch * held,
        "clustering": speeds.assign * n * (iterations + 1),
    }
    return Forecast(
        n_rows=n,
        counted=counted,
        n_landmarks=asked.n_landmarks,
        n_components=asked.n_components,
        data_passes=data_passes,
        embedding_passes=iterations + 1,
        flops=n * operations(job.held, asked, iterations + 1),
        bytes_moved=data_passes * n * row_bytes + (iterations + 1) * embedding_bytes,
        peak_bytes=peak(job, problem, held),
        disk_bytes=kept - held,
        seconds=seconds,
    )


def seconds_to_start(job: Job, rows: Any, settings: EmbeddingSettings, clusters: ClusterSettings) -> float:
    """By how much the first of two fits of a few rows is slower: it loads libraries and loops, or compiles them.

    What is compiled here is on the disk for the fit, unless that cannot be written.
    """
    from apnc.loops.compiled import kept_on_disk, watched

    few = rows[: max(FEW, 4 * clusters.n_clusters)]
    k = min(clusters.n_clusters, n_rows(few))
    small = replace(job, given=few, weights=None)
    work = partial(fit_few, small, replace(settings, n_clusters=k), replace(clusters, n_clusters=k))
    with warnings.catch_warnings(action="ignore"), watched() as compiling:
        first, second = seconds_of(work), seconds_of(work)
    return max(0.0, first - second - (compiling.seconds if kept_on_disk() else 0.0))


def fit_few(job: Job, settings: EmbeddingSettings, clusters: ClusterSettings) -> None:
    """All that a fit does."""
    model, drawn = fit_embedding(job.for_sampling(settings), settings)
    fit_clusters(job.for_clustering(model, clusters.n_clusters, drawn), model, drawn, clusters)


def expected_rank(rows: Any, asked: Asked) -> float:
    """The rank of K_LL, from how it grows when a few landmarks become twice as many."""
    few = spread(rows, min(LANDMARKS, asked.n_landmarks))
    values, less = (
        len(decompose(landmark_kernel(some, asked.kernel), some).values) for some in (few, few[::2])
    )
    if values == n_rows(few):
        return float(asked.n_landmarks)
    growth = np.log2(max(1, values) / max(1, less))
    return float(values * (asked.n_landmarks / n_rows(few)) ** growth)


def ask(rows: Any, settings: EmbeddingSettings, clusters: ClusterSettings, n: int) -> Asked:
    """The kernel tuned on some rows, and sizes for n."""
    some = rows[:BANDWIDTH_SAMPLE]
    kernel = settings.kernel.resolve(some, np.ones(n_rows(some)), n_columns(some))
    e = Manhattan() if isinstance(settings.embedding, StableEmbedding) else Euclidean()
    l, m = expected_sizes(settings, n)  # noqa: E741
    k, refined = clusters.n_clusters, clusters.n_init > 1
    return Asked(kernel, e, l, m, k, clusters.max_iter, refined, clusters.needs_all_rows)


def scaled(rows: Any, kind: str | None, dtype: type) -> Any:
    """Rows as the kernel will see them, about."""
    if kind is None:
        return rows
    if kind == "unit":
        return Scaling.unit()(rows, dtype)
    return Scaling.learned(kind, Columns.of(rows, np.ones(n_rows(rows))))(rows, dtype)


def operations(held: int, asked: Asked, passes: int) -> float:
    """Floating point operations of one row."""
    l, m = asked.n_landmarks, asked.n_components  # noqa: E741
    return 2.0 * l * (held + m) + 2.0 * asked.n_clusters * m * passes


def peak(job: Job, problem: plan.Problem, held: float) -> float:
    """Resident memory of the stage that needs most."""
    size = plan.chunk_bytes(problem, job.budget.free) if job.budget.limit else plan.CHUNK_BYTES
    stages = [plan.sampling(problem, size), plan.coefficients(problem), plan.clustering(problem, size)]
    sampling, coefficients, clustering = (
        sum(parts.values()) - UNUSED * parts.get("chunks", 0.0) for parts in stages
    )
    return job.budget.base + max(sampling, coefficients, clustering + held)


def overlapped(one: float, other: float) -> float:
    """Seconds of two things done at once that share the cores in part."""
    return max(one, other) + min(one, other) / 2


def some_rows(given: Any) -> Any:
    """The first ``ROWS`` rows of a source, or rows from all over the data in memory."""
    if isinstance(given, Source):
        decoded = (given.decode(piece).rows for piece in given.pieces(ROWS))
        found = next((rows for rows in decoded if n_rows(rows)), None)
        if found is None:
            raise SourceError(f"{given.name} has no rows.")
        return found
    step = max(1, n_rows(given) // ROWS)
    return given[::step][:ROWS]


def count_rows(given: Any) -> tuple[int, bool]:
    """Rows of the data, and whether they were counted or estimated from the size of text."""
    if not isinstance(given, Source):
        return n_rows(given), True
    known = given.n_rows_known()
    return (known, True) if known is not None else (_estimate_rows(given), False)


def _estimate_rows(source: Source) -> int:
    """By the bytes of the first lines; by counting where there is no plain local file."""
    path = Path(source.name)
    if path.is_file() and path.suffix not in (".gz", ".bz2", ".zst", ".arrow", ".feather", ".ipc", ".arrows"):
        with path.open("rb") as file:
            head = file.read(1 << 22)
        return int(path.stat().st_size * head.count(b"\n") / max(1, len(head))) + 1
    return sum(piece.n_rows for piece in source.pieces(ROWS))
