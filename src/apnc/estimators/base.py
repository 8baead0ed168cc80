"""Base class of all estimators: it validates and stores; ``pipeline`` and ``outputs`` compute."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from apnc import checks, outputs, pipeline
from apnc.engines.local import n_threads
from apnc.model import Model
from apnc.outputs import LABEL, Output
from apnc.progress import HEARD, SILENT, CallbackSupport, Progress, make_progress, told_to_callbacks
from apnc.run.budget import NO_LIMIT, Budget
from apnc.run.job import Job
from apnc.settings import Settings
from apnc.version import __version__

if TYPE_CHECKING:
    from apnc.run.forecast import Forecast


class KernelEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Base class of all estimators: fitting, applying a fitted model, planning, saving.

    A subclass may fix parameters that it does not expose as class attributes.
    """

    kernel: Any = "rbf"
    n_jobs: int | None = None
    memory_limit: str | int | None = None
    verbose: int = 0
    _model: Model

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel == "chi2"
        return tags

    def __getstate__(self) -> dict[str, Any]:
        return {**super().__getstate__(), "_apnc_version": __version__}

    def __setstate__(self, state: dict[str, Any]) -> None:
        state = dict(state)
        checks.warn_if_other_version(type(self).__name__, state.pop("_apnc_version", "of unknown version"))
        super().__setstate__(state)

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__

    def _job(self, X: Any, sample_weight: Any = None, reset: bool = False, shown: Progress = SILENT) -> Job:
        """A job with X as a checked source."""
        source = checks.read(self, X, sample_weight, reset)
        budget = NO_LIMIT if self.memory_limit is None else Budget.now(self.memory_limit)
        return Job(source, n_threads(self.n_jobs), budget, shown)

    def _progress(self, given: Progress | None) -> Progress:
        return given or (make_progress(self.verbose) if self.verbose else SILENT)

    def _fit(
        self,
        X: Any,
        sample_weight: Any,
        to: Any = None,
        progress: Progress | None = None,
        checkpoint: Any = None,
    ) -> Self:
        """Run all stages on X, with scikit-learn's callbacks if there are any."""
        run = partial(self._run, X, sample_weight, to, checkpoint, self._progress(progress))
        if not HEARD & vars(self).keys() or not isinstance(self, CallbackSupport):
            return run()
        metadata = None if sample_weight is None else {"sample_weight": sample_weight}
        return told_to_callbacks(self, run, {"X": X, "y": None, "metadata": metadata})

    def _run(
        self,
        X: Any,
        sample_weight: Any,
        to: Any,
        checkpoint: Any,
        shown: Progress,
        hear: Callable[..., Progress] | None = None,
    ) -> Self:
        """Run all stages on X; an earlier fit is replaced only after they have succeeded."""
        target = None if to is None else outputs.checked(LABEL, to, X)
        opened = nullcontext() if checkpoint is None else self._opened(checkpoint)
        with unchanged_on_failure(self), opened as kept:
            job = self._job(X, sample_weight, reset=True)
            progress = shown if hear is None else hear(shown)
            job = replace(job, labels_here=target is None, progress=progress)
            write = None if target is None else outputs.writer(target, LABEL, None, job.source)
            settings = checks.settings_of(self, job.source)
            with job.running():
                if kept is not None:
                    job, settings = self._begun(job, settings, kept)
                found = pipeline.fit(job, settings, write)
            self._restore(found.model)
            self._store_labels(found, target)
        return self

    def _opened(self, checkpoint: Any) -> Any:
        """A context with the checkpoint of a path."""
        from apnc.persistence import checkpoint as checkpoints

        return checkpoints.opened(checkpoint)

    def _begun(self, job: Job, settings: Settings, kept: Any, **more: Any) -> tuple[Job, Settings]:
        """The job with its checkpoint, and its settings with the seed of the run that the checkpoint belongs to."""
        from apnc.persistence.identity import identity_of

        records = kept.begin(identity_of(self, job.source, **more), settings.seed, self.kernel)
        if records.done:
            job.progress.note(f"going on from {records.folder}: {records.done}")
        return replace(job, records=records), replace(settings, seed=records.seed)

    def _store_labels(self, found: pipeline.Fit, target: Path | None) -> None:
        if found.last is None:
            return
        self._n_rows = found.last.n_rows
        if found.last.parts:
            self.labels_ = found.last.labels
        elif target is not None:
            self._no_labels = f"labels_ is not kept in memory: the labels are in {target}."
        else:
            engine = found.job.source.engine
            self._no_labels = (
                f"labels_ is not available after fitting on {engine}; predict(X) gives the labels of X."
            )

    def _restore(self, model: Model) -> None:
        """Set the fitted attributes: the same after a fit, from a file, and from Spark."""
        for name in [name for name in vars(self) if is_fitted_attribute(name)]:
            del self.__dict__[name]
        self.__dict__.update(model.attributes())

    def _apply(self, X: Any, output: Output, to: Any = None) -> Any:
        """Apply the fitted model to X; progress is shown if the result goes to a file."""
        check_is_fitted(self)
        target = None if to is None else outputs.checked(output, to, X)
        shown = SILENT if target is None else self._progress(None)
        job = self._job(X, shown=shown)
        with job.running():
            job.announce(output.stage, self._model.embedding.n_pairs)
            return outputs.apply(job, self._model, output, target)

    def plan(self, X: Any) -> "Forecast":
        """Forecast the cost of ``fit(X)`` (passes, operations, memory, disk, seconds) by a short fit of some rows.

        A memory limit that is too small is refused, as by ``fit``.
        """
        from apnc.run import forecast

        with unchanged(self):
            # Drawing from a RandomState would change the result of the next fit.
            self.__dict__["random_state"] = deepcopy(getattr(self, "random_state", None))
            job = self._job(X, reset=True, shown=self._progress(None))
            with job.running():
                return forecast.forecast(job, checks.settings_of(self, job.source))

    def save(self, path: Any, configuration: dict[str, Any] | None = None) -> Path:
        """Write the fitted estimator to one file without code (docs/reference/model-files.md), for ``apnc.load``.

        ``configuration`` (JSON values) is stored in it for information.
        """
        from apnc.estimators import saving

        return saving.save(self, path, configuration)


def is_fitted_attribute(name: str) -> bool:
    """Whether an attribute of this name is set by a fit."""
    return (name.endswith("_") and not name.startswith("_")) or name in ("_model", "_n_rows", "_no_labels")


@contextmanager
def unchanged_on_failure(estimator: Any) -> Iterator[None]:
    """Restore the estimator after a failure: with its earlier fit, or unfitted."""
    before = dict(vars(estimator))
    try:
        yield
    except BaseException:
        vars(estimator).clear()
        vars(estimator).update(before)
        raise


@contextmanager
def unchanged(estimator: Any) -> Iterator[None]:
    """Restore the estimator at the end."""
    before = dict(vars(estimator))
    try:
        yield
    finally:
        vars(estimator).clear()
        vars(estimator).update(before)
