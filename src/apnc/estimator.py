"""The public estimators: they validate and store; ``pipeline`` computes."""

from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    ClusterMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils.validation import check_is_fitted

from apnc import pipeline, sources, validation, writing
from apnc.clustering.lloyd import Write
from apnc.engines.local import n_threads
from apnc.job import Job
from apnc.kernels import PrecomputedKernel, gamma_of
from apnc.model import ClusterModel, EmbeddingModel
from apnc.progress import CallbackSupport, callback_progress, make_progress, with_callbacks
from apnc.sampling import Sample, concatenate
from apnc.sources import Source, is_source
from apnc.sources.chunks import row_numbers
from apnc.sources.rows import n_rows

if TYPE_CHECKING:
    from apnc.forecast import Forecast

Array = npt.NDArray[Any]

#: Rows of id columns read at a time.
ID_ROWS = 65_536


class _KernelEstimator(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """What both estimators share: reading data, and fitting the embedding."""

    _embedding_model: EmbeddingModel

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.positive_only = self.kernel == "chi2"
        return tags

    def _job(self, X: Any, sample_weight: Any = None, reset: bool = False) -> Job:
        """X checked, as rows in memory or a source, with the means to work on it."""
        progress = make_progress(getattr(self, "verbose", 0))
        threads = n_threads(self.n_jobs)
        if is_source(X) and not (self.kernel == "precomputed" and hasattr(X, "shape")):
            if sample_weight is not None:
                raise ValueError(
                    "Weights of a file come from it: apnc.sources.open(..., weight_column='name')."
                )
            source = validation.read_source(self, X, reset)
            return Job.begin(source, None, threads, self.memory_limit, progress)
        rows = self._read(X, reset)
        weights = validation.check_weights(sample_weight, n_rows(rows))
        return Job.begin(rows, weights, threads, self.memory_limit, progress)

    def _read(self, X: Any, reset: bool) -> Any:
        """X as rows for the engine: array, CSR, list of objects, or rows of a given kernel."""
        if self.kernel == "precomputed" and not reset:
            kernel = self._embedding_model.kernel
            assert isinstance(kernel, PrecomputedKernel)
            name = type(self).__name__
            return validation.as_new_given_rows(X, kernel.n_instances, self.n_landmarks_, name)
        return validation.read(self, X, reset)

    @contextmanager
    def _new_data(self, X: Any, sample_weight: Any = None) -> Iterator[pipeline.Data]:
        """New data in chunks that suit the fitted embedding."""
        check_is_fitted(self)
        job = self._job(X, sample_weight)
        with job.reading():
            data = job.for_embedding(self._embedding_model)
            yield data
        job.tell_skipped(data)

    def _write_embedding(self, X: Any, to: Any, out: type) -> Path:
        """Y of X to a file, chunk after chunk."""
        writing.check_target(to, writing.EMBEDDING_KINDS)
        sources.refuse_overwriting(X, to)
        with self._new_data(X) as data:
            chunks = self._embedding_model.embed(data.chunks, data.dtype, out)
            with closing((chunk.rows, chunk.carry) for chunk in chunks) as stream:
                seen = Seen(stream)
                writing.write_embedding(to, seen, ids_of(data.source, seen), self.n_components_)
        return Path(to)

    def _embedding_settings(self, job: Job, n_clusters: int, seed: int) -> pipeline.EmbeddingSettings:
        return pipeline.EmbeddingSettings(
            kernel=validation.check_kernel_choice(self),
            embedding=validation.check_embedding_choice(self.embedding),
            n_landmarks=validation.size_or_auto("n_landmarks", self.n_landmarks),
            n_components=validation.size_or_auto("n_components", self.n_components),
            seed=seed,
            n_clusters=n_clusters,
            scale=validation.check_scale(self.scale, self.kernel, job.given),
        )

    def _fit_embedding(self, job: Job, n_clusters: int, seed: int) -> pipeline.Drawn:
        settings = self._embedding_settings(job, n_clusters, seed)
        allow = partial(job.allow, n_clusters=n_clusters)
        data = job.for_sampling(settings)
        model, drawn = pipeline.fit_embedding(data, settings, allow, job.progress)
        job.tell_skipped(data)
        self._store_embedding(model)
        return drawn

    def _store_embedding(self, model: EmbeddingModel) -> None:
        blocks = model.coefficients.blocks
        self._embedding_model = model
        self.gamma_ = gamma_of(model.kernel)
        self.n_landmarks_ = model.coefficients.n_landmarks
        self.n_components_ = model.coefficients.n_components
        self.residual_ = model.residual
        for stale in ("landmarks_", "landmark_indices_"):
            self.__dict__.pop(stale, None)
        if isinstance(model.kernel, PrecomputedKernel):
            self.landmark_indices_ = np.concatenate([block.landmarks.numbers for block in blocks])
        else:
            self.landmarks_ = concatenate([block.landmarks for block in blocks])

    def save(self, path: Any, configuration: dict[str, Any] | None = None) -> Path:
        """Write the fitted estimator to one file, without code, that ``apnc.load`` reads (docs/model-files.md).

        ``configuration`` (JSON values) is kept in it for people to read.
        """
        from apnc import persistence

        return persistence.save(self, path, configuration)


class KernelEmbedding(_KernelEstimator):
    """Map instances to vectors whose distances are those of a kernel: an APNC embedding y = R K_L(x).

    Use it in a pipeline in front of any estimator for vectors; ``KernelKMeans`` contains it.

    Parameters
    ----------
    kernel : {"linear", "rbf", "polynomial", "sigmoid", "laplacian", "cosine", "chi2",
            "precomputed"} or callable, default="rbf"
        A function f(A, B) takes two lists of objects (or two arrays, if X is one) and returns the
        (len(A), len(B)) matrix.
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
        l. "auto": the root of the number of distinct instances, between 300 and 2000.
    n_components : int or "auto", default="auto"
        m. "auto": 500. The Nystroem embeddings cap it at the kept rank.
    random_state : int, RandomState or None, default=None
    n_jobs : int or None, default=None
        Threads; None and -1 mean all cores.
    memory_limit : str, int or None, default=None
        Memory that the process may take, such as "2GB"; None: what is free.

    Attributes
    ----------
    landmarks_ : the l landmarks (``landmark_indices_`` for precomputed kernels).
    n_landmarks_, n_components_ : l and m as used.
    gamma_ : gamma as used, None where the kernel has none.
    residual_ : mean of 1 - |y|^2 / k(x, x) over a sample; 0 is a perfect embedding.

    """

    def __init__(
        self,
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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Choose landmarks and compute the coefficients.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of objects with a kernel function, or a path or anything else that
            ``apnc.sources.open`` takes.
        y : ignored, present by convention.
        sample_weight : array of shape (n,), default=None
            Weights of the rows; they matter to the bandwidth. Rows of weight 0 do not exist.

        """
        job = self._job(X, sample_weight, reset=True)
        with job.reading(), job.progress:
            self._fit_embedding(job, 0, validation.random_seed(self.random_state))
        return self

    def transform(self, X: Any) -> Array:
        """Embed X: array of shape (n, n_components_), float32 for float32 input, else float64."""
        with self._new_data(X) as data:
            return self._embedding_model.embed_array(data.chunks, data.n_rows, data.dtype, data.dtype)

    @property
    def _n_features_out(self) -> int:
        return self.n_components_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class KernelKMeans(CallbackSupport, ClusterMixin, _KernelEstimator):
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
        target = None if labels_to is None else checked_labels(labels_to, X)
        job = self._job(X, sample_weight, reset=True)
        if target is not None:
            writing.check_names(getattr(job.given, "id_columns", ()), ["label"])
        self.__dict__.pop("_model", None)
        job = job.told(
            callback_progress(job.progress, self, passed(X, sample_weight), self.max_iter, self._at)
        )
        with job.reading(), job.progress:
            settings = self._cluster_settings(job)
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
        self.__dict__.pop("labels_", None)
        self._labels_file = target
        if fit.labels is not None:
            self.labels_ = fit.labels

    def __getattr__(self, name: str) -> Any:
        file = self.__dict__.get("_labels_file")
        if name == "labels_" and file is not None:
            raise AttributeError(f"labels_ is not kept in memory: the labels are in {file}.")
        if name == "labels_" and "_loaded" in self.__dict__:
            raise AttributeError("labels_ is not part of a model file; predict(X) gives the labels of X.")
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
        job = self._job(X, reset=True)
        with job.reading():
            clusters = self._cluster_settings(job)
            return forecast.forecast(job, self._embedding_settings(job, clusters.n_clusters, 0), clusters)

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Array:
        """Cluster X and return ``labels_``."""
        return self.fit(X, sample_weight=sample_weight).labels_

    def predict(self, X: Any, to: Any = None) -> Any:
        """Cluster number of each row, int32; with ``to``, written to that .parquet, .arrow or .csv file."""
        target = None if to is None else checked_labels(to, X)
        with self._new_data(X) as data:
            if target is None:
                return self._model.labels(data.chunks, data.dtype)
            self._model.label_into(labels_writer(target, data.source), data.chunks, data.dtype)
            return target

    def transform(self, X: Any) -> Array:
        """Distances to the centroids on the kernel's scale, shape (n, k), float64."""
        with self._new_data(X) as data:
            return self._model.distances(data.chunks, data.n_rows, data.dtype)

    def embed(self, X: Any, to: Any = None) -> Any:
        """Y, shape (n, n_components_), float32; with ``to``, written to that .npy, .parquet, .arrow or .csv file."""
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

    def _cluster_settings(self, job: Job) -> pipeline.ClusterSettings:
        k = validation.positive_integer("n_clusters", self.n_clusters)
        init = self._start(k, None if job.weights is None else len(job.weights))
        return pipeline.ClusterSettings(
            n_clusters=k,
            init=init,
            n_init=self._n_restarts(init),
            max_iter=validation.positive_integer("max_iter", self.max_iter),
            tol=validation.non_negative("tol", self.tol),
            seed=validation.random_seed(self.random_state),
        )

    def _start(self, k: int, n: int | None) -> Any:
        """``init`` as a name, start labels, or a sample of k instances."""
        if isinstance(self.init, str):
            return validation.known_name("init", self.init, validation.INITS)
        if validation.are_labels(self.init, callable(self.kernel)):
            if n is None:
                raise ValueError("init as start labels goes with rows in memory, not with a file.")
            return validation.check_start_labels(np.asarray(self.init), n, k)
        instances = validation.read(self, self.init, reset=False)
        if n_rows(instances) != k:
            raise ValueError(f"init has {n_rows(instances)} instances, expected n_clusters={k}.")
        return Sample(instances, np.ones(k))

    def _n_restarts(self, init: Any) -> int:
        several = init in ("k-means++", "random") if isinstance(init, str) else False
        n_init = validation.size_or_auto("n_init", self.n_init)
        if n_init == "auto":
            return 10 if several else 1
        if int(n_init) > 1 and not several:
            raise ValueError(
                f"n_init={n_init} has no effect with this init, which is a single start; use n_init=1."
            )
        return int(n_init)


def checked_labels(path: Any, data: Any) -> Path:
    """A path that labels can be written to, apart from the data."""
    writing.check_target(path, writing.LABEL_KINDS)
    sources.refuse_overwriting(data, path)
    return Path(path)


def labels_writer(target: Path, given: Any) -> Write:
    """What takes a stream of (labels, carry) to a file."""

    def write(stream: Iterator[tuple[Array, Any]]) -> None:
        seen = Seen(stream)
        writing.write_labels(target, seen, ids_of(given, seen))

    return write


class Seen:
    """(values, carry) of chunks as (values, row numbers); counts the rows of the source on the way."""

    def __init__(self, stream: Iterable[tuple[Array, Any]]):
        self.stream = stream
        self.n_rows = 0

    def __iter__(self) -> Iterator[tuple[Array, Array]]:
        for values, carry in self.stream:
            self.n_rows = carry.stop
            yield values, row_numbers(carry)


def ids_of(given: Any, seen: Seen) -> writing.Ids | None:
    """The id columns of a source that has any, for as many rows as were seen."""
    if not isinstance(given, Source) or not given.id_columns:
        return None
    return writing.Ids(given.id_columns, given.ids(ID_ROWS), lambda: seen.n_rows)


def passed(X: Any, sample_weight: Any) -> dict[str, Any]:
    """What scikit-learn's callbacks are told of a fit."""
    metadata = None if sample_weight is None else {"sample_weight": sample_weight}
    return {"X": X, "y": None, "metadata": metadata}
