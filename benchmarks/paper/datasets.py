"""The data of the paper on its scales: from a folder, by scikit-learn's fetchers, or generated for speed only."""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from benchmarks.data import blobs
from benchmarks.paper import shapes
from tests.paper.data import data_folder

#: Classes of the RCV1 subset with fewer documents are left out.
RCV1_LEAST = 50


@dataclass(frozen=True)
class Dataset:
    """Rows, float32 and on the paper's scale, and their classes; rows that only take time have none."""

    X: Any
    y: np.ndarray | None
    k: int

    def first(self, n: int | None) -> "Dataset":
        """At most ``n`` rows, drawn once and for all."""
        if n is None or self.X.shape[0] <= n:
            return self
        rows = np.sort(np.random.default_rng(0).permutation(self.X.shape[0])[:n])
        y = None if self.y is None else self.y[rows]
        return Dataset(self.X[rows], y, self.k if y is None else len(np.unique(y)))


def of(X: Any, y: np.ndarray) -> Dataset:
    X = sparse.csr_array(X) if sparse.issparse(X) else np.asarray(X)
    return Dataset(X.astype(np.float32), np.asarray(y), len(np.unique(y)))


def min_max(X: np.ndarray) -> np.ndarray:
    X = X.astype(np.float32)
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1)


def read_usps(folder: Path) -> Dataset:
    with np.load(folder / "usps.npz") as file:
        return of(file["X"], file["y"])


def read_mnist(folder: Path) -> Dataset:
    with np.load(folder / "mnist.npz") as file:
        return of(file["X"].astype(np.float32) / 255, file["y"])


def read_covtype(folder: Path) -> Dataset:
    with np.load(folder / "covtype.npz") as file:
        return of(min_max(file["X"]), file["y"])


def read_rcv1(folder: Path) -> Dataset:
    """Documents of one most specific topic that at least 50 have: 18,385 rows in 42 classes."""
    X, y = sparse.load_npz(folder / "rcv1_X.npz"), np.load(folder / "rcv1_y.npz")["y"]
    topics, counts = np.unique(y[y >= 0], return_counts=True)
    kept = np.isin(y, topics[counts >= RCV1_LEAST])
    return of(X[kept], y[kept])


def read_newsgroups(folder: Path) -> Dataset:
    return of(sparse.load_npz(folder / "20newsgroups_X.npz"), np.load(folder / "20newsgroups_y.npz")["y"])


def fetch_usps() -> Dataset:
    from sklearn.datasets import fetch_openml

    X, y = fetch_openml(data_id=41082, as_frame=False, return_X_y=True)
    return of(X, y)


def fetch_mnist() -> Dataset:
    from sklearn.datasets import fetch_openml

    X, y = fetch_openml("mnist_784", version=1, as_frame=False, return_X_y=True)
    return of(X.astype(np.float32) / 255, y)


def fetch_covtype() -> Dataset:
    from sklearn import datasets

    X, y = datasets.fetch_covtype(return_X_y=True)
    return of(min_max(X), y)


def fetch_newsgroups() -> Dataset:
    from sklearn.datasets import fetch_20newsgroups_vectorized

    X, y = fetch_20newsgroups_vectorized(subset="all", return_X_y=True)
    return of(X, y)


def digits() -> Dataset:
    from sklearn.datasets import load_digits

    return of(*load_digits(return_X_y=True))


def rings() -> Dataset:
    from sklearn.datasets import make_circles

    return of(*make_circles(5000, factor=0.3, noise=0.05, random_state=0))


def read_given(variable: str) -> Dataset:
    """Arrays ``X`` and ``y`` of the .npz file that an environment variable names."""
    with np.load(os.environ[variable]) as file:
        return of(file["X"], file["y"])


def generated(n: int, d: int, k: int, rows: int | None) -> Dataset:
    return Dataset(blobs(min(n, rows or n), d, k), None, k)


def drawn(pieces: Sequence[shapes.Piece], noise: float, n: int, rows: int | None) -> Dataset:
    """A shape in the plane, with its classes."""
    X, y = shapes.shape(pieces, noise, min(n, rows or n))
    return Dataset(X, y, len(pieces))


def generated_documents(n: int, d: int, k: int, rows: int | None, words: int = 76) -> Dataset:
    """Sparse rows of norm 1; half the words of a document are those of its class, drawn by a power law."""
    n = min(n, rows or n)
    rng = np.random.default_rng(0)
    rank = (d ** rng.random((n, words))).astype(np.int64) - 1
    shift = rng.integers(0, d, k)[rng.integers(0, k, n)][:, None] * (np.arange(words) % 2)
    columns = ((rank + shift) % d).ravel()
    values = rng.exponential(size=n * words).astype(np.float32)
    X = sparse.csr_array((values, (np.repeat(np.arange(n), words), columns)), shape=(n, d))
    X.sum_duplicates()
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    return Dataset(sparse.csr_array(sparse.diags_array(1 / norms) @ X).astype(np.float32), None, k)


