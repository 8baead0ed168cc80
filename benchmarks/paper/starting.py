"""The experiment on starts (docs/decisions/12-empty-clusters.md): rows, a partition, a partition left alone."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from apnc.baselines import kernel_space
from apnc.clustering import lloyd
from benchmarks.paper.methods import Found, Method, Task, apnc, approx, exact

STARTS = {
    "random rows": ("random", True),
    "random partition": ("random-partition", True),
    "random partition, empty clusters left": ("random-partition", False),
}


@contextmanager
def empty_left() -> Iterator[None]:
    """Empty clusters stay where they are."""
    kept = kernel_space.farthest_rows, lloyd.reseed
    kernel_space.farthest_rows = lambda *_: np.empty(0, dtype=np.intp)  # type: ignore[assignment]
    lloyd.reseed = lambda *_: None  # type: ignore[assignment]
    try:
        yield
    finally:
        kernel_space.farthest_rows, lloyd.reseed = kept


def started(method: Callable[..., Method], init: str, seed_again: bool) -> Method:
    """A method from another start; the row says how many clusters hold rows in the end."""

    def run(task: Task) -> Found:
        fit = method(init=init)
        if seed_again:
            found = fit(task)
        else:
            with empty_left():
                found = fit(task)
        return Found(found.labels, found.seconds, found.more | {"filled": len(np.unique(found.labels))})

    return run


def _nystroem(**options: Any) -> Method:
    return apnc("nystroem", **options)


def _stable(**options: Any) -> Method:
    return apnc("stable", **options)


STARTED: dict[str, Method] = {
    f"{name}, {start}": started(method, *how)
    for name, method in {
        "Exact KKM": exact,
        "Approx KKM": approx,
        "APNC-Nys": _nystroem,
        "APNC-SD": _stable,
    }.items()
    for start, how in STARTS.items()
}
