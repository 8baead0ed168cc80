"""Base class of estimators that find clusters."""

from typing import Any, Self

from sklearn.base import ClusterMixin
from sklearn.utils.validation import check_is_fitted

from apnc import outputs
from apnc.estimators.base import KernelEstimator
from apnc.outputs import DISTANCES, EMBEDDING, LABEL
from apnc.progress import CallbackSupport, Progress


class KernelClusterer(CallbackSupport, ClusterMixin, KernelEstimator):
    """An estimator that finds clusters: ``fit``, and the outputs of the fitted model."""

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        to: Any = None,
        progress: Progress | None = None,
    ) -> Self:
        """Cluster X.

        Parameters
        ----------
        X : array, sparse matrix, data frame, list of objects with a kernel function, or a path or anything else that
            ``apnc.open`` takes.
        y : ignored, present by convention.
        sample_weight : array of shape (n,), default=None
            A row of weight 2 counts as two equal rows; rows of weight 0 are ignored by the fit, but are labelled.
        to : path, default=None
            A .parquet, .arrow or .csv file to write the labels to (id columns or ``row``, then ``label``), instead of
            ``labels_``.
        progress : Progress, default=None
            Receives progress reports, instead of the display that ``verbose`` selects.

        """
        return self._fit(X, sample_weight, to, progress)

    def __getattr__(self, name: str) -> Any:
        if name == "labels_" and "_no_labels" in self.__dict__:
            raise AttributeError(self._no_labels)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def fit_predict(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """Cluster X and return ``labels_``; for a Spark DataFrame, return it with a column ``label``."""
        found = getattr(self.fit(X, sample_weight=sample_weight), "labels_", None)
        return self.predict(X) if found is None else found

    def predict(self, X: Any, to: Any = None) -> Any:
        """Cluster number of each row, int32; with ``to``, written to that .parquet, .arrow or .csv file.

        A Spark DataFrame gets a column ``label``.
        """
        return self._apply(X, LABEL, to)

    def transform(self, X: Any, to: Any = None) -> Any:
        """Distances to the centroids in the kernel's space, shape (n, k), float64.

        With ``to``, written to that .npy, .parquet, .arrow or .csv file. A Spark DataFrame gets a column ``distances``.
        """
        return self._apply(X, DISTANCES, to)

    def embed(self, X: Any, to: Any = None) -> Any:
        """Y, shape (n, n_components_), float32; with ``to``, written to that .npy, .parquet, .arrow or .csv file.

        A Spark DataFrame gets a column ``embedding``.
        """
        return self._apply(X, EMBEDDING, to)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Minus the inertia of X. Not for choosing gamma: a smaller gamma always scores higher."""
        check_is_fitted(self)
        job = self._job(X, sample_weight)
        with job.running():
            return -outputs.inertia(job, self._model)

    @property
    def _n_features_out(self) -> int:
        return len(self.cluster_centers_)
