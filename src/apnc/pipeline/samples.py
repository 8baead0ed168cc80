"""The first stage: count the rows and draw every sample of the fit."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from apnc.checks import fit as checks
from apnc.engines.contract import Data
from apnc.pipeline.state import Drawn, Fit
from apnc.run.budget import NOMINAL_BASE, Budget, largest_that_fit
from apnc.run.job import Job
from apnc.sampling import Census, OpaqueObjectError, content_hash, draw, row_number_hash
from apnc.settings import Settings, Sizes, derive

#: Number of threads assumed when "auto" sizes are fitted to a limit, so that they do not depend on the machine.
NOMINAL_THREADS = 4
#: Landmarks to try if the limit leaves room for none by the nominal estimate: this process may be smaller than that.
LEAST_LANDMARKS = 100


def draw_samples(fit: Fit) -> Fit:
    """Algorithms 3 and 4, lines 1 to 6: two passes that count the rows and draw every sample."""
    job, data = fit.job, fit.job.data(8 * fit.job.source.held)

    def counted(census: Census) -> dict[str, int]:
        checks.refuse_too_few(fit.settings.n_clusters, census)
        job.progress.total(census.n_rows)
        return {"landmarks": fit.settings.pool_size(census.sketches["landmarks"].n_distinct)}

    settings = fit.settings
    describe = settings.scale in ("minmax", "standard")
    drawn = samples_of(data, settings.sample_sizes(), settings.seed, counted, describe)
    drawn = drawn.scaled(settings.scale, data.dtype)
    checks.warn_if_skipped(job.source.name, sum(data.skipped.values()))
    fit = replace(fit, drawn=drawn)
    checks.warn_if_capped(fit.settings.n_landmarks, len(drawn.samples["landmarks"]))
    checks.warn_if_shrunk(fit.settings, drawn.census.sketches["landmarks"].n_distinct)
    require_limit(job, fit.settings, fit.sizes)
    return fit


def fitted_to_limit(fit: Fit) -> Fit:
    """The fit with "auto" sizes reduced to the memory limit; a limit that allows none is refused."""
    fitted = replace(fit, settings=within_limit(fit.job, fit.settings))
    require_limit(fit.job, fitted.settings, fitted.sizes)
    return fitted


def require_limit(job: Job, settings: Settings, sizes: Sizes) -> None:
    """Refuse a memory limit that is too small for a fit; name sizes that fit, and a limit that a new fit accepts."""
    if job.allows(sizes):
        return
    most = replace(settings, most_landmarks=np.inf, most_components=np.inf)
    # A new fit is judged before it reads a row, and again with the number of rows, whose labels may stay in memory.
    before = job.source.n_rows or np.inf
    n_rows = sizes.n_rows or (job.source.count()[0] if job.labels_here and not job.source.remote else 0)

    def bound(settings: Settings) -> Sizes:
        return settings.at_most(before, n_rows)

    def needs(budget: Budget) -> dict[str, float]:
        within = replace(job, budget=budget)
        return within.needs(bound(within_limit(within, most)))

    def asked(less: Sizes) -> dict[str, float]:
        fixed = replace(most, n_landmarks=less.n_landmarks, n_components=less.n_components)
        return job.needs(bound(fixed))

    l, m = largest_that_fit(asked, sizes, job.budget.free)  # noqa: E741
    job.budget.require(needs, f", or ask for less: n_landmarks={l}, n_components={m} would fit" if l else "")


def within_limit(job: Job, settings: Settings) -> Settings:
    """Settings whose "auto" sizes fit the given memory limit, independent of the memory in use."""
    if job.budget.limit is None or settings.n_landmarks != "auto":
        return settings
    sizes = settings.at_most(np.inf, 0)
    nominal = replace(job, threads=NOMINAL_THREADS, labels_here=False)
    l, m = largest_that_fit(nominal.needs, sizes, job.budget.limit - NOMINAL_BASE)  # noqa: E741
    if not l:
        l = m = max(LEAST_LANDMARKS, 4 * settings.n_clusters)  # noqa: E741
    if l >= sizes.n_landmarks:
        return settings
    return replace(settings, most_landmarks=l, most_components=m)


def samples_of(
    data: Data,
    sizes: Mapping[str, int],
    seed: int,
    counted: Callable[[Census], dict[str, int]] | None = None,
    describe: bool = False,
) -> Drawn:
    """Samples of these sizes by purpose; objects without canonical bytes are drawn by row number."""
    samples = {name: (derive(seed, name), size) for name, size in sizes.items()}
    if not data.by_number:
        try:
            return Drawn(*draw(data.chunks, content_hash, samples, counted, describe), by_number=False)
        except OpaqueObjectError:
            # Only reading the rows shows whether they have canonical bytes.
            pass
    return Drawn(*draw(data.chunks, row_number_hash, samples, counted), by_number=True)
