"""Kernel k-means as a clusterer."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import ClusterMixin, clone
from sklearn.utils.validation import check_is_fitted

from apnc import pipeline, writing
from apnc.estimators.asking import cluster_settings, embedding_settings
from apnc.estimators.base import KernelEstimator
from apnc.estimators.outputs import checked_labels, labels_writer
from apnc.model import ClusterModel
from apnc.progress import CallbackSupport, callback_progress, with_callbacks
from apnc.sources import is_spark

if TYPE_CHECKING:
    from apnc.forecast import Forecast

Array = npt.NDArray[Any]


class KernelKMeans(CallbackSupport, ClusterMixin, KernelEstimator):
    """Kernel k-means by APNC embeddings.

    The data is embedded once (y = R K_L(x)), then clustered by k-means in that space; the n x n kernel
    matrix never exists. For float64 rows the result depends on the instances, their weights and
    ``random_state`` alone: not on the order of rows, nor on threads.

    Parameters
    ----------
    n_clusters : int, default=8
        k, the number of clusters.
    kernel : {"linear", "rbf", "polynomial", "sigmoid", "laplacian", "cosine", "chi2",
            "precomputed"} or callable, default="rbf"
        A function f(A, B) takes two lists of objects (or two arrays, if X is one) and returns the
        (len(A), len(B)) matrix. sigmoid is the paper's neural kernel tanh(gamma x.y + coef0).
    gamma : float, "local" or None, default=None
        None tunes it from the data for rbf, laplacian and chi2 (mean distance), and is 1 / n_features for
        polynomial and sigmoid. "local" takes the distance to the 7th neighbour as the scale.
    coef0 : float, default=1
        Of polynomial and sigmoid.
    degree : float, default=3
        Of polynomial.
    kernel_params : dict, default=None
        Keyword arguments of a kernel function.
    normalize_kernel : bool, default=False
        Use k(x, y) / sqrt(k(x, x) k(y, y)); rows of the L2 embeddings are scaled to norm 1.
    scale : {"minmax", "standard", "unit"} or None, default=None
        What is done to the features first, learned from all rows that count and kept with the model: to [0, 1], to mean
        0 and variance 1, or rows of norm 1. Only "unit" is for sparse rows. ``landmarks_`` are scaled.
    embedding : {"nystroem", "stable", "ensemble"} or Embedding, default="nystroem"
    n_landmarks : int or "auto", default="auto"
        l. "auto": the root of the number of distinct instances, between 300 and 2000, at least 4 k.
    n_components : int or "auto", default="auto"
        m. "auto": 500, at least k. The Nystroem embeddings cap it at the kept rank.
    init : {"k-means++", "random", "random-partition"}, k instances, or n start labels, default="k-means++"
    n_init : int or "auto", default="auto"
        Starts tried on a sample, the best of which is run on all rows. "auto": 10 for k-means++ and
        random, else 1.
    max_iter : int, default=300
    tol : float, default=1e-4
        Converged when the summed squared shift of the centroids is at most tol times the mean variance of Y.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Threads; None and -1 mean all cores.
    memory_limit : str, int or None, default=None
        Memory that the process may take, such as "2GB". What does not fit of the embedding goes to a temporary file.
        None: what is free.
    verbose : int, default=0
        1 shows progress on standard error: stages, rows a second, iterations, time left.

    Attributes
    ----------
    labels_ : array of shape (n,), int32.
    cluster_centers_ : array of shape (k, n_components_), in embedding space.
    inertia_ : weighted sum of squared distances to the nearest centroid, on the kernel's scale.
    n_iter_ : iterations of the full run.
    cluster_sizes_ : array of shape (k,), the weight of each cluster.
    gamma_ : gamma as used, None where the kernel has none.
    landmarks_ : the l landmarks (``landmark_indices_`` for precomputed kernels).
    n_landmarks_, n_components_ : l and m as used.
    residual_ : mean of 1 - |y|^2 / k(x, x) over a sample; 0 is a perfect embedding, above 0.3 the fit
        advises more landmarks. Indefinite kernels may give a negative one.

    Examples
    --------
    >>> from sklearn.datasets import make_circles
    >>> from apnc import KernelKMeans
    >>> X, y = make_circles(1000, factor=0.15, noise=0.05, random_state=0)
    >>> km = KernelKMeans(2, gamma=2.0, random_state=0).fit(X)
    >>> bool((km.predict(X) == km.labels_).all())
    True

    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        kernel: Any = "rbf",
        gamma: Any = None,
        coef0: float = 1,
        degree: float = 3,
        kernel_params: dict[str, Any] | None = None,
        normalize_kernel: bool = False,
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

    @with_callbacks
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, labels_to: Any = None) -> Self:
        """Cluster X.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of objects with a kernel function, or a path or anything else that
            ``apnc.sources.open`` takes.
        y : ignored, present by convention.
        sample_weight : array of shape (n,), default=None
            A row of weight 2 counts as two equal rows; rows of weight 0 do not exist for the fit, but are
            labelled.
        labels_to : path, default=None
            A .parquet, .arrow or .csv file that gets the labels (id columns or ``row``, then ``label``) instead of
            ``labels_``.

        """
        if is_spark(X):
            self._refuse_writing(labels_to)
        target = None if labels_to is None else checked_labels(labels_to, X)
        job = self._job(X, sample_weight, reset=True)
        if target is not None:
            writing.check_names(getattr(job.given, "id_columns", ()), ["label"])
        self.__dict__.pop("_model", None)
        job = job.told(
            callback_progress(job.progress, self, passed(X, sample_weight), self.max_iter, self._at)
        )
        with job.reading(), job.progress:
            settings = cluster_settings(self, job)
            drawn = self._fit_embedding(job, settings.n_clusters, settings.seed)
            data = job.for_clustering(self._embedding_model, settings.n_clusters, drawn)
            write = None if target is None else labels_writer(target, job.given)
            fit = pipeline.fit_clusters(data, self._embedding_model, drawn, settings, write, job.progress)
            self._store_fit(fit, target)
        return self

    _model: ClusterModel

    def __sklearn_is_fitted__(self) -> bool:
        return "_model" in self.__dict__

    def _store_fit(self, fit: pipeline.ClusterFit, target: Path | None) -> None:
        self._model = fit.model
        self.cluster_centers_ = fit.model.centroids
        self.inertia_ = fit.inertia
        self.n_iter_ = fit.n_iter
        self.cluster_sizes_ = fit.sizes
        self._n_rows = fit.n_rows
        self.__dict__.pop("labels_", None)
        self._labels_file = target
        self.__dict__.pop("_on_spark", None)
        if fit.labels is not None:
            self.labels_ = fit.labels
        elif target is None:
            self._on_spark = True

    def __getattr__(self, name: str) -> Any:
        file = self.__dict__.get("_labels_file")
        if name == "labels_" and file is not None:
            raise AttributeError(f"labels_ is not kept in memory: the labels are in {file}.")
        if name == "labels_" and "_loaded" in self.__dict__:
            raise AttributeError("labels_ is not part of a model file; predict(X) gives the labels of X.")
        if name == "labels_" and "_on_spark" in self.__dict__:
            raise AttributeError(
                "labels_ is not there after a fit on Spark; predict(df) adds a column label."
            )
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _at(self, centroids: Array) -> dict[str, Any]:
        """Attributes of the estimator as it would be if the fit ended with these centroids."""
        fitted = {name: value for name, value in vars(self).items() if name.endswith("_")}
        model = ClusterModel(self._embedding_model, centroids)
        mine = {"_embedding_model": self._embedding_model, "_model": model, "cluster_centers_": centroids}
        return {**fitted, **mine}

    def plan(self, X: Any) -> "Forecast":
        """What ``fit(X)`` will take (passes, operations, memory, disk, seconds), from a short rehearsal on some rows.

        A memory limit that cannot be kept is refused, as by ``fit``.
        """
        from apnc import forecast

        if "n_features_in_" in self.__dict__:
            return clone(self).plan(X)
        if self.kernel == "precomputed":
            raise ValueError(
                "A fit on a given kernel matrix has nothing to plan: the matrix is in memory already."
            )
        if is_spark(X):
            raise ValueError("plan is for fits on this machine, not on Spark.")
        job = self._job(X, reset=True)
        with job.reading():
            clusters = cluster_settings(self, job)
            return forecast.forecast(job, embedding_settings(self, job, clusters.n_clusters, 0), clusters)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Cluster X and return ``labels_``; a DataFrame of Spark with a column ``label``."""
        self.fit(X, sample_weight=sample_weight)
        return self.predict(X) if is_spark(X) else self.labels_

    def predict(self, X: Any, to: Any = None) -> Any:
        """Cluster number of each row, int32; with ``to``, written to that .parquet, .arrow or .csv file.

        A DataFrame of Spark gets a column ``label``.
        """
        if is_spark(X):
            self._refuse_writing(to)
            return self._appended(X, "label", "int", self._fitted().label_steps)
        target = None if to is None else checked_labels(to, X)
        with self._new_data(X, stage=None if target is None else "labels") as data:
            if target is None:
                return self._model.labels(data.chunks, data.dtype)
            self._model.label_into(labels_writer(target, data.source), data.chunks, data.dtype)
            return target

    def transform(self, X: Any) -> Any:
        """Distances to the centroids on the kernel's scale, shape (n, k), float64.

        A DataFrame of Spark gets a column ``distances``.
        """
        if is_spark(X):
            return self._appended(X, "distances", "array<double>", self._fitted().distance_steps)
        with self._new_data(X) as data:
            return self._model.distances(data.chunks, data.n_rows, data.dtype)

    def embed(self, X: Any, to: Any = None) -> Any:
        """Y, shape (n, n_components_), float32; with ``to``, written to that .npy, .parquet, .arrow or .csv file.

        A DataFrame of Spark gets a column ``embedding``.
        """
        if is_spark(X):
            self._refuse_writing(to)
            return self._embedded_frame(X)
        if to is not None:
            return self._write_embedding(X, to, np.float32)
        with self._new_data(X) as data:
            return self._embedding_model.embed_array(data.chunks, data.n_rows, data.dtype)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the inertia of X. Not for choosing gamma: a smaller gamma always scores higher."""
        with self._new_data(X, sample_weight) as data:
            return -self._model.inertia(data.chunks, data.dtype)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)

    def _fitted(self) -> ClusterModel:
        check_is_fitted(self)
        return self._model

    def _refuse_writing(self, target: Any) -> None:
        if target is not None:
            raise ValueError(
                "On Spark the result is a DataFrame; write it with .write.parquet(...) instead of naming a file here."
            )


def passed(X: Any, sample_weight: Any) -> dict[str, Any]:
    """What scikit-learn's callbacks are told of a fit."""
    metadata = None if sample_weight is None else {"sample_weight": sample_weight}
    return {"X": X, "y": None, "metadata": metadata}
