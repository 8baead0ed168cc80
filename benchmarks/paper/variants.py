"""What the ablation compares: other roots, no floor, other landmarks, blocks. Not part of the package."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from scipy import linalg

from apnc import EnsembleEmbedding, NystroemEmbedding, StableEmbedding
from apnc.discrepancy import Manhattan
from apnc.embeddings import Block, Coefficients, Embedding, nystroem, stable
from apnc.embeddings.spectrum import Spectrum, decompose, landmark_kernel
from apnc.embeddings.stable import center_kernel, random_subsets, stable_beta
from apnc.kernels import Kernel
from apnc.sampling import take
from benchmarks.paper.methods import Found, Method, Task, apnc

#: Rows among which landmarks are chosen, if not uniformly.
POOL = 2000
Choice = Callable[[Any, Kernel, int, np.random.Generator], np.ndarray]


class PrintedRoot(StableEmbedding):
    """Algorithm 4 with E = Lambda^(-1/2) V^T as it is printed; rows of dropped eigenvalues are zero."""

    def coefficients(
        self, landmarks: Any, kernel: Kernel, n_components: int, rng: np.random.Generator
    ) -> Coefficients:
        K = landmark_kernel(landmarks, kernel)
        n, root = len(K), decompose(center_kernel(K), landmarks).inverse_root
        E = np.vstack([root, np.zeros((n - len(root), n))])
        t = self.resolve_subset_size(n)
        block = Block(landmarks, random_subsets(n_components, n, t, rng) @ E)
        return Coefficients((block,), Manhattan(), stable_beta(n_components, n, t))


def decompose_all(K: np.ndarray, landmarks: Any) -> Spectrum:
    """All positive eigenvalues that are more than rounding in float64."""
    values, vectors = linalg.eigh(K)
    values, vectors = values[::-1], vectors[:, ::-1]
    kept = values > len(K) * np.finfo(float).eps * np.abs(values).max()
    return Spectrum(values[kept], vectors[:, kept], int((~kept).sum()), 0.0)


@contextmanager
def without_floor() -> Iterator[None]:
    kept = nystroem.decompose, stable.decompose
    nystroem.decompose = stable.decompose = decompose_all
    try:
        yield
    finally:
        nystroem.decompose, stable.decompose = kept


def no_floor(embedding: str) -> Method:
    def run(task: Task) -> Found:
        with without_floor():
            return apnc(embedding)(task)

    return run


class ChosenLandmarks(Embedding):
    """The Nystroem embedding on ``size`` landmarks chosen among those that it is given."""

    def __init__(self, choose: Choice, size: int):
        self.choose = choose
        self.size = size

    def coefficients(
        self, landmarks: Any, kernel: Kernel, n_components: int, rng: np.random.Generator
    ) -> Coefficients:
        chosen = take(landmarks, np.sort(self.choose(landmarks, kernel, self.size, rng)))
        return NystroemEmbedding().coefficients(chosen, kernel, n_components, rng)


def drawn(weights: np.ndarray, chosen: list[int], rng: np.random.Generator) -> int:
    """A row not chosen yet, by its weight; by chance if none is left with a weight."""
    left = np.maximum(weights, 0)
    left[chosen] = 0
    if not left.any():
        left = np.ones(len(weights))
        left[chosen] = 0
    return int(rng.choice(len(left), p=left / left.sum()))


def by_k_means_plus_plus(pool: Any, kernel: Kernel, size: int, rng: np.random.Generator) -> np.ndarray:
    """Each by its squared distance, in the kernel's space, to those before."""
    diagonal = kernel.diagonal(pool)
    away = np.full(len(diagonal), np.inf)
    chosen = [int(rng.integers(len(diagonal)))]
    while len(chosen) < size:
        row = chosen[-1]
        column = kernel(pool, take(pool, np.array([row])))[:, 0]
        away = np.minimum(away, diagonal + diagonal[row] - 2 * column)
        chosen.append(drawn(away, chosen, rng))
    return np.array(chosen)


def by_leverage(pool: Any, kernel: Kernel, size: int, rng: np.random.Generator) -> np.ndarray:
    """By ridge leverage scores, the ridge being the mean of what ``size`` eigenvalues leave over."""
    values, vectors = linalg.eigh(landmark_kernel(pool, kernel))
    values = np.maximum(values, 0)
    ridge = max(values[: len(values) - size].sum() / size, 1e-12 * values[-1])
    scores = (vectors**2) @ (values / (values + ridge))
    return rng.choice(len(scores), size=size, replace=False, p=scores / scores.sum())


def by_pivoted_cholesky(pool: Any, kernel: Kernel, size: int, rng: np.random.Generator) -> np.ndarray:
    """Randomly pivoted Cholesky: each by what those before do not span of it.

    A pivot that is not positive, as an indefinite kernel may have, spans nothing.
    """
    left = np.array(kernel.diagonal(pool))
    least = 1e-10 * left.max()
    factor = np.zeros((len(left), size))
    chosen: list[int] = []
    for step in range(size):
        row = drawn(left, chosen, rng)
        column = kernel(pool, take(pool, np.array([row])))[:, 0] - factor @ factor[row]
        if column[row] > least:
            factor[:, step] = column / np.sqrt(column[row])
            left = left - factor[:, step] ** 2
        chosen.append(row)
    return np.array(chosen)


def landmarks(choose: Choice) -> Method:
    """The same number of landmarks, chosen among a uniform sample of ``POOL`` rows."""

    def run(task: Task) -> Found:
        assert task.l is not None
        pool = min(POOL, task.X.shape[0])
        return apnc(ChosenLandmarks(choose, task.l), n_landmarks=pool)(task)

    return run


NYSTROEM, STABLE = "Nystroem", "stable"
ABLATION: dict[str, Method] = {
    NYSTROEM: apnc("nystroem"),
    "Nystroem, no floor": no_floor("nystroem"),
    STABLE: apnc("stable"),
    "stable, printed root": apnc(PrintedRoot()),
    "stable, no floor": no_floor("stable"),
    "k-means++ landmarks": landmarks(by_k_means_plus_plus),
    "leverage landmarks": landmarks(by_leverage),
    "pivoted Cholesky landmarks": landmarks(by_pivoted_cholesky),
    "ensemble, 2 blocks": apnc(EnsembleEmbedding(2)),
    "ensemble, 4 blocks": apnc(EnsembleEmbedding(4)),
    "ensemble, 8 blocks": apnc(EnsembleEmbedding(8)),
}
