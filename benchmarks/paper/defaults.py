"""What the defaults were chosen from: components by the share of the variance that they hold, starts, unit rows."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest import mock

from apnc import KernelKMeans
from apnc.embeddings import components
from apnc.pipeline import coefficients
from benchmarks.paper.methods import Found, Method, Task, fit_apnc


@contextmanager
def holding(share: float) -> Iterator[None]:
    """Another share, however few components hold it."""
    with (
        mock.patch.object(components, "SHARE", share),
        mock.patch.object(coefficients, "LEAST_COMPONENTS", 0),
    ):
        yield


def with_options(**options: Any) -> Method:
    """All defaults but the kernel and ``options``."""
    return lambda task: fit_apnc(
        KernelKMeans(task.k, **(task.kernel | options), random_state=task.seed), task.X
    )


def with_share(share: float) -> Method:
    def run(task: Task) -> Found:
        with holding(share):
            return with_options()(task)

    return run


FIXED, AUTO, STABLE_FIXED = "m = 500", "auto", "stable, m = 500"
DEFAULTS: dict[str, Method] = {
    FIXED: with_options(n_components=500),
    AUTO: with_options(),
    "share .95": with_share(0.95),
    "share .999": with_share(0.999),
    STABLE_FIXED: with_options(embedding="stable", n_components=500),
    "stable, m = 1000": with_options(embedding="stable", n_components=1000),
    "stable, m = 2000": with_options(embedding="stable", n_components=2000),
    "one start": with_options(n_init=1),
    "30 starts": with_options(n_init=30),
}
