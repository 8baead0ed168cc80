"""The samples of a certification, and the memory it needs."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from apnc.checks.fit import refuse_few_instances, warn_if_skipped
from apnc.engines.contract import SingleChunk
from apnc.model import Model
from apnc.pipeline.samples import samples_of
from apnc.run import costs
from apnc.run.budget import Budget
from apnc.run.job import Job
from apnc.sampling import Census, Sample
from apnc.settings import Settings, Sizes
from apnc.typing import Array

#: Instances in the sample if their number is "auto"; fewer for kernels that are slow to compute.
ROWS, SLOW_ROWS = 4000, 1000
#: Instances for each cluster, at least, unless the sample is all there is.
ROWS_A_CLUSTER = 10
#: Keys from which the number of distinct instances is estimated; it is exact if there are fewer.
COUNTED = 20_000
#: Copies of the kernel matrix while it is computed.
MATRICES = 3


@dataclass(frozen=True)
class Asked:
    """What is asked of a certification.

    Attributes
    ----------
    settings : of a fit like the model's, with another seed and a kernel whose parameters are resolved.
    n_rows : instances in the sample, or "auto".

    """

    settings: Settings
    n_rows: int | str = "auto"

    def rows(self, model: Model) -> int:
        """Instances in the sample."""
        if self.n_rows != "auto":
            return int(self.n_rows)
        usual = ROWS if model.embedding.kernel.pieces == 1 else SLOW_ROWS
        return max(usual, ROWS_A_CLUSTER * len(model.centroids))


@dataclass(frozen=True)
class Checked:
    """The sample that is checked.

    Attributes
    ----------
    sample : its instances, scaled as the model scales them, in key order.
    others : other samples, scaled too, by name.
    labels, Y : the model's labels and embedding of the instances.
    share : share of the distinct instances of the data.

    """

    sample: Sample
    others: dict[str, Sample]
    labels: Array
    Y: Array
    share: float


def draw(job: Job, model: Model, seed: int, sizes: Mapping[str, int]) -> Checked:
    """Two passes over the data draw all samples by content; then the model is applied to the one called "checked"."""
    data, k = job.data(8 * job.source.held), len(model.centroids)
    job.progress.stage("sampling", job.source.n_rows, 2)

    def counted(census: Census) -> dict[str, int]:
        job.progress.total(census.n_rows)
        refuse_few_instances(k, ROWS_A_CLUSTER * k, sizes["checked"], census.sketches["checked"].n_distinct)
        return dict(sizes)

    keys = {**sizes, "checked": max(COUNTED, sizes["checked"])}
    drawn = samples_of(data, keys, seed, counted)
    warn_if_skipped(job.source.name, sum(data.skipped.values()))
    raw, scaling = drawn.samples.pop("checked"), model.embedding.scaling
    labels, Y = labelled(model, raw, job.dtype)

    def scaled(sample: Sample) -> Sample:
        return sample if scaling is None else Sample(scaling(sample.rows, job.dtype), sample.weights)

    others = {name: scaled(sample) for name, sample in drawn.samples.items()}
    share = min(1.0, len(raw) / drawn.census.sketches["checked"].n_distinct)
    return Checked(scaled(raw), others, labels, Y, share)


def labelled(model: Model, sample: Sample, dtype: type) -> tuple[Array, Array]:
    """A model's labels and embedding of a sample, which is not scaled yet."""
    chunk = SingleChunk.of(sample.rows, sample.weights).chunk
    for step in model.embedding.steps(dtype):
        chunk = step(chunk)
    labels = model.discrepancy.against(model.centroids).assign(chunk.rows, sample.weights, {}, exact=True)[0]
    return labels.astype(np.intp), chunk.rows.astype(np.float64)


def fitting_rows(job: Job, model: Model, asked: Asked, samples: Callable[[int], Mapping[str, int]]) -> int:
    """Instances in the sample; if "auto", as many as the memory limit allows. A limit that is too small is refused.

    ``samples`` says how large all samples are, given the one that is checked.
    """
    n, k = asked.rows(model), len(model.centroids)
    if job.budget.limit is None:
        return n
    while asked.n_rows == "auto" and not fits(job, model, samples(n)) and n > ROWS_A_CLUSTER * k:
        n = max(ROWS_A_CLUSTER * k, int(0.8 * n))

    def needs(budget: Budget) -> dict[str, float]:
        return memory(replace(job, budget=budget), model, samples(n))

    instead = "" if asked.n_rows == "auto" else ', or lower n_rows; "auto" takes as many as fit'
    job.budget.require(needs, instead)
    return n


def fits(job: Job, model: Model, sizes: Mapping[str, int]) -> bool:
    """Whether samples of these sizes fit into the memory."""
    return sum(memory(job, model, sizes).values()) <= job.budget.free


def memory(job: Job, model: Model, sizes: Mapping[str, int]) -> dict[str, float]:
    """Memory of a certification, by part."""
    coefficients, k, n = model.embedding.coefficients, len(model.centroids), sizes["checked"]
    total = sum(sizes.values())
    fit = Sizes(2 * coefficients.n_landmarks, coefficients.n_components, k, total, total)
    problem = job.problem(fit)
    reduced = fit.embedding.reduce_bytes(fit.n_landmarks, fit.n_components, n)
    return {**costs.sampling(problem), "kernel matrix": 8.0 * n * (MATRICES * n + 8 * k), **reduced}
