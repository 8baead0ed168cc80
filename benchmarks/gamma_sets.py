"""The data sets of ``benchmarks.gamma``, each a function of a seed."""

import os
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import datasets
from sklearn.preprocessing import StandardScaler

Set = tuple[Any, np.ndarray]
#: Rows of MNIST and of CovType; all of them are 70,000 and 581,012.
SOME_MNIST, SOME_COVTYPE = 40_000, 100_000


@cache
def stored(name: str) -> Set:
    with np.load(Path(os.environ["APNC_DATA"]) / f"{name}.npz") as file:
        X, y = file["X"].reshape(len(file["y"]), -1), file["y"]
    if name == "mnist":
        X = X / np.float32(255)
    elif name == "covtype":
        X = X.astype(np.float32) - X.min(axis=0)
        X /= np.maximum(X.max(axis=0), 1)
    return X.astype(np.float32), y


def real(name: str, n: int) -> Callable[[int], Set]:
    def load(seed: int) -> Set:
        X, y = stored(name)
        some = np.random.default_rng(seed).permutation(len(y))[:n]
        return X[some], y[some]

    return load


@cache
def newsgroups() -> Set:
    """Texts in 100 dimensions, by latent semantic analysis."""
    from sklearn.decomposition import TruncatedSVD
    from sklearn.preprocessing import normalize

    folder = Path(os.environ["APNC_DATA"])
    X = sparse.load_npz(folder / "20newsgroups_X.npz")
    with np.load(folder / "20newsgroups_y.npz") as file:
        y = file[file.files[0]]
    return normalize(TruncatedSVD(100, random_state=0).fit_transform(X)), y


def scaled(load: Any) -> Callable[[int], Set]:
    def of(seed: int) -> Set:
        X, y = load(return_X_y=True)
        return StandardScaler().fit_transform(X), y

    return of


def groups(seed: int, sizes: list[int], d: int, apart: float, noise: Any = None) -> Set:
    """Gaussian centres and, around them, standard normal rows unless ``noise(rng, y, d)`` says otherwise."""
    rng = np.random.default_rng(seed)
    centres, y = apart * rng.normal(size=(len(sizes), d)), np.repeat(range(len(sizes)), sizes)
    around = rng.normal(size=(len(y), d)) if noise is None else noise(rng, y, d)
    return centres[y] + around, y


def stretched(seed: int) -> Set:
    X, y = datasets.make_blobs(3000, centers=3, random_state=seed)
    return X @ np.array([[0.6, -0.64], [-0.4, 0.85]]), y


def shells(seed: int, radii: tuple[float, ...], d: int) -> Set:
    rng = np.random.default_rng(seed)
    y, X = rng.integers(0, len(radii), 4000), rng.normal(size=(4000, d))
    X *= np.array(radii)[y][:, None] / np.linalg.norm(X, axis=1)[:, None]
    return X + 0.05 * rng.normal(size=X.shape), y


def tight_in_wide(seed: int) -> Set:
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, 4000)
    return rng.normal(size=(4000, 6)) * np.array([3.0, 0.3])[y][:, None], y


def boxes(rng: np.random.Generator, y: np.ndarray, d: int) -> np.ndarray:
    return rng.uniform(-2, 2, size=(len(y), d))


def unequal_spreads(rng: np.random.Generator, y: np.ndarray, d: int) -> np.ndarray:
    return rng.normal(size=(len(y), d)) * (0.5 + 0.3 * y)[:, None]


def needles(rng: np.random.Generator, y: np.ndarray, d: int) -> np.ndarray:
    """Rows along one random direction for each group."""
    along = rng.normal(size=(y.max() + 1, d))
    return 2 * rng.normal(size=(len(y), 1)) * along[y] + 0.3 * rng.normal(size=(len(y), d))


def hierarchy(seed: int) -> Set:
    """Three groups of four groups each."""
    rng = np.random.default_rng(seed)
    centres = np.repeat(12 * rng.normal(size=(3, 5)), 4, axis=0) + 3 * rng.normal(size=(12, 5))
    y = rng.integers(0, 12, 4000)
    return centres[y] + rng.normal(size=(4000, 5)), y


