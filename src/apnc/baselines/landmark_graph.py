"""Spectral clustering of the graph that connects rows with their nearest landmarks: what LSC and U-SPEC share."""

import warnings
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.neighbors import NearestNeighbors

from apnc import checks
from apnc.baselines.kernel_space import Problem
from apnc.baselines.posing import warn_of
from apnc.baselines.spectral import SpectralClusterer
from apnc.baselines.vector_kmeans import cluster_array
from apnc.engines.local import n_threads
from apnc.kernels import KernelChoice
from apnc.rows import compute_dtype
from apnc.typing import Array


class LandmarkGraphClusterer(SpectralClusterer):
    """Base class of LSC and U-SPEC, with their parameters."""

    #: Instances sampled for each landmark.
    _sampled_per_landmark = 1

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_landmarks: int = 1000,
        n_nearest: int = 5,
        init: Any = "random",
        n_init: int = 10,
        max_iter: int = 300,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.n_landmarks = n_landmarks
        self.n_nearest = n_nearest
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def _vectors(self, problem: Problem, rows: Any, n_landmarks: int, t: int) -> tuple[Array, Array]:
        """The landmarks, shape (p, d), and the vectors of all rows, float32, shape (n, at most k)."""
        raise NotImplementedError

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster X, an array, sparse matrix or data frame; y is ignored."""
        n_landmarks = checks.positive_integer("n_landmarks", self.n_landmarks)
        t = checks.positive_integer("n_nearest", self.n_nearest)
        problem = self._problem(X, KernelChoice("linear"), self._sampled_per_landmark * n_landmarks)
        if n_landmarks < problem.settings.n_clusters:
            raise ValueError(
                f"n_landmarks={n_landmarks} must be at least n_clusters={problem.settings.n_clusters}: the graph has "
                "no more eigenvectors than landmarks."
            )
        rows = problem.rows.astype(compute_dtype(problem.rows), copy=False)
        self.landmarks_, Y = self._vectors(problem, rows, n_landmarks, t)
        self.n_landmarks_ = len(self.landmarks_)
        best = cluster_array(problem, Y)
        warn_of(best.converged, best.labels, problem.settings)
        self.labels_, self.inertia_, self.n_iter_ = best.labels, best.inertia, best.n_iter
        return self


def few_iterations(rows: Any, start: Any, max_iter: int, weights: Array | None = None) -> KMeans:
    """k-means from given rows, at most ``max_iter`` iterations."""
    first = start.toarray() if sparse.issparse(start) else start
    km = KMeans(len(first), init=first, n_init=1, max_iter=max_iter, tol=0)
    with warnings.catch_warnings():
        # Repeated rows may leave clusters empty; the callers drop them.
        warnings.simplefilter("ignore", ConvergenceWarning)
        return km.fit(rows, sample_weight=weights)


def landmarks_by_kmeans(rows: Any, start: Any, max_iter: int, weights: Array | None = None) -> Array:
    """Distinct centroids of k-means from given rows, shape (p, d)."""
    return np.unique(few_iterations(rows, start, max_iter, weights).cluster_centers_, axis=0)


def nearest_landmarks(rows: Any, landmarks: Array, t: int) -> tuple[Array, Array]:
    """Distances to the t nearest landmarks and their numbers, shape (n, t) each."""
    # Trees, which are faster for few features, do not take sparse rows.
    method = "brute" if sparse.issparse(rows) else "auto"
    search = NearestNeighbors(n_neighbors=min(t, len(landmarks)), algorithm=method, n_jobs=n_threads(None))
    return search.fit(landmarks).kneighbors(rows)


def cross_affinity(distances: Array, neighbours: Array, p: int) -> Any:
    """B: exp(-d^2 / (2 sigma^2)) with the mean distance as sigma, a CSR matrix of shape (n, p).

    ``distances`` and ``neighbours``, shape (n, t), are those of each row's nearest landmarks.
    """
    sigma = distances.mean()
    values = np.exp(-0.5 * (distances / sigma) ** 2) if sigma > 0 else np.ones_like(distances)
    # As in the authors' code of U-SPEC: no row loses its neighbours because it is far from all landmarks.
    np.maximum(values, np.finfo(values.dtype).eps, out=values)
    n, t = distances.shape
    starts = np.arange(0, n * t + 1, t)
    return sparse.csr_array((values.ravel(), neighbours.ravel(), starts), shape=(n, p))
