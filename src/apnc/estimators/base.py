"""What both estimators share: reading data, and fitting the embedding."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from apnc import pipeline, sources, validation, writing
from apnc.engines.local import n_threads
from apnc.estimators import outputs
from apnc.estimators.asking import embedding_settings
from apnc.job import Job
from apnc.kernels import PrecomputedKernel, gamma_of
from apnc.model import EmbeddingModel
from apnc.progress import SILENT, make_progress
from apnc.sampling import concatenate
from apnc.sources import is_source
from apnc.sources.rows import n_rows


class KernelEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What both estimators share: reading data, and fitting the embedding."""

    _embedding_model: EmbeddingModel

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel == "chi2"
        return tags

    def _job(self, X: Any, sample_weight: Any = None, reset: bool = False) -> Job:
        """X checked, as rows in memory or a source, with the means to work on it."""
        progress = make_progress(getattr(self, "verbose", 0))
        threads = n_threads(self.n_jobs)
        if self._streams(X, sample_weight):
            if sample_weight is not None:
                raise ValueError(
                    "Weights of a file come from it: apnc.sources.open(..., weight_column='name')."
                )
            source = validation.read_source(self, X, reset)
            if source.remote and self.memory_limit is not None:
                raise ValueError(
                    "memory_limit is for this machine; on Spark, memory is set by spark.executor.memory."
                )
            return Job.begin(source, None, threads, self.memory_limit, progress)
        rows = self._read(X, reset)
        weights = validation.check_weights(sample_weight, n_rows(rows))
        return Job.begin(rows, weights, threads, self.memory_limit, progress)

    def _streams(self, X: Any, sample_weight: Any) -> bool:
        """Whether X is read in pieces; a memory map is rows in memory where something goes with its rows."""
        if self.kernel == "precomputed" and hasattr(X, "shape"):
            return False
        init = getattr(self, "init", "")
        labels = not isinstance(init, str) and validation.are_labels(init, callable(self.kernel))
        return is_source(X) and not (isinstance(X, np.memmap) and (sample_weight is not None or labels))

    def _read(self, X: Any, reset: bool) -> Any:
        """X as rows for the engine: array, CSR, list of objects, or rows of a given kernel."""
        if self.kernel == "precomputed" and not reset:
            kernel = self._embedding_model.kernel
            assert isinstance(kernel, PrecomputedKernel)
            name = type(self).__name__
            return validation.as_new_given_rows(X, kernel.n_instances, self.n_landmarks_, name)
        return validation.read(self, X, reset)

    @contextmanager
    def _new_data(
        self, X: Any, sample_weight: Any = None, stage: str | None = None
    ) -> Iterator[pipeline.Data]:
        """New data in chunks that suit the fitted embedding; progress is shown of work that has a ``stage``."""
        check_is_fitted(self)
        job = self._job(X, sample_weight)
        job = job.told(SILENT) if stage is None else job
        with job.reading(), job.progress:
            if stage is not None:
                job.progress.stage(stage, job.n_rows_known())
            data = job.for_embedding(self._embedding_model)
            yield data
        job.tell_skipped(data)

    def _appended(self, X: Any, name: str, type_: str, steps: Any) -> Any:
        """A DataFrame of Spark with one more column, of what ``steps(dtype)`` make of its rows."""
        check_is_fitted(self)
        job = self._job(X)
        return job.given.with_column(name, type_, steps(job.dtype), job.rows_at_once(self._embedding_model))

    def _embedded_frame(self, X: Any) -> Any:
        return self._appended(X, "embedding", "array<float>", self._embedding_model.steps)

    def _write_embedding(self, X: Any, to: Any, out: type) -> Path:
        """Y of X to a file, chunk after chunk."""
        writing.check_target(to, writing.EMBEDDING_KINDS)
        sources.refuse_overwriting(X, to)
        with self._new_data(X, stage="embedding") as data:
            chunks = self._embedding_model.embed(data.chunks, data.dtype, out)
            with closing((chunk.rows, chunk.carry) for chunk in chunks) as stream:
                seen = outputs.Seen(stream)
                writing.write_embedding(to, seen, outputs.ids_of(data.source, seen), self.n_components_)
        return Path(to)

    def _fit_embedding(self, job: Job, n_clusters: int, seed: int) -> pipeline.Drawn:
        settings = embedding_settings(self, job, n_clusters, seed)
        allow = partial(job.allow, n_clusters=n_clusters)
        data = job.for_sampling(settings)
        model, drawn = pipeline.fit_embedding(data, settings, allow, job.progress)
        job.tell_skipped(data)
        self._store_embedding(model)
        return drawn

    def _store_embedding(self, model: EmbeddingModel) -> None:
        blocks = model.coefficients.blocks
        self._embedding_model = model
        self.gamma_ = gamma_of(model.kernel)
        self.n_landmarks_ = model.coefficients.n_landmarks
        self.n_components_ = model.coefficients.n_components
        self.residual_ = model.residual
        for stale in ("landmarks_", "landmark_indices_"):
            self.__dict__.pop(stale, None)
        if isinstance(model.kernel, PrecomputedKernel):
            self.landmark_indices_ = np.concatenate([block.landmarks.numbers for block in blocks])
        else:
            self.landmarks_ = concatenate([block.landmarks for block in blocks])

    def save(self, path: Any, configuration: dict[str, Any] | None = None) -> Path:
        """Write the fitted estimator to one file, without code, that ``apnc.load`` reads (docs/model-files.md).

        ``configuration`` (JSON values) is kept in it for people to read.
        """
        from apnc import persistence

        return persistence.save(self, path, configuration)
