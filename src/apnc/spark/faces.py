"""``pyspark.ml`` estimators, generated for every registered estimator that predicts."""

import inspect
from functools import cache
from typing import Any, ClassVar, Self

from pyspark.ml.base import Estimator
from pyspark.ml.util import MLReadable, MLWritable

from apnc.spark.model import ClusterSummary, FaceModel
from apnc.spark.params import COLUMNS, FaceParams, members_of, params_of, setter, titled
from apnc.spark.schema import open_features
from apnc.spark.storage import EstimatorReader, EstimatorWriter


class FaceEstimator(FaceParams, Estimator, MLReadable, MLWritable):
    """A ``pyspark.ml`` estimator that wraps a local one."""

    model_kind: ClassVar[Any]

    def __init__(self, *args: Any, **params: Any):
        if args:
            raise TypeError("Method __init__ forces keyword arguments.")
        super().__init__()
        self.setParams(**params)

    def setParams(self, **params: Any) -> Self:
        """Set params, named as in the constructor; None resets one to its default."""
        strangers = [name for name in params if not self.hasParam(name)]
        if strangers:
            known = ", ".join((*COLUMNS, *self.rows))
            raise TypeError(
                f"{type(self).__name__} got an unexpected keyword argument {strangers[0]!r}; it takes {known}."
            )
        return self._given(**params)

    def _fit(self, dataset: Any) -> Any:
        columns = self.getFeaturesCol(), self.getPredictionCol(), self._chosen("kernel")
        source = open_features(dataset, *columns, self._weight_column())
        model = self._copyValues(self.model_kind(self._local().fit(source))._resetUid(self.uid))
        model._summary = ClusterSummary(model.copy(), dataset)
        return model

    def write(self) -> EstimatorWriter:
        """A writer of the params; of a kernel function only the name is saved."""
        return EstimatorWriter(self)

    @classmethod
    def read(cls) -> EstimatorReader:
        """A reader of the params; use ``read().kernel(function)`` for an estimator with a kernel function."""
        return EstimatorReader(cls)


@cache
def faces_of(kind: type) -> tuple[Any, Any]:
    """The ``pyspark.ml`` estimator and model classes for a local estimator."""
    members, name = members_of(kind), kind.__name__
    columns = {
        f"set{titled(column)}": setter(column, f"the column {column}.")
        for column in ("featuresCol", "predictionCol")
    }
    model = type(f"{name}Model", (FaceModel,), {**members, **columns, "__doc__": FaceModel.__doc__})
    rows = params_of(kind)
    accessors = {f"set{titled(param)}": setter(param, row.meaning) for param, row in rows.items()}
    weight = {"setWeightCol": setter("weightCol", "the column of weights.")}
    own = {"__doc__": documented(kind), "__signature__": signature(kind), "model_kind": model}
    estimator = type(name, (FaceEstimator,), {**members, **columns, **weight, **accessors, **own})
    return estimator, model


def signature(kind: type) -> inspect.Signature:
    """The constructor's signature: columns, then params, all by keyword."""
    defaults = {**COLUMNS, **{name: row.default_on("spark") for name, row in params_of(kind).items()}}
    only = inspect.Parameter.KEYWORD_ONLY
    return inspect.Signature(
        [inspect.Parameter(name, only, default=default) for name, default in defaults.items()]
    )


def documented(kind: type) -> str:
    """The docstring that ``help`` shows."""
    lines = "\n".join(
        f"    {name} : default={row.default_on('spark')!r}\n        {row.meaning}"
        for name, row in params_of(kind).items()
    )
    return f"""``apnc.{kind.__name__}`` on Spark, with the conventions of ``pyspark.ml``.

    For vectors and ``array<double>`` the labels are those of the local estimator with ``random_state=seed``, regardless
    of how the rows are partitioned.

    Parameters
    ----------
    featuresCol : default="features"
        A column of vectors, ``array<float>`` or ``array<double>``; for a kernel function also one of other objects.
    predictionCol : default="prediction"
        The column of cluster numbers that the model appends.
    weightCol : default=None
        A numeric column; a row of weight 2 counts as two equal rows.
{lines}

    """
