"""The state of a fit between stages."""

from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from apnc.clustering.lloyd import Assignment, LloydResult, Write
from apnc.clustering.quantiles import Binning, Quantiles
from apnc.embeddings.family import Comparison
from apnc.engines.chunk_files import CheckChunk
from apnc.engines.contract import Chunks, Data
from apnc.model import Clusters, EmbeddingModel, Features, Model
from apnc.run.job import Job
from apnc.sampling import Census, Hash, Sample, content_hash, row_number_hash
from apnc.scaling import Scaling
from apnc.settings import Settings, Sizes
from apnc.stored import stored
from apnc.typing import Array

#: Placeholder for results of later stages.
UNKNOWN: Any = None


@stored
@dataclass(frozen=True)
class Drawn:
    """The samples of a fit, scaled like the rows, and whether they were drawn by row number instead of content."""

    census: Census
    samples: dict[str, Sample]
    by_number: bool
    scaling: Scaling | None = None

    @property
    def hashes(self) -> Hash:
        """The hash they were drawn by."""
        return row_number_hash if self.by_number else content_hash

    def scaled(self, kind: str | None, dtype: type) -> "Drawn":
        """The samples with scaled features."""
        if kind is None:
            return self
        columns = self.census.columns
        scaling = Scaling.unit() if columns is None else Scaling.learned(kind, columns)
        samples = {
            name: Sample(scaling(sample.rows, dtype), sample.weights) for name, sample in self.samples.items()
        }
        return Drawn(self.census, samples, self.by_number, scaling)


def choose_landmarks(drawn: Drawn, settings: Settings) -> Sample:
    """L, or what it is made from: the distinct instances of smallest key."""
    return drawn.samples["landmarks"].first(settings.pool_size(drawn.census.sketches["landmarks"].n_distinct))


def n_landmarks(drawn: Drawn, settings: Settings) -> int:
    """The number of landmarks, given the number of distinct instances."""
    return settings.landmarks(drawn.census.sketches["landmarks"].n_distinct)


@dataclass(frozen=True)
class Fit:
    """The state of a fit: each stage returns it with its results added.

    Attributes
    ----------
    job, settings : the run (rows, memory, progress), and the user's settings.
    write : receives the labels, if they are not kept in memory.
    kept : releases data cached between passes when the fit ends.
    drawn : from "sampling": counts and samples.
    embedding : from "coefficients".
    comparison, compared : from "landmarks" and "neighbours", if the embedding depends on all rows: how rows are
        compared with landmarks, and the result, cached.
    sample : from "coefficients": R K_L(x) of the instances from which the first centroids are chosen.
    start : from "starting": first centroids, shape (k, m).
    Y : from "embedding": all embedded rows, cached.
    found : from "clustering".
    last : from "labels": the last assignment.

    """

    job: Job
    settings: Settings
    write: Write | None = None
    kept: ExitStack = field(default_factory=ExitStack)
    drawn: Drawn = UNKNOWN
    embedding: EmbeddingModel = UNKNOWN
    comparison: Comparison | None = None
    compared: Chunks = UNKNOWN
    sample: Sample = UNKNOWN
    start: Array = UNKNOWN
    Y: Chunks = UNKNOWN
    found: LloydResult = UNKNOWN
    last: Assignment = UNKNOWN

    def data(self) -> Data:
        """The rows in chunks sized for the embedding."""
        return self.job.data(self.embedding.work_bytes(self.job.source.held, self.job.dtype))

    def data_kept(self, check: CheckChunk) -> Data:
        """The same for Y, whose cache is limited to the free memory; ``check`` is what kept chunks must satisfy."""
        work = self.embedding.work_bytes(self.job.source.held, self.job.dtype)
        return self.job.data(work, self.job.room(self.sizes), "embedding", check)

    @property
    def sizes(self) -> Sizes:
        """The sizes known so far; before sampling, upper bounds."""
        settings = self.settings
        if self.drawn is None:
            n = self.job.source.n_rows
            return settings.at_most(n or np.inf, n or 0)
        n, rows = self.drawn.census.n_rows, sum(map(len, self.drawn.samples.values()))
        if self.embedding is None:
            l = n_landmarks(self.drawn, settings)  # noqa: E741
            return settings.at(l, settings.sizes(l)[1], n, rows)
        coefficients = self.embedding.coefficients
        return settings.at(coefficients.n_landmarks, coefficients.n_components, n, rows)

    @property
    def features(self) -> Features:
        """Number and names of the features."""
        return Features(self.job.source.n_columns, self.job.source.columns)

    @property
    def binning(self) -> Binning:
        """How the distances of the last assignment are binned."""
        return Binning.near(self.found.mean_square, self.found.mean_norm, self.embedding.diagonal)

    @property
    def model(self) -> Model:
        """All that prediction needs."""
        if self.last is None:
            return Model(self.embedding, self.features)
        sums, found, bins, how = self.last.sums, self.found, self.last.bins, self.binning
        quantiles = None if bins is None else Quantiles(how.unit, bins.weights, how.diagonal)
        return self.at(found.centroids, found.n_iter, sums.inertia, sums.counts, quantiles)

    def at(
        self,
        centroids: Array,
        n_iter: int,
        inertia: float,
        sizes: Array,
        quantiles: Quantiles | None = None,
    ) -> Model:
        """The model with these centroids."""
        inertia *= self.embedding.coefficients.beta**2
        clusters = Clusters(centroids, inertia, n_iter, sizes, quantiles)
        return Model(self.embedding, self.features, clusters)
