"""The embedding as a transformer."""

from typing import Any, Self

from apnc.estimators.base import KernelEstimator
from apnc.outputs import EMBEDDING_AS_ROWS
from apnc.progress import Progress


class KernelEmbedding(KernelEstimator):
    """Map instances to vectors whose distances are those of a kernel: an APNC embedding y = R K_L(x).

    Use it in a pipeline in front of any estimator for vectors; ``KernelKMeans`` contains it.

    Parameters
    ----------
    kernel : str, Kernel or callable, default="rbf"
        One of "linear", "rbf", "polynomial", "sigmoid", "laplacian", "cosine", "chi2", "spectrum",
        "edit_similarity", "jaccard", "weisfeiler_lehman", "shortest_path", "time_warp", "record" and
        "precomputed".
        A kernel on objects from ``apnc.kernels``, such as Spectrum(2, 3), or its description as text, "spectrum(2, 3)".
        A function f(A, B) takes two lists of objects (or two arrays, if X is one) and returns the
        (len(A), len(B)) matrix.
    gamma : float, "auto", "mean", "narrow", "local" or None, default=None
        For rbf, laplacian and chi2, a length scale from the data: "mean", the mean distance; "local", the distance to
        the 7th neighbour; "narrow", the geometric mean of the two. None: "mean", and 1 / n_features for polynomial and
        sigmoid. "auto" is None, since there are no clusters to choose by.
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
        l. "auto": the square root of the number of distinct instances, between 300 and 2000.
    n_components : int or "auto", default="auto"
        m. "auto": 500. The L2 embeddings cap it at the kept rank.
    random_state : int, RandomState or None, default=None
        Random seed; the same integer gives the same result.
    n_jobs : int or None, default=None
        Threads; None and -1 mean all cores.
    memory_limit : str, int or None, default=None
        Memory that the process may use, such as "2GB"; None: the free memory.

    Attributes
    ----------
    landmarks_ : the l landmarks (``landmark_indices_`` for precomputed kernels).
    n_landmarks_, n_components_ : l and m as used.
    gamma_ : gamma as used, None if the kernel has none.
    residual_ : mean of ``1 - |y|^2 / k(x, x)`` over a sample; 0 is a perfect embedding.

    """

    def __init__(
        self,
        *,
        kernel: Any = "rbf",
        gamma: Any = None,
        coef0: float = 1,
        degree: float = 3,
        kernel_params: dict[str, Any] | None = None,
        normalize_kernel: bool | str = "auto",
        scale: str | None = None,
        embedding: Any = "nystroem",
        n_landmarks: int | str = "auto",
        n_components: int | str = "auto",
        random_state: Any = None,
        n_jobs: int | None = None,
        memory_limit: str | int | None = None,
    ):
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
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.memory_limit = memory_limit

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        progress: Progress | None = None,
        checkpoint: Any = None,
    ) -> Self:
        """Choose landmarks and compute the coefficients.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of objects with a kernel function, or a path or anything else that
            ``apnc.open`` takes.
        y : ignored, present by convention.
        sample_weight : array of shape (n,), default=None
            Weights of the rows, which affect the bandwidth. Rows of weight 0 are ignored.
        progress : Progress, default=None
            Receives progress reports; without it nothing is reported.
        checkpoint : path, default=None
            A folder that keeps what is done; the same fit, started again, resumes from there. Removed at the end.

        """
        return self._fit(X, sample_weight, progress=progress, checkpoint=checkpoint)

    def transform(self, X: Any, to: Any = None) -> Any:
        """Embed X: array of shape (n, ``n_components_``), float32 for float32 input, else float64.

        With ``to``, written to that .npy, .parquet, .arrow or .csv file. A Spark DataFrame gets a column ``embedding``
        of float32 arrays.
        """
        return self._apply(X, EMBEDDING_AS_ROWS, to)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
