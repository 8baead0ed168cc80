"""Data of the benchmarks."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from tests.paper.data import data_folder


def blobs(n: int, d: int, k: int) -> np.ndarray:
    """Overlapping Gaussian clusters, float32; the same for the same sizes."""
    centers = np.random.default_rng(0).normal(size=(k, d)).astype(np.float32)
    X = np.empty((n, d), dtype=np.float32)

    def fill(start: int) -> None:
        rng = np.random.default_rng([1, start])
        part = X[start : start + 20_000]
        rng.standard_normal(out=part, dtype=np.float32)
        part += centers[rng.integers(0, k, len(part))]

    with ThreadPoolExecutor() as pool:
        list(pool.map(fill, range(0, n, 20_000)))
    return X


def covtype(n: int) -> tuple[np.ndarray, np.ndarray, bool]:
    """Min-max scaled CovType where it is, else generated rows of its shape (the third value is False)."""
    folder = data_folder()
    if folder is None or not (folder / "covtype.npz").exists():
        return blobs(n, 54, 7), np.zeros(n, dtype=int), False
    with np.load(folder / "covtype.npz") as file:
        X, y = file["X"][:n].astype(np.float32), file["y"][:n]
    low, high = X.min(axis=0), X.max(axis=0)
    X -= low
    X /= np.where(high > low, high - low, 1)
    return X, y, True


def mnist(n: int, d: int) -> tuple[np.ndarray, bool]:
    """MNIST in [0, 1] where it is, else generated rows of its size (the second value is False)."""
    folder = data_folder()
    if folder is None or not (folder / "mnist.npz").exists():
        return blobs(n, d, 10), False
    with np.load(folder / "mnist.npz") as file:
        return np.ascontiguousarray(file["X"][:n, :d], dtype=np.float32) / 255, True


def numpy_kernel_k_means(X: np.ndarray, k: int, gamma: float, iterations: int) -> np.ndarray:
    """Eq. 2 with the whole kernel matrix in memory, as one would write it in numpy."""
    squares = (X**2).sum(axis=1)
    K = np.exp(-gamma * np.maximum(squares[:, None] + squares - 2 * X @ X.T, 0))
    labels = np.random.default_rng(0).integers(0, k, len(X))
    for _ in range(iterations):
        members = np.eye(k, dtype=K.dtype)[labels]
        members /= np.maximum(members.sum(axis=0), 1)
        products = K @ members
        labels = ((members * products).sum(axis=0) - 2 * products).argmin(axis=1)
    return labels
