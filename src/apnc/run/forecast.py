"""Forecast the cost of a fit: time the pipeline on a subset of the rows and extrapolate to all of them."""

import time
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from apnc import pipeline
from apnc.engines.spill import kept_bytes
from apnc.pipeline import Fit, Stage
from apnc.progress import Progress
from apnc.progress.stage import duration
from apnc.rows import n_rows
from apnc.run import costs
from apnc.run.budget import NO_LIMIT, show_bytes
from apnc.run.job import Job
from apnc.settings import Settings, Sizes
from apnc.sources import InMemory, Source

#: Row counts of successive rehearsals; the first to take more than this many seconds, so that overhead is negligible,
#: is the last.
ROWS, PATIENCE = (64, 256, 1024, 4096, 16384, 32768), 0.4
#: Maximum bytes of rows loaded for a rehearsal, and rows per piece when reading is timed.
ROWS_BYTES, READ_ROWS = 1 << 26, 8192
#: Iterations of a rehearsal; and the numbers expected of the fit, if ``max_iter`` allows them: after starts refined on
#: a sample, and from a single start.
REHEARSED, REFINED, SINGLE = 3, 5, 20
#: Share of the memory reserved for chunks that is typically unused, since most chunks in flight are only queued.
UNUSED = 0.4


@dataclass(frozen=True)
class Forecast:
    """The expected cost of a fit.

    Attributes
    ----------
    n_rows : number of rows; an estimate from part of the data if ``counted`` is False.
    data_passes, embedding_passes : how often the data and the embedding are read.
    flops : floating-point operations.
    bytes_moved : bytes read from the data and the embedding.
    peak_bytes : peak resident memory, including the interpreter.
    disk_bytes : size of the temporary file.
    seconds : by stage; "start-up" is the time to load libraries in the first fit of a process.

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

    def lines(self) -> dict[str, str]:
        """The forecast as text."""
        stages = ", ".join(f"{name} {duration(seconds)}" for name, seconds in self.seconds.items())
        over = f"{self.data_passes} over the data, about {self.embedding_passes} over the embedding"
        return {
            "rows": f"{self.n_rows:,}" + ("" if self.counted else ", estimated from the first lines"),
            "landmarks": f"{self.n_landmarks:,}",
            "components": f"{self.n_components:,} at most",
            "passes": over,
            "operations": f"{self.flops:.3g}",
            "bytes moved": show_bytes(self.bytes_moved),
            "peak memory": show_bytes(self.peak_bytes),
            "temporary file": show_bytes(self.disk_bytes) if self.disk_bytes else "none",
            "time": f"about {duration(sum(self.seconds.values()))}: {stages}",
        }

    def __repr__(self) -> str:
        width = max(map(len, self.lines())) + 2
        return "\n".join(f"{name:<{width}}{text}" for name, text in self.lines().items())

    def _repr_html_(self) -> str:
        rows = (f"<tr><th>{name}</th><td>{text}</td></tr>" for name, text in self.lines().items())
        return f'<table style="text-align: left">{"".join(rows)}</table>'


@dataclass
class Stopwatch(Progress):
    """Measures the seconds of each stage, and counts iterations."""

    def __post_init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.n_iter = 1
        self._name, self._begun = "", time.perf_counter()

    def stage(self, name: str, *_: Any, **__: Any) -> None:
        self._lap()
        self._name = name

    def iteration(self, n_iter: int, *_: Any, **__: Any) -> bool:
        self.n_iter = n_iter
        return False

    def close(self) -> None:
        self._lap()

    def _lap(self) -> None:
        now = time.perf_counter()
        if self._name:
            self.seconds[self._name] = now - self._begun
        self._begun = now


@dataclass(frozen=True)
class Rehearsal:
    """A timed fit of a subset of the rows."""

    n_rows: int
    fit: Fit
    clock: Stopwatch

    @property
    def seconds(self) -> float:
        """Total of all stages."""
        return sum(self.clock.seconds.values())


def forecast(job: Job, settings: Settings) -> Forecast:
    """Extrapolate from a rehearsal on a subset of the rows; refuses a memory limit that is too small."""
    if job.source.remote:
        raise ValueError(f"plan is for fits on this machine, not on {job.source.engine}.")
    if settings.kernel.kernel == "precomputed":
        raise ValueError("A fit on a precomputed kernel cannot be planned: the matrix is already in memory.")
    n, counted = job.source.count()
    settings = pipeline.fitted_to_limit(Fit(job, settings)).settings
    sizes = settings.at_most(n, n)
    pipeline.require_limit(job, settings, sizes)
    start_up, rehearsal = rehearse(job, settings, sizes.n_landmarks)
    stages = pipeline.stages_of(settings)
    sizes = replace(sizes, n_components=_components(sizes, rehearsal))
    seconds = {stage.name: _seconds(stage, rehearsal, sizes, settings) for stage in stages}
    reads = {stage.name: stage.reads(settings) for stage in stages}
    to_read = n * seconds_to_read(job.source) if any(reads.values()) else 0.0
    for name, passes in reads.items():
        seconds[name] = passes * overlapped(to_read, seconds[name] / passes) if passes else seconds[name]
    kept = kept_bytes(n, sizes.n_components) if settings.n_clusters else 0
    held = min(kept, job.room(sizes))
    passes = _iterations(settings) + 1 if settings.n_clusters else 0
    itemsize = np.dtype(job.dtype).itemsize
    return Forecast(
        n_rows=n,
        counted=counted,
        n_landmarks=sizes.n_landmarks,
        n_components=sizes.n_components,
        data_passes=sum(reads.values()),
        embedding_passes=passes,
        flops=n * _operations(job.source.held, sizes, passes),
        bytes_moved=n
        * (sum(reads.values()) * job.source.held * itemsize + 4.0 * passes * sizes.n_components),
        peak_bytes=_peak(job, sizes, held),
        disk_bytes=kept - held,
        seconds={"start-up": start_up, **seconds},
    )


def rehearse(job: Job, settings: Settings, n_landmarks: int) -> tuple[float, Rehearsal]:
    """Start-up seconds, and the largest rehearsal that does not take long.

    The start-up time is how much longer the first of two small fits takes: it loads libraries, and loads or compiles
    loops. Compilation counts only if its result cannot be cached on disk for the actual fit.
    """
    from apnc.loops.compiled import kept_on_disk, watched

    rows = job.source.head(max(ROWS[2], min(ROWS[-1], ROWS_BYTES // (8 * max(1, job.source.held)))))
    with warnings.catch_warnings(action="ignore"), watched() as compiling:
        few = max(ROWS[0], 4 * settings.n_clusters)
        first, found = (_rehearsal(job, rows, few, settings, n_landmarks) for _ in range(2))
        start_up = first.seconds - found.seconds - (compiling.seconds if kept_on_disk() else 0.0)
        for size in ROWS[1:]:
            if found.n_rows == n_rows(rows) or found.seconds > PATIENCE:
                break
            found = _rehearsal(job, rows, size, settings, n_landmarks)
    return max(0.0, start_up), found


def _rehearsal(job: Job, rows: Any, size: int, settings: Settings, n_landmarks: int) -> Rehearsal:
    # Every i-th row rather than the first ones, which may be sorted and unlike the rest.
    some = rows[:: max(1, n_rows(rows) // size)][:size]
    n = n_rows(some)
    # Given start labels are for all rows; a random partition of the subset takes the same time.
    small = replace(
        settings,
        n_landmarks=min(n, n_landmarks),
        n_clusters=min(n, settings.n_clusters),
        init=settings.init
        if isinstance(settings.init, str) or not settings.needs_all_rows
        else "random-partition",
        max_iter=min(settings.max_iter, REHEARSED),
    )
    clock = Stopwatch()
    with clock:
        found = pipeline.fit(Job(InMemory(some), job.threads, NO_LIMIT, clock), small)
    return Rehearsal(n, found, clock)


def _components(sizes: Sizes, rehearsal: Rehearsal) -> int:
    """The expected m: that of the rehearsal, extrapolated if the rehearsal had fewer landmarks."""
    found = rehearsal.fit.sizes
    if found.n_landmarks == sizes.n_landmarks:
        return found.n_components
    if not rehearsal.fit.embedding.coefficients.discrepancy.of_products:
        return sizes.n_components
    # m stays the same power of l: it grows with l if the rehearsal kept nearly all components, hardly if it kept few.
    power = np.log(sizes.n_landmarks) / np.log(max(2, found.n_landmarks))
    return int(min(sizes.n_components, max(found.n_components**power, 2 * sizes.n_clusters)))


def _seconds(stage: Stage, rehearsal: Rehearsal, sizes: Sizes, settings: Settings) -> float:
    """Seconds of a stage on all rows, extrapolated by what its time scales with."""
    found, few = rehearsal.clock.seconds[stage.name], rehearsal.fit.sizes
    rows = sizes.n_rows / rehearsal.n_rows
    work = sizes.n_landmarks / few.n_landmarks
    if stage.grows == "landmarks":
        # Between l^2 for the kernel values and l^3 for the eigendecomposition.
        return found * work**2.5
    if stage.grows == "iterations":
        wider = sizes.n_components / few.n_components
        return found * rows * wider * _iterations(settings) / rehearsal.clock.n_iter
    if stage.grows.startswith("rows") or stage.reads(settings):
        return found * rows * (work if stage.grows == "rows x landmarks" else 1.0)
    return found * work


def _iterations(settings: Settings) -> int:
    """Expected number of iterations."""
    return min(settings.max_iter, REFINED if settings.n_init > 1 else SINGLE)


def _operations(held: int, sizes: Sizes, passes: int) -> float:
    """Floating-point operations per row."""
    l, m = sizes.n_landmarks, sizes.n_components  # noqa: E741
    return 2.0 * l * (held + m) + 2.0 * sizes.n_clusters * m * passes


def _peak(job: Job, sizes: Sizes, held: float) -> float:
    """Resident memory of the stage that needs the most."""
    from apnc.run.budget import resident

    problem = job.problem(sizes)
    stages = [costs.sampling(problem), costs.coefficients(problem), costs.clustering(problem)]
    sampling, coefficients, clustering = (
        sum(parts.values()) - UNUSED * parts.get("chunks", 0.0) for parts in stages
    )
    return (job.budget.base or resident()) + max(sampling, coefficients, clustering + held)


def overlapped(one: float, other: float) -> float:
    """Seconds for two concurrent tasks that partly share the cores."""
    return max(one, other) + min(one, other) / 2


def seconds_to_read(source: Source) -> float:
    """Seconds to read one row from the source; 0 for rows in memory."""
    if source.numbered:
        return 0.0
    begin, n = time.perf_counter(), 0
    for _, piece in zip(range(4), source.pieces(READ_ROWS), strict=False):
        source.decode(piece)
        n += piece.n_rows
    return (time.perf_counter() - begin) / max(1, n)