@dataclass(frozen=True)
class Source:
    """Where a data set comes from; each part may be missing.

    Attributes
    ----------
    title : what tables call it; ``short`` where there is less room, if not the title up to a comma.
    files : those needed in the data folder, and ``read`` to read them from there.
    carried : rows that scikit-learn brings along or makes.
    fetch : the public way, which downloads.
    variable : environment variable with the path of an .npz file.
    generate : rows of the same size, for speed only, or a shape with its classes.

    """

    title: str
    files: tuple[str, ...] = ()
    read: Callable[[Path], Dataset] | None = None
    carried: Callable[[], Dataset] | None = None
    fetch: Callable[[], Dataset] | None = None
    variable: str | None = None
    generate: Callable[[int | None], Dataset] | None = None
    short: str | None = None

    @property
    def in_folder(self) -> Path | None:
        """The data folder, if it has all of the files."""
        folder = data_folder()
        found = folder is not None and self.files and all((folder / name).exists() for name in self.files)
        return folder if found else None

    @property
    def given(self) -> bool:
        """Whether the user has named a file."""
        return self.variable is not None and self.variable in os.environ

    @property
    def is_generated(self) -> bool:
        """Whether rows are made up."""
        return self.generate is not None and not self.given

    def missing(self, fetch: bool) -> str | None:
        """What to do to have it; None if it is there."""
        if self.in_folder or self.given or self.carried or self.generate or (fetch and self.fetch):
            return None
        public = " or --fetch to download it" if self.fetch else ""
        return f"set APNC_DATA to the folder that holds {', '.join(self.files)}{public}"

    def load(self, rows: int | None, fetch: bool) -> Dataset:
        """At most ``rows`` of it."""
        if (folder := self.in_folder) is not None and self.read is not None:
            return self.read(folder).first(rows)
        if self.carried is not None:
            return self.carried().first(rows)
        if self.given:
            return read_given(str(self.variable)).first(rows)
        if self.generate is not None:
            return self.generate(rows)
        if fetch and self.fetch is not None:
            return self.fetch().first(rows)
        raise FileNotFoundError(f"{self.title}: {self.missing(fetch)}")


def shape(title: str, pieces: Sequence[shapes.Piece], noise: float, n: int = 200_000) -> Source:
    size = f"{n / 1e6:g} M rows" if n >= 1_000_000 else f"{n / 1000:g} thousand rows"
    title = f"{title}, noise {noise:g}, {size}"
    return Source(title, generate=partial(drawn, pieces, noise, n), short=title)


SOURCES = {
    "usps": Source("USPS", ("usps.npz",), read_usps, fetch=fetch_usps),
    "mnist": Source("MNIST", ("mnist.npz",), read_mnist, fetch=fetch_mnist),
    "covtype": Source("CovType", ("covtype.npz",), read_covtype, fetch=fetch_covtype),
    "rcv1": Source("RCV1, 18,385 documents", ("rcv1_X.npz", "rcv1_y.npz"), read_rcv1),
    "newsgroups": Source(
        "20 Newsgroups", ("20newsgroups_X.npz", "20newsgroups_y.npz"), read_newsgroups, fetch=fetch_newsgroups
    ),
    "digits": Source("digits", carried=digits),
    "rings": Source("rings", carried=rings),
    "pie": Source("PIE", variable="APNC_PIE", generate=partial(generated, 11_554, 4096, 68)),
    "imagenet50k": Source(
        "ImageNet-50k", variable="APNC_IMAGENET50K", generate=partial(generated, 50_000, 900, 164)
    ),
    "imagenet": Source(
        "ImageNet", variable="APNC_IMAGENET", generate=partial(generated, 1_262_102, 900, 164)
    ),
    "rcv1-200k": Source(
        "RCV1-200k", variable="APNC_RCV1", generate=partial(generated_documents, 193_844, 47_236, 103)
    ),
    "moons-05": shape("half-moons", shapes.MOONS, 0.05),
    "moons-10": shape("half-moons", shapes.MOONS, 0.1),
    "moons-10-5k": shape("half-moons", shapes.MOONS, 0.1, 5000),
    "rings-05": shape("rings", shapes.RINGS, 0.05),
    "rings-10": shape("rings", shapes.RINGS, 0.1),
    "spirals": shape("spirals", shapes.SPIRALS, 0.01),
    "bananas-1m": shape("two bananas", shapes.MOONS, 0.06, 1_000_000),
    "face-2m": shape("smiling face", shapes.FACE, 0.02, 2_000_000),
    "circles-1250k": shape("concentric circles", shapes.CIRCLES, 0.03, 1_250_000),
    "circles-2500k": shape("concentric circles", shapes.CIRCLES, 0.03, 2_500_000),
    "circles-5m": shape("concentric circles", shapes.CIRCLES, 0.03, 5_000_000),
    "gaussians-10m": shape("circles and Gaussians", shapes.CIRCLES_AND_GAUSSIANS, 0.04, 10_000_000),
    "flower-5m": shape("flower", shapes.FLOWER, 0.01, 5_000_000),
    "flower-10m": shape("flower", shapes.FLOWER, 0.01, 10_000_000),
    "flower-20m": shape("flower", shapes.FLOWER, 0.01, 20_000_000),
}
