"""``pyspark.ml`` models: fitted local estimators as transformers."""

import copy
from contextlib import suppress
from dataclasses import replace
from typing import Any, Self

from pyspark.ml.base import Model
from pyspark.ml.linalg import Vector
from pyspark.ml.util import MLReadable, MLWritable
from scipy import sparse
from sklearn.utils.validation import check_is_fitted

from apnc.engines.spark.source import quoted
from apnc.outputs import LABEL
from apnc.spark.params import FaceParams
from apnc.spark.schema import open_features
from apnc.spark.storage import ModelReader, ModelWriter


class FaceModel(FaceParams, Model, MLReadable, MLWritable):
    """A fitted local estimator as a transformer: appends ``predictionCol``, the number of the cluster.

    There is no ``clusterCenters()``: the centroids are in the embedding space, not in that of the features.
    ``toLocal().cluster_centers_`` has them.
    """

    def __init__(self, local: Any):
        super().__init__()
        self._fitted = local
        self._summary: ClusterSummary | None = None

    @classmethod
    def fromLocal(cls, local: Any) -> Self:
        """A model from a fitted local estimator; set its columns with ``setFeaturesCol`` and ``setPredictionCol``.

        Parameters without a Spark equivalent (start labels, a ``RandomState``) keep their defaults.
        """
        if type(local) is not cls.kind:
            raise TypeError(f"fromLocal takes an apnc.{cls.kind.__name__}, got {type(local).__name__}.")
        check_is_fitted(local)
        model = cls(copy.copy(local))
        if local.kernel == "precomputed":
            raise ValueError("A model of a precomputed kernel cannot label rows of a DataFrame.")
        for name, row in cls.rows.items():
            with suppress(TypeError, ValueError):
                model._given(**{name: getattr(local, row.name)})
        return model

    def toLocal(self) -> Any:
        """The fitted local estimator, which predicts without Spark; its ``save`` writes an ``.apnc`` file."""
        return copy.copy(self._fitted)

    @property
    def numFeatures(self) -> int:
        """Length of the vectors; 0 for objects."""
        return self._fitted.n_features_in_

    def _transform(self, dataset: Any) -> Any:
        fitted, column = self._fitted, self.getPredictionCol()
        source = open_features(dataset, self.getFeaturesCol(), column, fitted.kernel)
        return fitted._apply(source, replace(LABEL, name=column))

    def predict(self, value: Any) -> int:
        """The cluster of one vector (or one object, for a kernel function), without a Spark job."""
        if isinstance(value, Vector):
            value = value.toArray()
        rows: Any = [value]
        if sparse.issparse(getattr(self._fitted, "landmarks_", None)):
            rows = sparse.csr_matrix(value)
        return int(self._fitted.predict(rows)[0])

    @property
    def hasSummary(self) -> bool:
        """Whether this model was fitted here, rather than loaded."""
        return self._summary is not None

    @property
    def summary(self) -> "ClusterSummary":
        """The training summary."""
        if self._summary is None:
            raise RuntimeError(
                f"No training summary available for this {type(self).__name__}: it was not fitted here."
            )
        return self._summary

    def write(self) -> ModelWriter:
        """A writer of the params and the model; of a kernel function only the name is saved."""
        return ModelWriter(self)

    @classmethod
    def read(cls) -> ModelReader:
        """A reader of both; use ``read().kernel(function)`` for a model with a kernel function."""
        return ModelReader(cls)


class ClusterSummary:
    """The training summary, like those of MLlib."""

    def __init__(self, model: FaceModel, dataset: Any):
        self._model, self._dataset = model, dataset

    @property
    def k(self) -> int:
        """The number of clusters."""
        return len(self._model.toLocal().cluster_centers_)

    @property
    def featuresCol(self) -> str:
        """The column of features."""
        return self._model.getFeaturesCol()

    @property
    def predictionCol(self) -> str:
        """The column of cluster numbers in ``predictions``."""
        return self._model.getPredictionCol()

    @property
    def numIter(self) -> int:
        """Iterations of the run on all rows."""
        return self._model.toLocal().n_iter_

    @property
    def trainingCost(self) -> float:
        """Weighted sum of squared distances to the nearest centroid, in the kernel's space."""
        return float(self._model.toLocal().inertia_)

    @property
    def clusterSizes(self) -> list[Any]:
        """Number of rows in each cluster, or their total weight if ``weightCol`` is set."""
        whole = self._model._weight_column() is None
        return [int(size) if whole else float(size) for size in self._model.toLocal().cluster_sizes_]

    @property
    def predictions(self) -> Any:
        """The training data with its clusters, computed on demand."""
        return self._model.transform(self._dataset)

    @property
    def cluster(self) -> Any:
        """The column of clusters alone."""
        return self.predictions.select(quoted(self.predictionCol))
