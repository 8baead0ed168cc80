"""Spectral clustering on a neighbour graph."""

import inspect
from typing import Any, Self

from apnc.embeddings import Embedding, NeighbourEmbedding
from apnc.estimators.clusterer import KernelClusterer

#: Parameters of scikit-learn's class, and what to write instead.
ELSEWHERE = {
    "affinity": "the graph is always one of nearest neighbours; a similarity of your own is kernel=f, a matrix of "
    "similarities kernel='precomputed'",
    "n_neighbors": "write n_nearest, the number of landmarks (not rows) that a row is linked to",
    "assign_labels": "clusters are always found by k-means; leave it out",
    "eigen_solver": "the solver is chosen by the size of the graph; leave it out",
}


class SpectralClustering(KernelClusterer):
    """Spectral clustering of a graph between rows and landmarks; it finds connected shapes, and labels new rows.

    Each row is linked to its nearest landmarks, which are means of a sample; k-means runs on the eigenvectors of the
    graph (``NeighbourEmbedding``). It can replace scikit-learn's class with ``affinity="nearest_neighbors"``,
    for any number of rows and with ``predict``. For float64 rows the result depends only on the instances, their
    weights and ``random_state``, not on the order of the rows or the number of threads.

    Parameters
    ----------
    n_clusters : int, default=8
        k, the number of clusters.
    n_nearest : int or "auto", default="auto"
        Landmarks that a row is linked to, at least 2. More make the graph smoother; text needs about 20. "auto": 3; see
        ``n_landmarks``.
    n_landmarks : int or "auto", default="auto"
        l. "auto": 20 times the square root of the number of distinct instances, at most a quarter of them and 10,000.
        While the graph of a sample falls into more than k pieces, and coarsening joins some, l is halved and
        ``n_nearest`` doubled, up to 12, if they are "auto".
    n_components : int or "auto", default="auto"
        m, eigenvectors of the graph. "auto": k + 10.
    kernel : str, Kernel or callable, default="linear"
        One of "linear", "rbf", "polynomial", "sigmoid", "laplacian", "cosine", "chi2", "spectrum",
        "edit_similarity", "jaccard", "weisfeiler_lehman", "shortest_path", "time_warp", "record" and
        "precomputed".
        Neighbours are found by d^2 = k(x, x) + k(y, y) - 2 k(x, y); "linear" is the Euclidean distance. For sparse
        rows, objects and all other kernels, they are found in the kernel's Nystroem embedding.
    gamma : float, "auto", "mean", "narrow", "local" or None, default=None
        As in ``KernelKMeans``; the linear kernel has none. "auto" is None.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    degree : float, default=3
        Exponent of the polynomial kernel.
    kernel_params : dict, default=None
        Keyword arguments of a kernel function.
    normalize_kernel : bool or "auto", default="auto"
        Use k(x, y) / sqrt(k(x, x) k(y, y)). "auto": only for cosine; kernels on objects decide for themselves.
    scale : {"minmax", "standard", "unit"} or None, default=None
        How features are scaled first, as in ``KernelKMeans``.
    n_init : int or "auto", default="auto"
        Number of starts tried on the landmarks, the best of which is run on all rows. "auto": 20.
    max_iter : int, default=300
        Maximum number of iterations.
    tol : float, default=1e-4
        Converged when the total squared shift of the centroids is at most tol times the mean variance of Y.
    random_state : int, RandomState or None, default=None
        Random seed; the same integer gives the same result.
    n_jobs : int or None, default=None
        Threads; None and -1 mean all cores.
    memory_limit : str, int or None, default=None
        Memory that the process may use, such as "2GB"; None: the free memory.
    verbose : int, default=0
        1 shows progress on standard error: stages, rows per second, iterations, time left.

    Attributes
    ----------
    labels_ : array of shape (n,), int32.
    cluster_centers_ : array of shape (k, ``n_components_``), in embedding space.
    inertia_ : weighted sum of squared distances to the nearest centroid, in embedding space.
    n_iter_ : iterations of the full run.
    cluster_sizes_ : array of shape (k,), the weight of each cluster.
    eigenvalues_ : array of shape (``n_components_``,), of the graph, largest first; 1 separates pieces without a link.
    n_connected_components_ : pieces of the graph without a link between them, however small.
    landmarks_ : the l landmarks; for kernels other than linear, the instances of the Nystroem embedding
        (``landmark_indices_`` for precomputed kernels).
    n_landmarks_, n_nearest_, n_components_ : l, links of a row and m as used.
    gamma_ : gamma as used, None if the kernel has none.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from apnc import SpectralClustering
    >>> X, y = make_moons(1000, noise=0.05, random_state=0)
    >>> km = SpectralClustering(2, random_state=0).fit(X)
    >>> bool((km.labels_ == (y if km.labels_[0] == y[0] else 1 - y)).all())
    True
    >>> bool((km.predict(X) == km.labels_).all())
    True

    """

    def __new__(cls, *given: Any, **options: Any) -> Self:
        """Refuse parameters of scikit-learn's class, and say what to write instead."""
        for name, advice in ELSEWHERE.items():
            if name in options:
                raise TypeError(f"SpectralClustering() of apnc has no parameter {name!r}: {advice}.")
        return super().__new__(cls)

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        n_nearest: int | str = "auto",
        n_landmarks: int | str = "auto",
        n_components: int | str = "auto",
        kernel: Any = "linear",
        gamma: Any = None,
        coef0: float = 1,
        degree: float = 3,
        kernel_params: dict[str, Any] | None = None,
        normalize_kernel: bool | str = "auto",
        scale: str | None = None,
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        memory_limit: str | int | None = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.n_nearest = n_nearest
        self.n_landmarks = n_landmarks
        self.n_components = n_components
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.normalize_kernel = normalize_kernel
        self.scale = scale
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose

    __signature__ = inspect.signature(__init__).replace(
        parameters=list(inspect.signature(__init__).parameters.values())[1:]
    )

    @property
    def embedding(self) -> Embedding:
        """The embedding that is clustered."""
        return NeighbourEmbedding(self.n_nearest)
