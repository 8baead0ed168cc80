"""RFF and SV-RFF: random Fourier features, and their singular vectors (Chitta, Jin and Jain 2012)."""

from abc import abstractmethod
from dataclasses import dataclass
from operator import add
from typing import Any, Self

import numpy as np
from scipy import linalg
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.utils.validation import check_is_fitted

from apnc import checks
from apnc.baselines.kernel_space import Problem
from apnc.baselines.posing import posed, warn_of
from apnc.baselines.vector_kmeans import VectorRun, best_of, starts_of
from apnc.clustering.lloyd import assign_all
from apnc.discrepancy import Euclidean
from apnc.engines.contract import Chunk, Chunks
from apnc.engines.local import Layout, n_threads
from apnc.kernels import KernelChoice
from apnc.rows import compute_dtype, n_rows, numbers_held
from apnc.settings import derive
from apnc.sources import InMemory
from apnc.typing import Array

#: Shift-invariant kernels, whose Fourier transform is a distribution that can be sampled.
SHIFT_INVARIANT = ("rbf", "laplacian")
#: Singular values below this share of the largest are rounding errors of float32 features.
RANK = 1e-5


@dataclass(frozen=True)
class FourierFeatures:
    """Map: rows x to (cos(x.w), sin(x.w)) / sqrt(D) for D frequencies w, float32.

    Attributes
    ----------
    frequencies : array of shape (d, D).
    projection : array of shape (2 D, k) that the features are multiplied by; None: none.

    """

    frequencies: Array
    projection: Array | None = None

    def __call__(self, chunk: Chunk) -> Chunk:
        return chunk.with_rows(self.vectors(chunk.rows))

    def vectors(self, rows: Any) -> Array:
        """The vectors to cluster."""
        features = self.features(rows)
        return features if self.projection is None else features @ self.projection

    def features(self, rows: Any) -> Array:
        """All features, shape (n, 2 D)."""
        phases = np.asarray(rows @ self.frequencies)
        features = np.concatenate([np.cos(phases), np.sin(phases)], axis=1)
        return (features / np.sqrt(phases.shape[1])).astype(np.float32)


def draw_frequencies(kernel: str, gamma: float, d: int, size: int, rng: np.random.Generator) -> Array:
    """Frequencies whose features have the kernel as their mean inner product, shape (d, size)."""
    if kernel == "rbf":
        return np.sqrt(2 * gamma) * rng.standard_normal((d, size))
    return gamma * rng.standard_cauchy((d, size))


@dataclass(frozen=True)
class Gram:
    """Reduce: Z^T diag(w) Z of a chunk's features, float64."""

    fourier: FourierFeatures

    def __call__(self, chunk: Chunk) -> Array:
        Z: Array = self.fourier.features(chunk.rows).astype(np.float64)
        return (Z.T * chunk.weights) @ Z


def singular_projection(rows: Chunks, fourier: FourierFeatures, k: int) -> Array:
    """V Sigma^-1 of the k largest singular values, so that Z V Sigma^-1 = U, shape (2 D, <= k)."""
    gram: Array = rows.reduce(Gram(fourier), add)
    values, vectors = linalg.eigh(gram, subset_by_index=(max(0, len(gram) - k), len(gram) - 1))
    kept = values > RANK**2 * values[-1]
    return (vectors[:, kept] / np.sqrt(values[kept])).astype(np.float32)


