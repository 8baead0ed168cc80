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
from apnc.run.job import Job
from apnc.settings import Settings, derive
from apnc.typing import Array

#: Distinct instances on which numbers of clusters are compared.
SAMPLE = 8192
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

    """

    Y: Array
    weights: Array
    rows: Array | None
    discrepancy: Discrepancy
    n_init: int
    seed: int
    eigenvalues: Array | None = None
    spread: Callable[[Array, Array], Chunks] = SingleChunk.of

    def __len__(self) -> int:
        return len(self.Y)


def probe(job: Job, settings: Settings) -> Probe:
    """Sample and embed: the stages of a fit before its clustering, with a larger sample."""
    if settings.kernel.gamma == "auto":
        # One embedding serves all numbers of clusters, and gaps were studied at the gamma of the mean distance.
        settings = replace(settings, kernel=replace(settings.kernel, gamma=None))
    fit = pipeline.embedded_sample(job, replace(settings, least_seeding=SAMPLE))
    model, coefficients = fit.embedding, fit.embedding.coefficients
    if fit.comparison is None:
        sample = fit.drawn.samples["seeding"]
        Y = join_of(model.kernel, coefficients).finished(fit.sample.rows.copy())
    else:
        sample = fit.drawn.samples["landmarks"].first(SAMPLE)
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
    )


def vectors(rows: Any, kernel: Any) -> Array | None:
    """Rows in which a gap can be seen without the kernel: dense vectors, if it depends on their distances."""
    return rows if isinstance(rows, np.ndarray) and kernel in (*SCALED, "linear") else None
