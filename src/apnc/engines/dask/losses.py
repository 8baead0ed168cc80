"""Failures of Dask itself: each becomes one error that says what happened and what to do."""

from collections.abc import Iterator
from contextlib import contextmanager
from threading import Lock
from typing import Any

#: Bytes of a graph from which on Dask warns; what it was before, for how many contexts it is raised, and their lock.
THRESHOLD = "distributed.admin.large-graph-warning-threshold"
_before: Any = None
_running, _setting = 0, Lock()
#: What is said of an exception of Dask, by its name.
SAYS = {
    "KilledWorker": (
        "Dask lost its workers again and again. Most often they lack memory: give each more (memory_limit of the "
        "cluster), or make partitions smaller; the workers' logs tell more."
    ),
    "FutureCancelledError": (
        "The Dask work was cancelled: the client was closed or restarted, or the scheduler is gone. Connect a client, "
        "create the collection again and repeat the work."
    ),
}
SAYS["CancelledError"] = SAYS["FutureCancelledError"]
NO_APNC = (
    "Dask's workers or its scheduler do not have apnc. Install it there, in the version that is used here, and repeat "
    "the work."
)


class DaskError(RuntimeError):
    """A failure of a Dask cluster; the message names the cause."""


@contextmanager
def told_plainly() -> Iterator[None]:
    """Errors by which Dask reports its own failures become ``DaskError``, with the original as their cause."""
    try:
        with large_graphs():
            yield
    except Exception as error:
        said = _sentence(error)
        if said is None:
            raise
        raise DaskError(said) from error


@contextmanager
def large_graphs() -> Iterator[None]:
    """No advice about large graphs: landmarks and coefficients are in a graph once, so that it does not help."""
    global _running, _before
    import distributed  # noqa: F401, its settings are there once it is imported
    from dask import config

    with _setting:
        # Concurrent fits share the setting; the last one to end restores it.
        _before = _before if _running else config.get(THRESHOLD)
        _running += 1
        config.set({THRESHOLD: "1TB"})
    try:
        yield
    finally:
        with _setting:
            _running -= 1
            if not _running:
                config.set({THRESHOLD: _before})


def _sentence(error: BaseException) -> str | None:
    """What is said of an error, or of what caused it; None if it is not one of Dask's own."""
    if "No module named 'apnc'" in str(error):
        return NO_APNC
    if type(error).__name__ in SAYS:
        return SAYS[type(error).__name__]
    return None if error.__cause__ is None else _sentence(error.__cause__)
