"""The first stage: rows are counted, and every sample of the fit is drawn."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from apnc.checks import fit as checks
from apnc.engines.contract import Data
from apnc.pipeline.state import Drawn, Fit
from apnc.run.budget import NOMINAL_BASE, largest_that_fit
from apnc.run.costs import Sizes
from apnc.run.job import Job
from apnc.sampling import Census, OpaqueObjectError, content_hash, draw, row_number_hash
from apnc.settings import Settings, derive

#: Threads by which "auto" sizes shrink to a limit, so that they do not depend on those of the machine.
NOMINAL_THREADS = 4
#: Landmarks that are tried where the limit leaves room for none: the process may be smaller than most.
LEAST_LANDMARKS = 100


def draw_samples(fit: Fit) -> Fit:
    """Algorithms 3 and 4, lines 1 to 6: two passes that count the rows and draw every sample."""
    job, data = fit.job, fit.job.data(8 * fit.job.source.held)

    def counted(census: Census) -> None:
        checks.refuse_too_few(fit.settings.n_clusters, census)
        job.progress.total(census.n_rows)

    drawn = samples_of(data, fit.settings, counted).scaled(fit.settings.scale, data.dtype)
    checks.warn_if_skipped(job.source.name, sum(data.skipped.values()))
    fit = replace(fit, drawn=drawn)
    checks.warn_if_capped(fit.settings.n_landmarks, len(drawn.samples["landmarks"]))
    checks.warn_if_shrunk(fit.settings, drawn.census.sketches["landmarks"].n_distinct)
    if job.budget.limit is not None:
        job.require(fit.sizes)
    return fit


def fitted_to_limit(fit: Fit) -> Fit:
    """With "auto" sizes that fit the memory limit; one that allows none is refused for the sizes without it.

    A larger limit allows larger sizes, so the limit that the refusal names must be enough for the largest.
    """
    fitted = replace(fit, settings=within_limit(fit.job, fit.settings))
    if not fit.job.allows(fitted.sizes):
        fit.job.require(fit.sizes)
    return fitted


def within_limit(job: Job, settings: Settings) -> Settings:
    """Settings whose "auto" sizes fit the memory limit as it was given, whatever memory is in use."""
    if job.budget.limit is None or settings.n_landmarks != "auto":
        return settings
    sizes = Sizes(*settings.sizes(np.inf), settings.n_clusters, 0, sum(settings.sample_sizes().values()))
    nominal = replace(job, threads=NOMINAL_THREADS, labels_here=False)
    l, m = largest_that_fit(nominal.needs, sizes, job.budget.limit - NOMINAL_BASE)  # noqa: E741
    if not l:
        l = m = max(LEAST_LANDMARKS, 4 * settings.n_clusters)  # noqa: E741
    if l >= sizes.n_landmarks:
        return settings
    return replace(settings, most_landmarks=l, most_components=m)


def samples_of(data: Data, settings: Settings, counted: Callable[[Census], None] | None = None) -> Drawn:
    """All samples of a fit; objects without canonical bytes are sampled by row number."""
    sizes = settings.sample_sizes()
    samples = {name: (derive(settings.seed, name), size) for name, size in sizes.items()}
    describe = settings.scale in ("minmax", "standard")
    if not data.by_number:
        try:
            return Drawn(*draw(data.chunks, content_hash, samples, counted, describe), content_hash)
        except OpaqueObjectError:
            pass
    return Drawn(*draw(data.chunks, row_number_hash, samples, counted), row_number_hash)
