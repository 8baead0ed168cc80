"""The methods of all tables: each clusters a task and says what it found."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from apnc import KernelKMeans, baselines
from apnc.progress import Progress

NEURAL = {"kernel": "sigmoid", "gamma": 0.0045, "coef0": 0.11}
POLYNOMIAL = {"kernel": "polynomial", "gamma": 1.0, "degree": 5, "coef0": 1}
KERNELS: dict[str, dict[str, Any]] = {
    "neural": NEURAL,
    "polynomial": POLYNOMIAL,
    "rbf": {"kernel": "rbf", "gamma": None},
    "rbf, gamma 2": {"kernel": "rbf", "gamma": 2.0},
    "cosine": {"kernel": "cosine"},
}


@dataclass(frozen=True)
class Task:
    """What one run is given; ``l`` and ``m`` are None where a method has none."""

    X: Any
    k: int
    kernel: dict[str, Any]
    l: int | None
    m: int | None
    max_iter: int
    seed: int

    @property
    def shared(self) -> dict[str, Any]:
        """What every method of ours takes."""
        return {"max_iter": self.max_iter, "random_state": self.seed}


@dataclass(frozen=True)
class Found:
    """Labels, seconds by part where a method has parts, and whatever else belongs into the row.

    Parts are ``embed`` and ``cluster``; ``shared`` was spent by an earlier run and is added; ``total`` stands for all
    that was measured outside. ``rows`` are the numbers of the rows that were labelled; None: all.
    """

    labels: np.ndarray
    seconds: dict[str, float] = field(default_factory=dict)
    more: dict[str, Any] = field(default_factory=dict)
    rows: np.ndarray | None = None


Method = Callable[[Task], Found]


class StageClock(Progress):
    """Seconds of each stage of a fit."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._name, self._since = "", 0.0

    def stage(self, name: str, *_: Any, **__: Any) -> None:
        now = time.perf_counter()
        if self._name:
            self.seconds[self._name] = self.seconds.get(self._name, 0.0) + now - self._since
        self._name, self._since = name, now

    def close(self) -> None:
        self.stage("")

    @property
    def parts(self) -> dict[str, float]:
        """Embedding is all up to Y, clustering all after it."""
        before = ("sampling", "landmarks", "neighbours", "coefficients", "embedding")
        embedding = sum(self.seconds.get(name, 0.0) for name in before)
        return {"embed": embedding, "cluster": sum(self.seconds.values()) - embedding}


def fit_apnc(km: KernelKMeans, X: Any) -> Found:
    clock = StageClock()
    km.fit(X, progress=clock)
    more = {
        "n_iter": km.n_iter_,
        "l_used": km.n_landmarks_,
        "m_used": km.n_components_,
        "residual": round(km.residual_, 6),
    }
    return Found(km.labels_, clock.parts, more)


def apnc(embedding: Any, **options: Any) -> Method:
    """An APNC method with the paper's settings."""

    def run(task: Task) -> Found:
        sizes = {"n_landmarks": task.l, "n_components": task.m}
        given = sizes | {"init": "random", "n_init": 1, "tol": 0.0} | options
        return fit_apnc(
            KernelKMeans(task.k, **task.kernel, embedding=embedding, **task.shared, **given), task.X
        )

    return run


def fitted(estimator: Any, X: Any) -> Found:
    estimator.fit(X)
    return Found(estimator.labels_, more={"n_iter": int(estimator.n_iter_)})


def exact(**options: Any) -> Method:
    return lambda task: fitted(
        baselines.ExactKernelKMeans(task.k, **task.kernel, **task.shared, **options), task.X
    )


def approx(**options: Any) -> Method:
    return lambda task: fitted(
        baselines.ApproxKernelKMeans(task.k, **task.kernel, n_landmarks=task.l, **task.shared, **options),
        task.X,
    )


def two_stage(**options: Any) -> Method:
    return lambda task: fitted(
        baselines.TwoStageKernelKMeans(task.k, **task.kernel, n_landmarks=task.l, **task.shared, **options),
        task.X,
    )


def fourier(estimator: type) -> Method:
    return lambda task: fitted(estimator(task.k, n_frequencies=500, **task.kernel, **task.shared), task.X)


def psc(task: Task) -> Found:
    """Neighbours do not depend on the seed: they are searched once a process, and charged to every run."""
    from apnc.baselines import psc as module

    graph = once(module, "neighbour_similarity")
    found = fitted(baselines.SparseSpectralClustering(task.k, n_neighbors=100, **task.shared), task.X)
    return Found(found.labels, {"shared": graph.spared}, found.more)


def dasc(task: Task) -> Found:
    km = baselines.BucketSpectralClustering(task.k, memory_bytes=8e9, **task.shared)
    found = fitted(km, task.X)
    return Found(found.labels, more=found.more | {"buckets": int(km.buckets_.max()) + 1})


@dataclass
class Once:
    """A function of the data whose result is kept; ``spared`` are the seconds that the last call did not take."""

    function: Callable[..., Any]
    result: Any = None
    seconds: float = 0.0
    spared: float = 0.0

    def __call__(self, *arguments: Any) -> Any:
        self.spared = self.seconds
        if self.result is None:
            begin = time.perf_counter()
            self.result = self.function(*arguments)
            self.seconds = time.perf_counter() - begin
        return self.result


def once(module: Any, name: str) -> Once:
    """Keep the first result of a module's function from here on: a process has one data set."""
    if not isinstance(getattr(module, name), Once):
        setattr(module, name, Once(getattr(module, name)))
    return getattr(module, name)


def k_means(task: Task) -> Found:
    from sklearn.cluster import KMeans

    km = KMeans(task.k, init="random", n_init=1, tol=0.0, algorithm="lloyd", **task.shared)
    return fitted(km, task.X)


EXACT = "Exact KKM"
METHODS: dict[str, Method] = {
    EXACT: exact(),
    "Approx KKM": approx(),
    "RFF": fourier(baselines.FourierKMeans),
    "SV-RFF": fourier(baselines.SingularFourierKMeans),
    "2-Stage": two_stage(),
    "PSC": psc,
    "DASC": dasc,
    "k-means": k_means,
    "APNC-Nys": apnc("nystroem"),
    "APNC-SD": apnc("stable"),
    "APNC-Nys, unit rows": apnc("nystroem", normalize_kernel=True),
    "2-Stage, 10 starts": two_stage(n_init=10),
    "APNC-Nys, 10 starts": apnc("nystroem", n_init=10),
    "APNC-SD, 10 starts": apnc("stable", n_init=10),
}
#: Methods without landmarks, so without a choice of l.
WITHOUT_LANDMARKS = (EXACT, "RFF", "SV-RFF", "PSC", "DASC", "k-means")