class _FourierClusterer(ClusterMixin, BaseEstimator):
    """Base class of RFF and SV-RFF, which differ only in the vectors that are clustered."""

    _fourier: FourierFeatures

    @abstractmethod
    def _embedding(self, fourier: FourierFeatures, rows: Chunks, k: int) -> FourierFeatures:
        """The map from rows to the vectors to cluster."""

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: str = "rbf",
        gamma: Any = None,
        n_frequencies: int = 500,
        init: Any = "random",
        n_init: int = 1,
        max_iter: int = 300,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.n_frequencies = n_frequencies
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster X.

        Parameters
        ----------
        X : array, sparse matrix or data frame.
        y : ignored, present by convention.
        sample_weight : array of shape (n,), default=None
            A row of weight 2 counts as two equal rows; rows of weight 0 are ignored by the fit, but are labelled.

        """
        choice = self._choice()
        rows = checks.read_rows(self, X, reset=True)
        weights = checks.check_weights(sample_weight, n_rows(rows))
        problem = posed(self, rows, weights, choice)
        drawn, chunks = self._draw(problem), self._chunks(rows, weights)
        self._fourier = self._embedding(drawn, chunks, problem.settings.n_clusters)
        with chunks.map(self._fourier).cached() as Y:
            starts = starts_of(problem, Y, lambda numbers: self._fourier.vectors(problem.rows[numbers]))
            best = best_of(Y, starts, problem.settings.max_iter)
        warn_of(best.converged, best.labels, problem.settings)
        self._store(problem, best)
        return self

    def predict(self, X: Any) -> Array:
        """Number of the nearest centroid of each row, int32."""
        check_is_fitted(self)
        chunks = self._chunks(checks.read_rows(self, X, reset=False), None)
        return assign_all(chunks.map(self._fourier), self.cluster_centers_, Euclidean()).labels

    def _choice(self) -> KernelChoice:
        if not isinstance(self.kernel, str) or self.kernel not in SHIFT_INVARIANT:
            shown = repr(self.kernel) if isinstance(self.kernel, str) else "a function"
            raise ValueError(
                f"kernel={shown} has no random Fourier features: they need a shift-invariant kernel, "
                f"{' or '.join(map(repr, SHIFT_INVARIANT))}. KernelKMeans takes any kernel."
            )
        checks.check_gamma(self.kernel, self.gamma)
        return KernelChoice(self.kernel, self.gamma)

    def _draw(self, problem: Problem) -> FourierFeatures:
        size = checks.positive_integer("n_frequencies", self.n_frequencies)
        rng = np.random.default_rng(derive(problem.settings.seed, "frequencies"))
        gamma = problem.kernel.gamma
        assert gamma is not None
        frequencies = draw_frequencies(self.kernel, gamma, problem.data.n_columns, size, rng)
        return FourierFeatures(frequencies.astype(compute_dtype(problem.rows)))

    def _chunks(self, rows: Any, weights: Array | None) -> Chunks:
        work_bytes = 8 * (numbers_held(rows) + 6 * self.n_frequencies)
        return InMemory(rows, weights).data(Layout(work_bytes, n_threads(None))).chunks

    def _store(self, problem: Problem, best: VectorRun) -> None:
        self.gamma_ = problem.kernel.gamma
        self.frequencies_ = self._fourier.frequencies
        self.cluster_centers_, self.labels_ = best.centroids, best.labels
        self.inertia_, self.n_iter_ = best.inertia, best.n_iter

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class FourierKMeans(_FourierClusterer):
    """RFF: k-means on random Fourier features, whose inner products approximate the kernel.

    Parameters
    ----------
    n_clusters : int, default=8
    kernel : {"rbf", "laplacian"}, default="rbf"
        Only shift-invariant kernels have such features.
    gamma : float, "mean", "narrow", "local" or None, default=None
        As in ``KernelKMeans``; the same ``random_state`` tunes the same gamma. "auto" is None.
    n_frequencies : int, default=500
        D. Each gives a cosine and a sine, so rows become vectors of length 2 D.
    init : {"random", "random-partition"} or array of n start labels, default="random"
        "random" starts from k rows, the same as in the other methods with this ``random_state``.
    n_init : int, default=1
        Number of starts; the one with the lowest inertia is kept.
    max_iter : int, default=300
        Maximum number of assignments and updates; a last assignment follows.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : array of shape (n,), int32.
    cluster_centers_ : array of shape (k, 2 D), among the features.
    inertia_ : weighted sum of squared distances to the nearest centroid.
    n_iter_ : iterations of the best start.
    gamma_ : gamma as used.
    frequencies_ : array of shape (n_features, D).

    """

    def _embedding(self, fourier: FourierFeatures, rows: Chunks, k: int) -> FourierFeatures:
        return fourier


class SingularFourierKMeans(_FourierClusterer):
    """SV-RFF: k-means on the k leading left singular vectors of the random Fourier features.

    The vectors come from the 2 D x 2 D Gram matrix of the features, computed in one pass.

    Parameters
    ----------
    n_clusters, kernel, gamma, n_frequencies, init, n_init, max_iter, random_state
        As in ``FourierKMeans``.

    Attributes
    ----------
    labels_ : array of shape (n,), int32.
    cluster_centers_ : array of shape (k, k), among the singular vectors.
    inertia_ : weighted sum of squared distances to the nearest centroid.
    n_iter_ : iterations of the best start.
    gamma_ : gamma as used.
    frequencies_ : array of shape (n_features, D).

    """

    def _embedding(self, fourier: FourierFeatures, rows: Chunks, k: int) -> FourierFeatures:
        return FourierFeatures(fourier.frequencies, singular_projection(rows, fourier, k))
