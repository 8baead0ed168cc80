"""The cases of ``benchmarks.certifying``: rows by seed, kernels, numbers of landmarks, sizes of the sample."""

import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.datasets import load_digits, make_circles, make_moons
from sklearn.feature_extraction.text import TfidfTransformer

Load = Callable[[int], Any]


def groups(n: int, d: int, k: int, spread: float) -> Load:
    """Gaussian groups of unequal size and spread."""

    def load(seed: int) -> np.ndarray:
        rng = np.random.default_rng([seed, n, d])
        centres, sizes = rng.normal(size=(k, d)), rng.dirichlet(np.full(k, 3.0))
        group = rng.choice(k, n, p=sizes)
        return (
            centres[group]
            + rng.normal(size=(n, d)) * (spread * rng.uniform(0.5, 1.5, size=k))[group][:, None]
        )

    return load


def folded(n: int, d: int) -> Load:
    """A folded sheet of three dimensions with noise: no groups at all."""

    def load(seed: int) -> np.ndarray:
        rng = np.random.default_rng([seed, n, d])
        place, fold = rng.uniform(0, 3, size=(n, 3)), rng.normal(size=(3, d))
        return np.sin(1.5 * place @ fold) + 0.2 * rng.normal(size=(n, d))

    return load


@cache
def stored(name: str) -> tuple[np.ndarray, np.ndarray]:
    with np.load(Path(os.environ["APNC_DATA"]) / f"{name}.npz") as file:
        return file["X"].reshape(len(file["y"]), -1).astype(np.float64), file["y"]


def usps(seed: int) -> np.ndarray:
    return stored("usps")[0]


def mnist(n: int) -> Load:
    """Some rows of MNIST."""

    def load(seed: int) -> np.ndarray:
        X = stored("mnist")[0]
        return X[np.random.default_rng(seed).permutation(len(X))[:n]] / 255

    return load


def digits(seed: int) -> np.ndarray:
    return np.asarray(load_digits().data, dtype=np.float64)


def newsgroups(n: int, n_classes: int = 20) -> Load:
    """Some texts of 20 Newsgroups as tf-idf, of some of the classes."""

    def load(seed: int) -> Any:
        folder, rng = Path(os.environ["APNC_DATA"]), np.random.default_rng([seed, n, n_classes])
        X = sparse.load_npz(folder / "20newsgroups_X.npz").astype(np.float64)
        with np.load(folder / "20newsgroups_y.npz") as file:
            mine = np.isin(file["y"], rng.permutation(20)[:n_classes])
        return X[rng.permutation(np.flatnonzero(mine))[:n]]

    return load


def topics(n: int, k: int, n_words: int = 8000) -> Load:
    """Texts as tf-idf: each a mixture of one topic and of common words, whose frequencies follow Zipf's law."""

    def load(seed: int) -> Any:
        rng = np.random.default_rng([seed, n, k])
        common = 1 / np.arange(1, n_words + 1)
        common /= common.sum()
        special = common * rng.gamma(0.1, size=(k, n_words))
        special /= special.sum(axis=1, keepdims=True)
        topic, lengths = rng.integers(k, size=n), rng.integers(30, 200, size=n)
        share = rng.uniform(0.1, 0.6, size=n)
        counts = [
            sparse.csr_matrix(rng.multinomial(length, s * special[t] + (1 - s) * common))
            for t, length, s in zip(topic, lengths, share, strict=True)
        ]
        return TfidfTransformer().fit_transform(sparse.vstack(counts, "csr").astype(np.float64))

    return load


#: Kernels; "times" multiplies the gamma that the data suggests.
KERNELS: dict[str, dict[str, Any]] = {
    "rbf": {},
    "rbf, gamma x 4": {"times": 4},
    "rbf, gamma x 16": {"times": 16},
    "laplacian": {"kernel": "laplacian"},
    "polynomial": {"kernel": "polynomial", "normalize_kernel": True},
    "cosine": {"kernel": "cosine"},
}
ALL, SOME = tuple(KERNELS), ("rbf, gamma x 4", "rbf, gamma x 16", "laplacian")


@dataclass(frozen=True)
class Cases:
    """Fits of one data set; ``samples`` are sizes of the sample that is checked, None a quarter of the rows."""

    load: Load
    k: int
    kernels: tuple[str, ...]
    landmarks: tuple[int, ...]
    seeds: tuple[int, ...]
    samples: tuple[int | None, ...] = (None,)


