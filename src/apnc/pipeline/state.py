"""A fit as far as it has come."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from apnc.clustering.lloyd import Assignment, LloydResult, Write
from apnc.engines.contract import Chunks, Data
from apnc.model import Clusters, EmbeddingModel, Features, Model
from apnc.pipeline.advice import Spans
from apnc.run.costs import Sizes
from apnc.run.job import Job
from apnc.sampling import Census, Hash, Sample
from apnc.scaling import Scaling
from apnc.settings import Settings
from apnc.typing import Array

#: What a stage has not found yet.
UNKNOWN: Any = None


@dataclass(frozen=True)
class Drawn:
    """The samples of one fit, scaled as the rows will be, and the hash they were drawn by."""

    census: Census
    samples: dict[str, Sample]
    hashes: Hash
    scaling: Scaling | None = None

    def scaled(self, kind: str | None, dtype: type) -> "Drawn":
        """With features brought to comparable size."""
        if kind is None:
            return self
        columns = self.census.columns
        scaling = Scaling.unit() if columns is None else Scaling.learned(kind, columns)
        samples = {
            name: Sample(scaling(sample.rows, dtype), sample.weights) for name, sample in self.samples.items()
        }
        return Drawn(self.census, samples, self.hashes, scaling)


def choose_landmarks(drawn: Drawn, settings: Settings) -> Sample:
    """L: the l distinct instances of smallest key."""
    sample = drawn.samples["landmarks"]
    if settings.n_landmarks != "auto":
        return sample
    return sample.first(settings.auto_landmarks(drawn.census.sketches["landmarks"].n_distinct))


@dataclass(frozen=True)
class Fit:
    """A fit as far as it has come: each stage returns it with what it found.

    Attributes
    ----------
    job, settings : rows and means, and what was asked for.
    write : takes the labels instead of memory.
    kept : releases what is kept between passes when the fit ends.
    drawn : from "sampling": counts and samples.
    embedding : from "coefficients".
    sample : from "coefficients": R K_L(x) of the sample of rows among which clusters start.
    spans : from "coefficients", until "starting": what tells whether more landmarks would help, if that is a question.
    start : from "starting": first centroids, shape (k, m).
    Y : from "embedding": all embedded rows, kept.
    found : from "clustering".
    last : from "labels": the last assignment.

    """

    job: Job
    settings: Settings
    write: Write | None = None
    kept: ExitStack = field(default_factory=ExitStack)
    drawn: Drawn = UNKNOWN
    embedding: EmbeddingModel = UNKNOWN
    sample: Array = UNKNOWN
    spans: Spans | None = None
    start: Array = UNKNOWN
    Y: Chunks = UNKNOWN
    found: LloydResult = UNKNOWN
    last: Assignment = UNKNOWN

    def data(self, keep: bool = False) -> Data:
        """The rows in chunks that suit the embedding, of which all is kept or nothing."""
        work = self.embedding.work_bytes(self.job.source.held, self.job.dtype)
        return self.job.data(work, self.job.room(self.sizes) if keep else np.inf)

    @property
    def sizes(self) -> Sizes:
        """Of what is known so far; before sampling, upper bounds."""
        settings, k = self.settings, self.settings.n_clusters
        if self.drawn is None:
            n = self.job.source.n_rows
            return Sizes(*settings.sizes(n or np.inf), k, n or 0, sum(settings.sample_sizes().values()))
        n, rows = self.drawn.census.n_rows, sum(map(len, self.drawn.samples.values()))
        if self.embedding is None:
            l = len(choose_landmarks(self.drawn, settings))  # noqa: E741
            return Sizes(l, settings.sizes(l)[1], k, n, rows)
        coefficients = self.embedding.coefficients
        return Sizes(coefficients.n_landmarks, coefficients.n_components, k, n, rows)

    @property
    def features(self) -> Features:
        """What the rows are made of."""
        return Features(self.job.source.n_columns, self.job.source.columns)

    @property
    def model(self) -> Model:
        """All that prediction needs."""
        if self.last is None:
            return Model(self.embedding, self.features)
        sums, found = self.last.sums, self.found
        return self.at(found.centroids, found.n_iter, sums.inertia, sums.counts)

    def at(self, centroids: Array, n_iter: int, inertia: float, sizes: Array) -> Model:
        """The model with these centroids."""
        inertia *= self.embedding.coefficients.beta**2
        return Model(self.embedding, self.features, Clusters(centroids, inertia, n_iter, sizes))
