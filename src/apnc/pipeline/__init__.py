"""The fit as a list of stages: chunks -> landmarks -> coefficients -> Y -> centroids -> labels."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, nullcontext
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, get_type_hints

import numpy as np

from apnc.checks import fit as checks
from apnc.clustering.lloyd import LloydResult, Write, assign_all, label_into, lloyd
from apnc.clustering.seeding import most_passes
from apnc.engines.blas import computing, waiting
from apnc.pipeline import resuming
from apnc.pipeline.alignment import label_passes
from apnc.pipeline.coefficients import fit_coefficients
from apnc.pipeline.linking import compare_rows, make_landmarks
from apnc.pipeline.samples import draw_samples, fitted_to_limit, require_limit
from apnc.pipeline.start import start_centroids
from apnc.pipeline.state import Fit, choose_landmarks
from apnc.progress import SILENT
from apnc.run.job import Job
from apnc.run.records import NO_RECORDS
from apnc.sampling import Sample
from apnc.settings import Settings
from apnc.typing import Array

__all__ = [
    "STAGES",
    "Fit",
    "Stage",
    "embedded_sample",
    "fit",
    "fitted_to_limit",
    "require_limit",
    "stages_of",
]


def embed_rows(fit: Fit) -> Fit:
    """Algorithm 1: embed every row once, and cache the result."""
    require_limit(fit.job, fit.settings, fit.sizes)
    if fit.comparison is None:
        data = fit.data_kept(partial(resuming.check_embedded, fit))
        Y = fit.embedding.embed(data.chunks, data.dtype)
    else:
        Y = fit.compared
        for step in fit.comparison.steps(fit.embedding.coefficients, np.float32):
            Y = Y.map(step)
    return replace(fit, Y=fit.kept.enter_context(Y.cached()))


def cluster(fit: Fit) -> Fit:
    """Algorithm 2: Lloyd's iterations on Y."""
    settings, e = fit.settings, fit.embedding.coefficients.discrepancy
    begin, done = (fit.start, 0) if fit.found is None else (fit.found.centroids, fit.found.n_iter)
    limits = settings.max_iter, settings.tol
    found = lloyd(fit.Y, begin, e, *limits, partial(tell, fit), partial(remember, fit), done)
    return replace(fit, found=found)


def remember(fit: Fit, found: LloydResult) -> None:
    """Keep the centroids after an iteration for a later run."""
    if fit.job.records is not NO_RECORDS:
        write_record(replace(fit, found=found), "clustering", ("found",))


def tell(fit: Fit, n_iter: int, shift: float, inertia: float, centroids: Array) -> bool:
    """Report an iteration; listeners can get the attributes the estimator would have if the fit ended here."""

    def state() -> dict[str, Any]:
        with computing():
            return fit.at(centroids, n_iter, inertia, np.zeros(len(centroids))).attributes()

    with waiting():
        return fit.job.progress.iteration(n_iter, fit.settings.max_iter, shift, inertia, state)


def clustered(fit: Fit) -> bool:
    """Whether no further iteration is needed."""
    return fit.found.converged or fit.found.n_iter >= fit.settings.max_iter


def label_rows(fit: Fit) -> Fit:
    """Assign rows once more after the last update; labels are kept in memory or streamed to ``fit.write``."""
    e, centroids, n = fit.embedding.coefficients.discrepancy, fit.found.centroids, fit.drawn.census.n_rows
    if fit.write is None:
        keep = fit.job.labels_here and not fit.job.source.remote
        last = assign_all(fit.Y, centroids, e, keep, fit.binning)
        checks.refuse_changed(n, last.n_rows)
    else:
        last = label_into(partial(write_all, fit.write, n), fit.Y, centroids, e, fit.binning)
    checks.warn_if_not_converged(fit.found.converged, fit.settings.max_iter)
    checks.warn_if_empty(last.sums.counts)
    return replace(fit, last=last)


def write_all(write: Write, n_rows: int, stream: Iterator[tuple[Array, Any]]) -> None:
    """Write labels; refuse if their number differs from the number of rows counted before."""

    def counted() -> Iterator[tuple[Array, Any]]:
        n = 0
        for labels, carry in stream:
            n += len(labels)
            yield labels, carry
        checks.refuse_changed(n_rows, n)

    write(counted())