NARROW, TEXT = SOME[:2], ("cosine",)
#: Sizes of the sample that are small shares of 20,000 rows.
SMALL = (1000, 2000)
CASES: dict[str, dict[str, Cases]] = {
    "tuning": {
        "digits": Cases(digits, 10, ALL, (30, 100, 300), (100,)),
        "groups, 4,000 x 5": Cases(groups(4000, 5, 8, 0.6), 8, ALL, (30, 100, 300), (100, 101)),
        "groups, 6,000 x 20": Cases(groups(6000, 20, 12, 0.9), 12, ALL, (30, 100, 300), (100,)),
        "folded, 3,000 x 30": Cases(folded(3000, 30), 6, ALL, (30, 100, 300), (100, 101)),
        "folded, 8,000 x 10": Cases(folded(8000, 10), 15, ALL, (30, 100, 300), (100,)),
    },
    "reported": {
        "digits": Cases(digits, 10, ALL, (20, 60, 200), (0, 1)),
        "groups, 5,000 x 10": Cases(groups(5000, 10, 8, 0.7), 8, SOME, (20, 60, 200, 600), (0,)),
        "folded, 6,000 x 20": Cases(folded(6000, 20), 10, SOME, (20, 60, 200, 600), (0,)),
        "USPS": Cases(usps, 10, ALL, (40, 150, 500, 1000), (0,)),
        "groups, 12,000 x 30": Cases(groups(12000, 30, 20, 1.0), 20, SOME, (40, 150, 500), (0,)),
        "folded, 20,000 x 15": Cases(folded(20000, 15), 12, SOME, (40, 150, 500), (0,)),
        "groups, 20,000 x 8": Cases(groups(20000, 8, 15, 0.6), 15, SOME, (40, 150, 500), (0,)),
    },
    "text": {
        "20 Newsgroups, 6,000": Cases(newsgroups(6000), 20, TEXT, (40, 150, 500, 1500), (0, 1)),
        "20 Newsgroups, 5 classes": Cases(newsgroups(4500, 5), 5, TEXT, (40, 150, 500, 1500), (0, 1)),
        "20 Newsgroups": Cases(newsgroups(18846), 20, TEXT, (150, 500, 1500), (0,)),
        "topics, 6,000": Cases(topics(6000, 15), 15, TEXT, (40, 150, 500, 1500), (0, 1)),
        "topics, 12,000": Cases(topics(12000, 40), 40, TEXT, (160, 500, 1500), (0,)),
    },
    "few of many": {
        "folded, 20,000 x 15": Cases(folded(20000, 15), 12, NARROW, (40, 150), (1,), SMALL),
        "groups, 20,000 x 8": Cases(groups(20000, 8, 15, 0.6), 15, NARROW, (40, 150), (1,), SMALL),
        "MNIST, 20,000": Cases(mnist(20000), 10, NARROW, (40, 150), (1,), SMALL),
        "20 Newsgroups": Cases(newsgroups(18846), 20, TEXT, (150, 500), (2,), SMALL),
    },
}
KEYS = ("purpose", "data", "kernel", "l", "seed", "sample")


def runs() -> Iterator[dict[str, Any]]:
    for purpose, sets in CASES.items():
        for data, cases in sets.items():
            for seed in cases.seeds:
                for kernel in cases.kernels:
                    for l in cases.landmarks:
                        for sample in cases.samples:
                            yield dict(zip(KEYS, (purpose, data, kernel, l, seed, sample), strict=True))


def moons(noise: float) -> Load:
    return lambda seed: make_moons(5000, noise=noise, random_state=seed)


def rings(factor: float, noise: float) -> Load:
    return lambda seed: make_circles(5000, factor=factor, noise=noise, random_state=seed)


#: Rows and classes by seed for neighbour graphs, and numbers of landmarks.
GRAPHS: dict[str, tuple[Load, tuple[int | str, ...]]] = {
    "digits": (lambda seed: load_digits(return_X_y=True), (50, "auto")),
    "USPS": (lambda seed: stored("usps"), (100, 400, "auto")),
    **{f"half-moons, noise {noise}": (moons(noise), (20, 100, "auto")) for noise in (0.05, 0.1, 0.15)},
    "rings, radius 0.5, noise 0.05": (rings(0.5, 0.05), (20, 100, "auto")),
    "rings, radius 0.5, noise 0.1": (rings(0.5, 0.1), (20, 100, "auto")),
    "rings, radius 0.7, noise 0.05": (rings(0.7, 0.05), (20, 100, "auto")),
}
GRAPH_SEEDS = (0, 1, 2)
