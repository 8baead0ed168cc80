"""Kernel k-means as an estimator of ``pyspark.ml``."""

from typing import Any, Self

from pyspark import keyword_only
from pyspark.ml.base import Estimator
from pyspark.ml.util import MLReadable, MLWritable

from apnc.spark.model import KernelKMeansModel, KernelKMeansSummary
from apnc.spark.parameters import KernelKMeansParams
from apnc.spark.schema import open_features
from apnc.spark.storage import EstimatorReader, EstimatorWriter


class KernelKMeans(KernelKMeansParams, Estimator, MLReadable, MLWritable):
    """Kernel k-means by APNC embeddings on Spark: ``apnc.KernelKMeans`` with the manners of ``pyspark.ml``.

    Params that are not columns are those of ``apnc.KernelKMeans`` in Spark's spelling, with the same defaults;
    ``explainParams()`` lists them. For vectors and ``array<double>`` the labels are those of ``apnc.KernelKMeans`` with
    ``random_state=seed``, however the rows are partitioned.

    Parameters
    ----------
    k : int, default=8
    featuresCol : str, default="features"
        A column of vectors, ``array<float>`` or ``array<double>``; for a kernel function also one of other objects.
    predictionCol : str, default="prediction"
        The column of cluster numbers that the model appends.
    weightCol : str, default=None
        A numeric column; a row of weight 2 counts as two equal rows.
    seed : int, default=0

    """

    _input_kwargs: dict[str, Any]

    @keyword_only
    def __init__(
        self,
        *,
        k: int = 8,
        featuresCol: str = "features",
        predictionCol: str = "prediction",
        weightCol: str | None = None,
        kernel: Any = "rbf",
        gamma: Any = None,
        coef0: float = 1,
        degree: float = 3,
        normalizeKernel: bool = False,
        scale: str | None = None,
        embedding: Any = "nystroem",
        landmarks: int | str = "auto",
        components: int | str = "auto",
        initMode: str = "k-means++",
        nInit: int | str = "auto",
        maxIter: int = 300,
        tol: float = 1e-4,
        seed: int | None = 0,
    ):
        super().__init__()
        self._given(**self._input_kwargs)

    def setParams(self, **params: Any) -> Self:
        """Set params, named as in the constructor; None sets one back to its default."""
        return self._given(**params)

    def _fit(self, dataset: Any) -> KernelKMeansModel:
        columns = self.getFeaturesCol(), self.getPredictionCol(), self.getKernel()
        source = open_features(dataset, *columns, self._weight_column())
        model = self._copyValues(KernelKMeansModel(self._local().fit(source))._resetUid(self.uid))
        model._summary = KernelKMeansSummary(model.copy(), dataset)
        return model

    def write(self) -> EstimatorWriter:
        """What saves the params; a kernel function is not saved, only its name."""
        return EstimatorWriter(self)

    @classmethod
    def read(cls) -> EstimatorReader:
        """What loads them; ``read().kernel(function)`` for an estimator with a kernel function."""
        return EstimatorReader(cls)

    def setK(self, value: int) -> Self:
        """Set the number of clusters."""
        return self._given(k=value)

    def setFeaturesCol(self, value: str) -> Self:
        """Set the column of features."""
        return self._given(featuresCol=value)

    def setPredictionCol(self, value: str) -> Self:
        """Set the column that the model appends."""
        return self._given(predictionCol=value)

    def setWeightCol(self, value: str | None) -> Self:
        """Set the column of weights."""
        return self._given(weightCol=value)

    def setKernel(self, value: Any) -> Self:
        """Set the kernel, a name or a function."""
        return self._given(kernel=value)

    def setGamma(self, value: Any) -> Self:
        """Set gamma: a number, "local" or None."""
        return self._given(gamma=value)

    def setCoef0(self, value: float) -> Self:
        """Set coef0 of the polynomial and sigmoid kernels."""
        return self._given(coef0=value)

    def setDegree(self, value: float) -> Self:
        """Set the degree of the polynomial kernel."""
        return self._given(degree=value)

    def setNormalizeKernel(self, value: bool) -> Self:
        """Set whether the kernel is normalised."""
        return self._given(normalizeKernel=value)

    def setScale(self, value: str | None) -> Self:
        """Set how features are scaled first."""
        return self._given(scale=value)

    def setEmbedding(self, value: Any) -> Self:
        """Set the embedding."""
        return self._given(embedding=value)

    def setLandmarks(self, value: int | str) -> Self:
        """Set the number of landmarks."""
        return self._given(landmarks=value)

    def setComponents(self, value: int | str) -> Self:
        """Set the length of the embedding."""
        return self._given(components=value)

    def setInitMode(self, value: str) -> Self:
        """Set how the clustering starts."""
        return self._given(initMode=value)

    def setNInit(self, value: int | str) -> Self:
        """Set how many starts are tried on a sample."""
        return self._given(nInit=value)

    def setMaxIter(self, value: int) -> Self:
        """Set the most iterations."""
        return self._given(maxIter=value)

    def setTol(self, value: float) -> Self:
        """Set when the clustering has converged."""
        return self._given(tol=value)

    def setSeed(self, value: int | None) -> Self:
        """Set the seed of all that is random."""
        return self._given(seed=value)
