"""Report iterations of a fit to scikit-learn's callbacks (version 1.9 or later).

``sklearn.callback`` loads rich, so it is imported only if an estimator has callbacks.
"""

from collections.abc import Callable, Mapping
from typing import Any, Self, TypeVar

from apnc.progress.listener import Progress, State

T = TypeVar("T")


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


#: Attributes that scikit-learn sets on an estimator with callbacks of its own, or inside a pipeline or meta-estimator
#: that has some.
HEARD = frozenset({"_skl_callbacks", "_parent_callback_ctx"})


def told_to_callbacks(estimator: Any, run: Callable[..., T], passed: Mapping[str, Any]) -> T:
    """``run(hear)``, where ``hear`` wraps a progress listener so that callbacks are called too; always torn down."""
    from sklearn.callback import with_callbacks

    def hear(shown: Progress) -> Progress:
        return CallbackProgress(shown, estimator, passed)

    found: T = with_callbacks(lambda _: run(hear))(estimator)
    return found


class CallbackProgress(Progress):
    """The fit as a task of scikit-learn's callbacks, and each iteration as a subtask of it.

    A subtask begins with the stage, or with the first rows after the previous iteration, so that no iteration is
    announced that never runs.

    Parameters
    ----------
    shown : receives every call as well.
    estimator : with ``CallbackSupport``.
    passed : ``X``, ``y`` and ``metadata`` (None or ``{"sample_weight": ...}``), which are passed to the callbacks.

    """

    def __init__(self, shown: Progress, estimator: Any, passed: Mapping[str, Any]):
        self._shown, max_iter = shown, getattr(estimator, "max_iter", 0)
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

    def pairs(self, each: int) -> None:
        self._shown.pairs(each)

    def total(self, n_rows: int) -> None:
        self._shown.total(n_rows)

    def rows(self, n: int) -> None:
        self._begin_subtask()
        self._shown.rows(n)

    def iteration(
        self, n_iter: int, max_iter: int, shift: float, inertia: float, state: State | None = None
    ) -> bool:
        self._iterates = True
        self._begin_subtask()
        stop = self._shown.iteration(n_iter, max_iter, shift, inertia, state)
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
