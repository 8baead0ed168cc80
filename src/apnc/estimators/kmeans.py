"""Kernel k-means as a clusterer."""

from typing import Any

from apnc.estimators.clusterer import KernelClusterer


class KernelKMeans(KernelClusterer):
    """Kernel k-means by APNC embeddings.

    The data is embedded once (y = R K_L(x)), then clustered by k-means in that space; the n x n kernel
    matrix is never formed. For float64 rows the result depends only on the instances, their weights and
    ``random_state``, not on the order of the rows or the number of threads.

    Parameters
    ----------
    n_clusters : int, default=8
        k, the number of clusters.
    kernel : str, Kernel or callable, default="rbf"
        One of "linear", "rbf", "polynomial", "sigmoid", "laplacian", "cosine", "chi2", "spectrum",
        "edit_similarity", "jaccard", "weisfeiler_lehman", "shortest_path", "time_warp", "record" and
        "precomputed".
        A kernel on objects from ``apnc.kernels``, such as Spectrum(2, 3), or its description as text, "spectrum(2, 3)".
        A function f(A, B) takes two lists of objects (or two arrays, if X is one) and returns the
        (len(A), len(B)) matrix. sigmoid is the paper's neural kernel tanh(gamma x.y + coef0).
    gamma : float, "auto", "mean", "narrow", "local" or None, default="auto"
        For rbf, laplacian and chi2, a length scale from the data: "mean", the mean distance; "local", the distance to
        the 7th neighbour; "narrow", the geometric mean of the two. "auto": "mean" or "narrow", whichever kernel
        agrees better with the clusters that it finds in a sample; "mean" with the embedding "neighbours". For
        polynomial and sigmoid "auto" is 1 / n_features. None: "mean", or 1 / n_features.
    coef0 : float, default=1
        Constant of the polynomial and sigmoid kernels.
    degree : float, default=3
        Exponent of the polynomial kernel.
    kernel_params : dict, default=None
        Keyword arguments of a kernel function.
    normalize_kernel : bool or "auto", default="auto"
        Use k(x, y) / sqrt(k(x, x) k(y, y)); rows of the L2 embeddings are scaled to norm 1. "auto": only for cosine;
        kernels on objects decide for themselves.
    scale : {"minmax", "standard", "unit"} or None, default=None
        How features are scaled first: to [0, 1], to mean 0 and variance 1, or to rows of norm 1. The scaling is learned
        from all rows with positive weight and stored with the model. Sparse rows allow only "unit". ``landmarks_`` are
        scaled.
    embedding : {"nystroem", "stable", "ensemble", "neighbours"} or Embedding, default="nystroem"
        How rows are embedded as vectors.
    n_landmarks : int or "auto", default="auto"
        l. "auto": the square root of the number of distinct instances, between 300 and 2000, at least 4 k.
    n_components : int or "auto", default="auto"
        m. "auto": for L2 embeddings as many as explain 99 % of the variance of a sample, at least 100 and 2 k, at most
        500; 1000 for "stable".
    init : {"k-means++", "random", "random-partition"}, k instances, or n start labels, default="k-means++"
        How the first centroids are chosen.
    n_init : int or "auto", default="auto"
        Number of starts tried on a sample, the best of which is run on all rows. "auto": 10 for k-means++ and
        random, else 1.
    max_iter : int, default=300
        Maximum number of iterations.
    tol : float, default=1e-4
        Converged when the total squared shift of the centroids is at most tol times the mean variance of Y.
    random_state : int, RandomState or None, default=None
        Random seed; the same integer gives the same result.
    n_jobs : int or None, default=None
        Threads; None and -1 mean all cores.
    memory_limit : str, int or None, default=None
        Memory that the process may use, such as "2GB"; None: the free memory. The part of the embedding that does not
        fit goes to a temporary file.
    verbose : int, default=0
        1 shows progress on standard error: stages, rows per second, iterations, time left.

    Attributes
    ----------
    labels_ : array of shape (n,), int32.
    cluster_centers_ : array of shape (k, ``n_components_``), in embedding space.
    inertia_ : weighted sum of squared distances to the nearest centroid, in the kernel's space.
    n_iter_ : iterations of the full run.
    cluster_sizes_ : array of shape (k,), the weight of each cluster.
    gamma_ : gamma as used, None if the kernel has none.
    landmarks_ : the l landmarks (``landmark_indices_`` for precomputed kernels).
    n_landmarks_, n_components_ : l and m as used.
    residual_ : mean of ``1 - |y|^2 / k(x, x)`` over a sample; 0 is a perfect embedding. ``certify`` tells whether a
        high one matters for the clusters. It may be negative for indefinite kernels.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from apnc import KernelKMeans
    >>> X, y = make_circles(1000, factor=0.15, noise=0.05, random_state=0)
    >>> km = KernelKMeans(2, random_state=0).fit(X)
    >>> bool((km.labels_ == (y if km.labels_[0] == y[0] else 1 - y)).all())
    True
    >>> bool((km.predict(X) == km.labels_).all())
    True

    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        gamma: Any = "auto",
        coef0: float = 1,
        degree: float = 3,
        kernel_params: dict[str, Any] | None = None,
        normalize_kernel: bool | str = "auto",
        scale: str | None = None,
        embedding: Any = "nystroem",
        n_landmarks: int | str = "auto",
        n_components: int | str = "auto",
        init: Any = "k-means++",
        n_init: int | str = "auto",
        max_iter: int = 300,
        tol: float = 1e-4,
        random_state: Any = None,
        n_jobs: int | None = None,
        memory_limit: str | int | None = None,
        verbose: int = 0,
    ):
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.gamma = gamma
        self.coef0 = coef0
        self.degree = degree
        self.kernel_params = kernel_params
        self.normalize_kernel = normalize_kernel
        self.scale = scale
        self.embedding = embedding
        self.n_landmarks = n_landmarks
        self.n_components = n_components
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit
        self.verbose = verbose
