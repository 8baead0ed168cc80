"""PSC: spectral clustering of a sparse graph of nearest neighbours (Chen, Song, Bai, Lin and Chang 2010)."""

import warnings
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.neighbors import NearestNeighbors

from apnc import checks
from apnc.baselines.posing import warn_of
from apnc.baselines.spectral import SpectralClusterer, spectral_vectors
from apnc.baselines.vector_kmeans import cluster_array
from apnc.engines.local import n_threads
from apnc.kernels import KernelChoice
from apnc.rows import n_rows
from apnc.settings import derive
from apnc.typing import Array


class SparseSpectralClustering(SpectralClusterer):
    """PSC: k-means on eigenvectors of the normalised Laplacian of a sparse t-nearest-neighbour similarity.

    The similarity of neighbours i and j is exp(-d^2 / (2 sigma_i sigma_j)), where sigma_i is the mean distance
    of i to its neighbours; rows are neighbours if either is among the t nearest of the other. Rows that were
    not part of the fit cannot be labelled.

    Parameters
    ----------
    n_clusters : int, default=8
    n_neighbors : int, default=100
        t; fewer if there are not as many other rows.
    init : {"random", "random-partition"} or array of n start labels, default="random"
        Start of k-means on the eigenvectors. "random" starts from k rows, the same as in the other methods with this
        ``random_state``; the authors start from rows that are orthogonal to each other.
    n_init : int, default=1
        Number of starts; the one with the lowest inertia is kept.
    max_iter : int, default=300
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : array of shape (n,), int32.
    affinity_matrix_ : CSR matrix of shape (n, n), the similarities.
    inertia_ : sum of squared distances to the nearest centroid, among the eigenvectors.
    n_iter_ : iterations of the best start.

    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_neighbors: int = 100,
        init: Any = "random",
        n_init: int = 1,
        max_iter: int = 300,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.n_neighbors = n_neighbors
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster X, an array, sparse matrix or data frame; y is ignored."""
        problem = self._problem(X, KernelChoice("linear"))
        t = checks.positive_integer("n_neighbors", self.n_neighbors)
        k, seed = problem.settings.n_clusters, problem.settings.seed
        self.affinity_matrix_ = neighbour_similarity(problem.rows, t)
        vectors = spectral_vectors(self.affinity_matrix_, k, derive(seed, "eigenvectors"))
        best = cluster_array(problem, vectors.astype(np.float32))
        warn_of(best.converged, best.labels, problem.settings)
        self.labels_, self.inertia_, self.n_iter_ = best.labels, best.inertia, best.n_iter
        return self


def neighbour_similarity(rows: Any, t: int) -> Any:
    """The self-tuned similarities of t nearest neighbours, as a symmetric CSR matrix."""
    n = n_rows(rows)
    if n == 1:
        return sparse.csr_array(np.ones((1, 1)))
    distances, neighbours = nearest(rows, min(t, n - 1))
    widths = distances.mean(axis=1)
    products = 2 * widths[:, None] * widths[neighbours]
    apart = np.where(distances > 0, np.inf, 0.0)
    values = np.exp(-np.divide(distances**2, products, out=apart, where=products > 0))
    starts = np.arange(0, neighbours.size + 1, neighbours.shape[1])
    directed = sparse.csr_array((values.ravel(), neighbours.ravel(), starts), shape=(n, n))
    return directed.maximum(directed.T).tocsr()


def nearest(rows: Any, t: int) -> tuple[Array, Array]:
    """Distances to the t nearest other rows and their numbers, shape (n, t) each."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search = NearestNeighbors(n_neighbors=t, n_jobs=n_threads(None)).fit(rows)
        return search.kneighbors()
