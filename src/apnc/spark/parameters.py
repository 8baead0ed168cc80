"""Params of the estimator and its model: Spark's names for the parameters of ``apnc.KernelKMeans``."""

from functools import partial
from typing import Any

from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import (
    HasFeaturesCol,
    HasMaxIter,
    HasPredictionCol,
    HasSeed,
    HasTol,
    HasWeightCol,
)

from apnc import KernelKMeans, validation

#: Params and the parameters of ``apnc.KernelKMeans`` that they are.
LOCAL_NAMES = {
    "k": "n_clusters",
    "kernel": "kernel",
    "gamma": "gamma",
    "coef0": "coef0",
    "degree": "degree",
    "normalizeKernel": "normalize_kernel",
    "scale": "scale",
    "embedding": "embedding",
    "landmarks": "n_landmarks",
    "components": "n_components",
    "initMode": "init",
    "nInit": "n_init",
    "maxIter": "max_iter",
    "tol": "tol",
    "seed": "random_state",
}


def to_kernel(value: Any) -> Any:
    """A known name, or a function."""
    if validation.check_kernel_name(value) == "precomputed":
        raise ValueError(
            "kernel='precomputed' takes a matrix in memory: use apnc.KernelKMeans, without Spark."
        )
    return value


def to_gamma(value: Any) -> Any:
    """A number, "local" or None; which of them suits the kernel is known when it is fitted."""
    return value if value is None or isinstance(value, str) else TypeConverters.toFloat(value)


def to_embedding(value: Any) -> Any:
    """A known name, or an ``Embedding``."""
    validation.check_embedding_choice(value)
    return value


def to_scale(value: Any) -> str | None:
    """A known name or None."""
    return None if value is None else TypeConverters.toString(value)


def to_init_mode(value: Any) -> str:
    """A known name."""
    return validation.known_name("initMode", TypeConverters.toString(value), validation.INITS)


def _param(name: str, doc: str, convert: Any) -> Any:
    return Param(Params._dummy(), name, doc, typeConverter=convert)


def _size(name: str, doc: str) -> Any:
    return _param(name, doc, partial(validation.size_or_auto, name))


class KernelKMeansParams(HasFeaturesCol, HasPredictionCol, HasWeightCol, HasSeed, HasMaxIter, HasTol):
    """What both have; defaults are those of ``apnc.KernelKMeans``, and a seed of 0."""

    k = _param("k", "number of clusters", partial(validation.positive_integer, "k"))
    kernel = _param("kernel", "name of a kernel, or a function f(A, B) that returns a matrix", to_kernel)
    gamma = _param("gamma", 'number, "local", or None: tuned from the data where the kernel allows', to_gamma)
    coef0 = _param("coef0", "of the polynomial and sigmoid kernels", TypeConverters.toFloat)
    degree = _param("degree", "of the polynomial kernel", TypeConverters.toFloat)
    normalizeKernel = _param(
        "normalizeKernel", "use k(x, y) / sqrt(k(x, x) k(y, y))", TypeConverters.toBoolean
    )
    scale = _param(
        "scale", 'what is done to the features first: "minmax", "standard", "unit" or None', to_scale
    )
    embedding = _param("embedding", '"nystroem", "stable", "ensemble", or an apnc.Embedding', to_embedding)
    landmarks = _size("landmarks", 'number of landmarks, or "auto"')
    components = _size("components", 'length of the embedding, or "auto"')
    initMode = _param("initMode", '"k-means++", "random" or "random-partition"', to_init_mode)
    nInit = _size("nInit", 'starts tried on a sample, or "auto"')

    def __init__(self) -> None:
        super().__init__()
        defaults = KernelKMeans().get_params(deep=False)
        own = {name: defaults[local] for name, local in LOCAL_NAMES.items()}
        self._setDefault(**{**own, "seed": 0})

    def getK(self) -> int:
        """The number of clusters."""
        return self.getOrDefault(self.k)

    def getKernel(self) -> Any:
        """Name of the kernel, or the function."""
        return self.getOrDefault(self.kernel)

    def getGamma(self) -> Any:
        """Gamma as it was asked for; ``model.toLocal().gamma_`` is the one in use."""
        return self.getOrDefault(self.gamma)

    def getCoef0(self) -> float:
        """Of the polynomial and sigmoid kernels."""
        return self.getOrDefault(self.coef0)

    def getDegree(self) -> float:
        """Of the polynomial kernel."""
        return self.getOrDefault(self.degree)

    def getNormalizeKernel(self) -> bool:
        """Whether the kernel is normalised."""
        return self.getOrDefault(self.normalizeKernel)

    def getScale(self) -> str | None:
        """How features are scaled first."""
        return self.getOrDefault(self.scale)

    def getEmbedding(self) -> Any:
        """Name of the embedding, or the object."""
        return self.getOrDefault(self.embedding)

    def getLandmarks(self) -> int | str:
        """Landmarks as asked for; ``model.toLocal().n_landmarks_`` is their number."""
        return self.getOrDefault(self.landmarks)

    def getComponents(self) -> int | str:
        """Components as asked for; ``model.toLocal().n_components_`` is their number."""
        return self.getOrDefault(self.components)

    def getInitMode(self) -> str:
        """How the clustering starts."""
        return self.getOrDefault(self.initMode)

    def getNInit(self) -> int | str:
        """Starts tried on a sample."""
        return self.getOrDefault(self.nInit)

    def _given(self, **values: Any) -> Any:
        """Set what has a value; None sets back to the default."""
        for name, value in values.items():
            if value is None:
                self.clear(self.getParam(name))
            else:
                self._set(**{name: value})
        return self

    def _weight_column(self) -> str | None:
        return (self.getWeightCol() or None) if self.isDefined(self.weightCol) else None

    def _local(self) -> KernelKMeans:
        """An unfitted ``apnc.KernelKMeans`` with these parameters."""
        values = {local: self.getOrDefault(name) for name, local in LOCAL_NAMES.items()}
        # Spark's seeds are 64 bits with a sign.
        values["random_state"] %= 1 << 32
        return KernelKMeans(**values)
