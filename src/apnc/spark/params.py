"""Params of an estimator and its model, generated from the parameter table with Spark's spelling."""

from functools import partial
from typing import Any, ClassVar

import numpy as np
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasFeaturesCol, HasPredictionCol, HasWeightCol

from apnc.checks import rows_of
from apnc.parameters import Parameter

#: Params that are columns, and their defaults.
COLUMNS = {"featuresCol": "features", "predictionCol": "prediction", "weightCol": None}


def params_of(kind: type) -> dict[str, Parameter]:
    """Table rows of the parameters that an estimator has on Spark, by their Spark names."""
    return {row.spark: row for row in rows_of(kind).values() if row.spark is not None}


class FaceParams(HasFeaturesCol, HasPredictionCol, HasWeightCol):
    """Params shared by an estimator and its model; defaults are those of the local estimator, with a seed of 0.

    Attributes
    ----------
    kind : the local estimator's class.
    rows : its parameters by their Spark names.

    """

    kind: ClassVar[Any]
    rows: ClassVar[dict[str, Parameter]]

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(**{name: row.default_on("spark") for name, row in self.rows.items()})

    def _given(self, **values: Any) -> Any:
        """Set params; None resets one to its default."""
        for name, value in values.items():
            if value is None:
                self.clear(self.getParam(name))
            else:
                self._set(**{name: value})
        return self

    def _weight_column(self) -> str | None:
        return (self.getWeightCol() or None) if self.isDefined(self.weightCol) else None

    def _chosen(self, name: str) -> Any:
        """A parameter by its local name: the Param's value, or the class attribute if there is no Param.

        None if the class computes it from its other parameters.
        """
        row = next((row for row in self.rows.values() if row.name == name), None)
        if row is not None:
            return self.getOrDefault(row.spark)
        fixed = getattr(self.kind, name, None)
        return None if isinstance(fixed, property) else fixed

    def _local(self) -> Any:
        """An unfitted local estimator with these parameters."""
        values = {row.name: self.getOrDefault(name) for name, row in self.rows.items()}
        if "random_state" in values:
            # Spark's seeds are signed 64-bit integers, scikit-learn's unsigned 32-bit ones.
            values["random_state"] %= 1 << 32
        return self.kind(**values)


def members_of(kind: type) -> dict[str, Any]:
    """The Params of ``kind`` and their getters, as members of a class."""
    rows = params_of(kind)
    members: dict[str, Any] = {"kind": kind, "rows": rows, "__module__": "apnc.spark"}
    for name, row in rows.items():
        doc = row.meaning.rstrip(".")
        members[name] = Param(Params._dummy(), name, doc, typeConverter=partial(converted, row))
        members[f"get{titled(name)}"] = getter(name, row.meaning)
    return members


def titled(name: str) -> str:
    """``maxIter`` as in ``getMaxIter``."""
    return name[0].upper() + name[1:]


def getter(name: str, meaning: str) -> Any:
    """A method that returns a Param's value."""

    def get(self: Any) -> Any:
        return self.getOrDefault(name)

    get.__name__, get.__doc__ = f"get{titled(name)}", meaning
    return get


def setter(name: str, meaning: str) -> Any:
    """A method that sets a Param; None resets it to its default."""

    def set_(self: Any, value: Any) -> Any:
        return self._given(**{name: value})

    set_.__name__, set_.__doc__ = f"set{titled(name)}", f"Set: {meaning}"
    return set_


def converted(row: Parameter, value: Any) -> Any:
    """The checked value, in a form that Spark can save if there is one."""
    if row.name == "random_state":
        return TypeConverters.toInt(value)
    if row.name == "init":
        value = TypeConverters.toString(value)
    checked = row.check(value, row.spark)
    if row.name == "kernel" and checked == "precomputed":
        raise ValueError(
            "kernel='precomputed' takes a matrix in memory: use the local estimator, without Spark."
        )
    if row.types == (int, float) or (float in row.types and isinstance(checked, int)):
        return float(checked)
    return checked.item() if isinstance(checked, np.generic) else checked