def counts(seed: int) -> Set:
    """Rows of counts from five distributions over 60 words."""
    rng = np.random.default_rng(seed)
    topics, y = rng.dirichlet(np.full(60, 0.3), 5), rng.integers(0, 5, 2000)
    return np.array([rng.multinomial(40, topics[label]) for label in y], dtype=float), y


#: Name: rows and classes by seed, k, options of the estimator.
CASES: dict[str, tuple[Callable[[int], Set], int, dict[str, Any]]] = {
    "rings, .15": (lambda s: datasets.make_circles(5000, factor=0.15, noise=0.05, random_state=s), 2, {}),
    "rings, .3": (lambda s: datasets.make_circles(5000, factor=0.3, noise=0.05, random_state=s), 2, {}),
    "rings, .3, 1,000 rows": (
        lambda s: datasets.make_circles(1000, factor=0.3, noise=0.05, random_state=s),
        2,
        {},
    ),
    "half-moons": (lambda s: datasets.make_moons(5000, noise=0.1, random_state=s), 2, {}),
    "digits": (lambda s: datasets.load_digits(return_X_y=True), 10, {}),
    "USPS": (real("usps", 10**6), 10, {}),
    "MNIST, 40,000 rows": (real("mnist", SOME_MNIST), 10, {}),
    "CovType, 100,000 rows": (real("covtype", SOME_COVTYPE), 7, {}),
    "CovType": (real("covtype", 10**6), 7, {}),
    "iris": (scaled(datasets.load_iris), 3, {}),
    "wine": (scaled(datasets.load_wine), 3, {}),
    "cancer": (scaled(datasets.load_breast_cancer), 2, {}),
    "varied": (lambda s: datasets.make_blobs(3000, cluster_std=[1, 2.5, 0.5], random_state=s), 3, {}),
    "overlap": (
        lambda s: datasets.make_blobs(3000, centers=5, n_features=5, cluster_std=3, random_state=s),
        5,
        {},
    ),
    "unbalanced": (lambda s: groups(s, [4000, 600, 300, 100], 5, 6), 4, {}),
    "stretched": (stretched, 3, {}),
    "10 groups in the plane": (
        lambda s: datasets.make_blobs(4000, centers=10, cluster_std=0.8, random_state=s),
        10,
        {},
    ),
    "long tails": (
        lambda s: groups(s, [600] * 5, 5, 4, lambda rng, y, d: rng.standard_t(3, size=(len(y), d))),
        5,
        {},
    ),
    "three rings": (lambda s: shells(s, (0.02, 0.5, 1), 2), 3, {}),
    "two shells, 5 dimensions": (lambda s: shells(s, (0.3, 1), 5), 2, {}),
    "tight in wide": (tight_in_wide, 2, {}),
    "boxes": (lambda s: groups(s, [500] * 6, 3, 4, boxes), 6, {}),
    "unequal spreads": (lambda s: groups(s, [400] * 8, 10, 2.5, unequal_spreads), 8, {}),
    "needles": (lambda s: groups(s, [700] * 4, 4, 4, needles), 4, {}),
    "hierarchy": (hierarchy, 12, {}),
    "weak groups, 20 dimensions": (lambda s: groups(s, [2500, 500], 20, 0.6), 2, {}),
    "20 Newsgroups, 100 dimensions": (lambda s: newsgroups(), 20, {}),
    "digits, laplacian": (lambda s: datasets.load_digits(return_X_y=True), 10, {"kernel": "laplacian"}),
    "digits, chi2": (lambda s: datasets.load_digits(return_X_y=True), 10, {"kernel": "chi2"}),
    "counts, chi2": (counts, 5, {"kernel": "chi2"}),
    "hierarchy, stable": (hierarchy, 12, {"embedding": "stable"}),
    "digits, ensemble": (lambda s: datasets.load_digits(return_X_y=True), 10, {"embedding": "ensemble"}),
}
#: Cases that the rule was found on, with seeds 0 to 4.
FITTED_ON = tuple(CASES)[:21]
