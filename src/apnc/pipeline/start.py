"""The third stage: the first centroids."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from apnc.clustering.seeding import centroids_of_partition, seed_centroids
from apnc.embeddings.family import join_of
from apnc.engines.contract import Chunk
from apnc.kernels.remembering import RememberingKernel
from apnc.pipeline.coefficients import embed_sample
from apnc.pipeline.state import Fit
from apnc.sampling import Hash, Sample, keys_of
from apnc.settings import derive
from apnc.typing import Array


def start_centroids(fit: Fit) -> Fit:
    """Choose the first centroids as ``init`` says."""
    model = fit.embedding
    Y = join_of(model.kernel, model.coefficients).finished(fit.sample.rows.copy())
    if fit.settings.needs_all_rows:
        start = _start_of_partition(fit)
    elif isinstance(fit.settings.init, Sample):
        start = _start_of_instances(fit, fit.settings.init)
    else:
        start = _best_start(fit, Y)
    return replace(fit, start=start)


def _start_of_instances(fit: Fit, given: Sample) -> Array:
    """The user's instances, embedded."""
    model, dtype = fit.embedding, fit.job.dtype
    rows = given.rows if model.scaling is None else model.scaling(given.rows, dtype)
    l = model.coefficients.n_landmarks  # noqa: E741
    kernel = RememberingKernel(model.kernel, lambda n: fit.job.progress.rows(n // l))
    embedded = embed_sample(Sample(rows, given.weights), kernel, model.coefficients, dtype)
    return join_of(model.kernel, model.coefficients).finished(embedded).astype(np.float64)


def _best_start(fit: Fit, Y: Array) -> Array:
    """The best of several starts on the sample Y."""
    settings, weights = fit.settings, fit.sample.weights
    seed, e, spread = (
        derive(settings.seed, "seeds"),
        fit.embedding.coefficients.discrepancy,
        fit.data().spread,
    )
    on_pass = partial(fit.job.progress.rows, len(Y))
    return seed_centroids(
        Y, weights, settings.n_clusters, e, settings.init, settings.n_init, seed, spread, on_pass
    )


def _start_of_partition(fit: Fit) -> Array:
    """Means of a partition of all rows: given labels, or labels derived from content."""
    init, k = fit.settings.init, fit.settings.n_clusters
    drawn = PartitionByKey(fit.drawn.hashes, derive(fit.settings.seed, "partition"), k)
    label = drawn if isinstance(init, str) else Given(init)
    steps = fit.embedding.steps(fit.job.dtype)
    return centroids_of_partition(fit.data().chunks.map(EmbedAndLabel(steps, label)), k)


@dataclass(frozen=True)
class PartitionByKey:
    """Start labels that depend only on content: key modulo k."""

    hashes: Hash
    seed: int
    n_clusters: int

    def __call__(self, chunk: Chunk) -> Array:
        return (keys_of(self.hashes(chunk), self.seed) % np.uint64(self.n_clusters)).astype(np.int32)


@dataclass(frozen=True)
class Given:
    """Start labels given by the user, in row order."""

    labels: Array

    def __call__(self, chunk: Chunk) -> Array:
        return self.labels[chunk.carry.start : chunk.carry.stop]


@dataclass(frozen=True)
class EmbedAndLabel:
    """Map: a chunk's rows to (Y, start labels)."""

    steps: list[Callable[[Chunk], Chunk]]
    label: PartitionByKey | Given

    def __call__(self, chunk: Chunk) -> Chunk:
        labels = self.label(chunk)
        for step in self.steps:
            chunk = step(chunk)
        return chunk.with_rows((chunk.rows, labels))