@dataclass(frozen=True)
class Stage:
    """A stage of a fit.

    Attributes
    ----------
    name : its name in progress reports and plans.
    run : the stage itself.
    grows : what its time scales with: "rows", "rows x landmarks", "iterations" (over the rows), "landmarks", or
        "sample" (constant).
    reads : number of passes over the source.
    of : the fits that have it: "all", those of "clusters", or those of a "graph", whose embedding compares rows.
    adds : fields of the fit that it adds and that are kept for a later run; chunks are kept by the engine.
    ended : whether they are the stage's last word.
    check : raises a ValueError if kept ones do not belong to the fit.

    """

    name: str
    run: Callable[[Fit], Fit]
    grows: str
    reads: Callable[[Settings], int] = lambda settings: 0
    of: str = "all"
    adds: tuple[str, ...] = ()
    ended: Callable[[Fit], bool] = lambda fit: True
    check: Callable[[Fit], None] = lambda fit: None

    def announce(self, fit: Fit) -> None:
        """Report the beginning of the stage."""
        rows, passes = self.extent(fit)
        max_iter = fit.settings.max_iter if self.grows == "iterations" else None
        fit.job.progress.stage(self.name, rows, passes, max_iter)
        if fit.settings.kernel.pairwise and (each := self.compared(fit)):
            fit.job.progress.pairs(each)

    def compared(self, fit: Fit) -> int:
        """Number of instances that the kernel compares each row of the stage with; 0 if it does not."""
        settings = fit.settings
        of_kernel = self.grows == "landmarks" and not settings.embedding.compares_rows
        given = self.grows == "sample" and isinstance(settings.init, Sample)
        if fit.drawn is None or not (of_kernel or given or self.reads(settings)):
            return 0
        if fit.embedding is not None:
            return fit.embedding.n_pairs
        return fit.sizes.n_landmarks if fit.comparison is None else fit.comparison.n_compared

    def extent(self, fit: Fit) -> tuple[int | None, int]:
        """Rows per pass and maximum number of passes: over all rows, over K_LL and the sample, or over the sample."""
        settings, passes = fit.settings, self.reads(fit.settings)
        # The coefficients of a graph are a sum over all compared rows.
        summed = fit.compared is not None and fit.sample is None
        if passes or summed or self.grows.startswith(("rows", "iterations")):
            n = fit.job.source.n_rows if fit.drawn is None else fit.drawn.census.n_rows
            return n, max(1, passes)
        if self.of == "graph":
            return len(choose_landmarks(fit.drawn, settings)), settings.embedding.sample_passes
        seeding = len(fit.drawn.samples["seeding"] if fit.sample is None else fit.sample)
        if self.grows == "landmarks":
            each = 1 if settings.n_candidates == 1 else 1 + label_passes(settings.n_clusters)
            return fit.sizes.n_landmarks + seeding, settings.n_candidates * each
        if isinstance(settings.init, Sample):
            return len(settings.init), 1
        return seeding, most_passes(settings.n_clusters, settings.init, settings.n_init)


STAGES = (
    Stage("sampling", draw_samples, "rows", lambda settings: 2, adds=("drawn",), check=resuming.check_drawn),
    Stage(
        "landmarks",
        make_landmarks,
        "landmarks",
        of="graph",
        adds=("comparison",),
        check=resuming.check_comparison,
    ),
    Stage("neighbours", compare_rows, "rows x landmarks", lambda settings: 1, "graph"),
    Stage(
        "coefficients",
        fit_coefficients,
        "landmarks",
        adds=("embedding", "sample"),
        check=resuming.check_embedding,
    ),
    Stage(
        "starting",
        start_centroids,
        "sample",
        lambda settings: int(settings.needs_all_rows),
        "clusters",
        adds=("start",),
        check=resuming.check_start,
    ),
    Stage(
        "embedding",
        embed_rows,
        "rows x landmarks",
        lambda settings: int(not settings.embedding.compares_rows),
        "clusters",
    ),
    Stage(
        "clustering",
        cluster,
        "iterations",
        of="clusters",
        adds=("found",),
        ended=clustered,
        check=resuming.check_found,
    ),
    Stage("labels", label_rows, "rows", of="clusters"),
)


def stages_of(settings: Settings) -> list[Stage]:
    """The stages of a fit with these settings, in order."""
    graph, clusters = settings.embedding.compares_rows, settings.n_clusters > 0
    return [stage for stage in STAGES if {"all": True, "graph": graph, "clusters": clusters}[stage.of]]


def fit(job: Job, settings: Settings, write: Write | None = None) -> Fit:
    """Run all stages in order; data cached between passes is released at the end."""
    with ExitStack() as kept:
        return run(Fit(job, settings, write, kept), stages_of(settings))


def embedded_sample(job: Job, settings: Settings) -> Fit:
    """The stages up to "coefficients": an embedding and a sample to try it on, without the passes of a clustering."""
    stages = stages_of(settings)
    last = [stage.name for stage in stages].index("coefficients")
    with ExitStack() as kept:
        return run(Fit(job, settings, None, kept), stages[: last + 1])


def run(state: Fit, stages: list[Stage]) -> Fit:
    """Run these stages in order, each announced."""
    if state.job.budget.limit is not None:
        state = fitted_to_limit(state)
    keeps = state.job.records is not NO_RECORDS
    for stage in stages:
        known = read_record(state, stage) if keeps and stage.adds else {}
        state = replace(state, **known)
        if known and stage.ended(state):
            continue
        if state.job.progress is not SILENT:
            stage.announce(state)
        if state.job.source.remote and stage.reads(state.settings) > 1:
            near = state.kept.enter_context(state.job.source.near())
            state = replace(state, job=replace(state.job, source=near))
        # Stages over the rows compute on the engine's threads; a fork waits for those, but not for rows to be read.
        with nullcontext() if stage.grows.startswith("rows") else computing():
            state = stage.run(state)
        if keeps and stage.adds:
            write_record(state, stage.name, stage.adds)
    return state


def read_record(fit: Fit, stage: Stage) -> dict[str, Any]:
    """What an earlier run has kept of a stage."""

    def check(values: dict[str, Any]) -> None:
        stage.check(replace(fit, **values))

    return fit.job.records.read(stage.name, hints_of(stage.adds), check)


def write_record(fit: Fit, stage: str, adds: tuple[str, ...]) -> None:
    """Keep what a stage has added."""
    fit.job.records.write(stage, hints_of(adds), {name: getattr(fit, name) for name in adds})


def hints_of(adds: tuple[str, ...]) -> dict[str, Any]:
    """Type hints of these fields, by which they are stored."""
    hints = get_type_hints(Fit, include_extras=True)
    return {name: hints[name] for name in adds}
