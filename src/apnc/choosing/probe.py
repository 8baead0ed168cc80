"""What numbers of clusters are compared on: an embedded sample of the data."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from apnc import pipeline
from apnc.discrepancy import Discrepancy
from apnc.embeddings.family import embedding_steps, join_of
from apnc.engines.contract import Chunks, SingleChunk
from apnc.kernels.names import SCALED
from apnc.pipeline.samples import NOMINAL_THREADS, within_limit
from apnc.run import costs
from apnc.run.budget import NOMINAL_BASE, Budget
from apnc.run.job import Job
from apnc.settings import Settings, Sizes, derive
from apnc.typing import Array

#: Distinct instances on which numbers of clusters are compared, and fewer for small memory limits.
SAMPLE = 8192
SAMPLES = (SAMPLE, 4096, 2048)
#: Starts for each number of clusters, at most: one more merges the clusters of the largest number, which does better.
MOST_STARTS = 5


@dataclass(frozen=True)
class Probe:
    """An embedded sample of distinct instances, in key order.

    Attributes
    ----------
    Y : array of shape (n, m), embedded by coefficients of the largest k.
    weights : array of shape (n,).
    rows : array of shape (n, d), the instances as vectors, if the kernel depends on their distances; else None.
    discrepancy, n_init, seed : how they are clustered.
    eigenvalues : array of shape (m,), if the embedding is that of a graph; else None.
    spread : how a sample is distributed over the cores.
    room : bytes for starts that are advanced together.
    threads : number of workers.

    """

    Y: Array
    weights: Array
    rows: Array | None
    discrepancy: Discrepancy
    n_init: int
    seed: int
    eigenvalues: Array | None = None
    spread: Callable[[Array, Array], Chunks] = SingleChunk.of
    room: float = np.inf
    threads: int = 1

    def __len__(self) -> int:
        return len(self.Y)

    @property
    def half(self) -> tuple[int, int]:
        """Rows of half the sample, and components."""
        return -(-len(self.Y) // 2), self.Y.shape[1]


def probe(job: Job, settings: Settings) -> Probe:
    """Sample and embed: the stages of a fit before its clustering, with a larger sample."""
    if settings.kernel.gamma == "auto":
        # One embedding serves all numbers of clusters, and gaps were studied at the gamma of the mean distance.
        settings = replace(settings, kernel=replace(settings.kernel, gamma=None))
    settings = sampling_within_limit(job, settings)
    fit = pipeline.embedded_sample(job, settings)
    model, coefficients = fit.embedding, fit.embedding.coefficients
    if fit.comparison is None:
        sample = fit.drawn.samples["seeding"]
        Y = join_of(model.kernel, coefficients).finished(fit.sample.rows.copy())
    else:
        sample = fit.drawn.samples["landmarks"].first(settings.least_seeding)
        chunks = SingleChunk.of(sample.rows, sample.weights)
        for step in embedding_steps(model.kernel, coefficients, job.dtype):
            chunks = chunks.map(step)
        Y = chunks.chunk.rows
    facts: dict[str, Any] = {}
    for block in coefficients.blocks:
        facts |= block.facts()
    return Probe(
        Y,
        sample.weights,
        vectors(sample.rows, settings.kernel.kernel),
        coefficients.discrepancy,
        min(settings.n_init, MOST_STARTS),
        derive(settings.seed, "choosing"),
        facts.get("eigenvalues_"),
        fit.data().spread,
        job.budget.free - sum(costs.choosing(job.problem(fit.sizes), len(Y), 0.0).values()),
        job.threads,
    )


def sampling_within_limit(job: Job, settings: Settings) -> Settings:
    """The settings with the largest sample that a memory limit allows, as far as it leaves the landmarks alone.

    As for other sizes, the memory in use does not matter. A limit that is too small for any is refused.
    """
    if job.budget.limit is None:
        return replace(settings, least_seeding=SAMPLE)
    refuse_limit(job, settings)
    return few_within_limit(job, settings)


def few_within_limit(job: Job, settings: Settings) -> Settings:
    """The settings with as many landmarks and as large a sample as a limit allows; the smallest, if it allows none."""
    assert job.budget.limit is not None
    few = within_limit(job, settings)
    nominal, free = replace(job, threads=NOMINAL_THREADS, labels_here=False), job.budget.limit - NOMINAL_BASE
    for size in SAMPLES:
        few = replace(few, least_seeding=size)
        if sum(needs_of(nominal, few, few.at_most(np.inf, 0)).values()) <= free:
            break
    return few


def refuse_limit(job: Job, settings: Settings) -> None:
    """Refuse a memory limit that is too small; the one that is named suffices for the sizes it allows."""
    n = job.source.n_rows

    def needs(budget: Budget) -> dict[str, float]:
        within = replace(job, budget=budget)
        few = few_within_limit(within, settings)
        return needs_of(within, few, few.at_most(n or np.inf, n or 0))

    job.budget.require(needs)


def needs_of(job: Job, settings: Settings, sizes: Sizes) -> dict[str, float]:
    """Memory, by part, of sampling or of the comparison with one start at a time, whichever needs more."""
    n = int(min(max(settings.least_seeding, 32 * settings.n_clusters), sizes.n_rows or np.inf))
    start = costs.start_bytes(settings.n_clusters, sizes.n_components, n, job.threads)
    comparison = costs.choosing(job.problem(sizes), n, start)
    return max(job.needs(sizes), comparison, key=lambda parts: sum(parts.values()))


def vectors(rows: Any, kernel: Any) -> Array | None:
    """Rows in which a gap can be seen without the kernel: dense vectors, if it depends on their distances."""
    return rows if isinstance(rows, np.ndarray) and kernel in (*SCALED, "linear") else None
