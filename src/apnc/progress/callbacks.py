"""Iterations of a fit to scikit-learn's callbacks, which it has from version 1.9 on.

``sklearn.callback`` loads rich, so it is imported when an estimator has callbacks, and not before.
"""

import functools
from collections.abc import Callable, Mapping
from typing import Any, Self

from apnc.progress.contract import Progress

#: From centroids to the attributes that make a copy of the estimator ready to predict.
Attributes = Callable[[Any], dict[str, Any]]


class CallbackSupport:
    """``sklearn.callback.CallbackSupportMixin``, imported late."""

    def set_callbacks(self, *callbacks: Any) -> Self:
        """Set the callbacks of the estimator.

        Parameters
        ----------
        *callbacks : objects with the methods of ``sklearn.callback.FitCallback``; none removes all.

        """
        return _mixin().set_callbacks(self, *callbacks)

    def _init_callback_context(self, **options: Any) -> Any:
        return _mixin()._init_callback_context(self, **options)


def _mixin() -> Any:
    try:
        from sklearn.callback import CallbackSupportMixin
    except ImportError as error:
        raise ImportError("Callbacks need scikit-learn 1.9 or later: pip install -U scikit-learn") from error
    return CallbackSupportMixin


def with_callbacks(fit: Callable[..., Any]) -> Callable[..., Any]:
    """``sklearn.callback.with_callbacks``, imported late: callbacks are torn down however ``fit`` ends."""

    @functools.wraps(fit)
    def managed(estimator: Any, *args: Any, **kwargs: Any) -> Any:
        if not _has_callbacks(estimator):
            return fit(estimator, *args, **kwargs)
        from sklearn.callback import with_callbacks as torn_down

        return torn_down(fit)(estimator, *args, **kwargs)

    return managed


def callback_progress(
    shown: Progress, estimator: Any, passed: Mapping[str, Any], max_iter: int, attributes: Attributes
) -> Progress:
    """``shown``, and in front of it the callbacks of the estimator if it has any; see ``CallbackProgress``."""
    if not _has_callbacks(estimator):
        return shown
    return CallbackProgress(shown, estimator, passed, max_iter, attributes)


def _has_callbacks(estimator: Any) -> bool:
    """Own callbacks, or a place among the tasks of a pipeline or another estimator that contains this one."""
    return hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx")


class CallbackProgress(Progress):
    """The fit as a task of scikit-learn's callbacks, and each iteration as a subtask of it.

    A subtask begins with the stage or with the first rows after the iteration before, so that no iteration
    is announced that does not come.

    Parameters
    ----------
    shown : is told everything too.
    estimator : with ``CallbackSupport``.
    passed : ``X``, ``y`` and ``metadata`` (None or ``{"sample_weight": ...}``), which the callbacks get.
    max_iter : iterations at most; 0 for a fit without.
    attributes : what a copy of the estimator needs to predict with some centroids; only called on demand.

    """

    def __init__(
        self,
        shown: Progress,
        estimator: Any,
        passed: Mapping[str, Any],
        max_iter: int,
        attributes: Attributes,
    ):
        self._shown, self._attributes = shown, attributes
        self._told = {"estimator": estimator, **passed}
        self._left = max_iter
        self._iterates = False
        self._subtask: Any = None
        self._task = estimator._init_callback_context(max_subtasks=max_iter)
        self._task.call_on_fit_task_begin(**self._told)

    def stage(
        self, name: str, total_rows: int | None = None, passes: int = 1, max_iter: int | None = None
    ) -> None:
        self._end_subtask()
        self._shown.stage(name, total_rows, passes, max_iter)
        self._iterates = max_iter is not None
        self._begin_subtask()

    def total(self, n_rows: int) -> None:
        self._shown.total(n_rows)

    def rows(self, n: int) -> None:
        self._begin_subtask()
        self._shown.rows(n)

    def iteration(
        self, n_iter: int, max_iter: int, shift: float, inertia: float, centroids: Any = None
    ) -> bool:
        self._iterates = True
        self._begin_subtask()
        stop = self._shown.iteration(n_iter, max_iter, shift, inertia, centroids)
        state = None if centroids is None else functools.partial(self._attributes, centroids)
        return self._end_subtask(reconstruction_attributes=state) or stop

    def note(self, text: str) -> None:
        self._shown.note(text)

    def close(self) -> None:
        self._end_subtask()
        self._shown.close()
        self._task.call_on_fit_task_end(**self._told, reconstruction_attributes={})

    def stop(self) -> None:
        self._shown.stop()

    def _begin_subtask(self) -> None:
        if self._iterates and self._subtask is None and self._left:
            self._left -= 1
            self._subtask = self._task.subcontext(task_name="iteration")
            self._subtask.call_on_fit_task_begin(**self._told)

    def _end_subtask(self, **state: Any) -> bool:
        if self._subtask is None:
            return False
        subtask, self._subtask = self._subtask, None
        return bool(subtask.call_on_fit_task_end(**self._told, **state))
