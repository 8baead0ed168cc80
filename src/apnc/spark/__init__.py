"""Estimators as stages of ``pyspark.ml``, and sessions whose workers can run them. See docs/how-to/spark.md.

Every registered estimator that predicts is here under its own name, and its model under that name with ``Model``.
"""

from typing import Any

try:
    import pyspark  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        'apnc.spark needs pyspark: pip install "apnc[spark]"', name="pyspark"
    ) from error

from apnc.engines.spark.launching import JavaMissingError, session
from apnc.estimators import ESTIMATORS
from apnc.spark.faces import faces_of
from apnc.spark.model import ClusterSummary
from apnc.spark.storage import given_kernel

__all__ = ["ClusterSummary", "JavaMissingError", "given_kernel", "session"]


def __getattr__(name: str) -> Any:
    for kind in ESTIMATORS.values():
        if hasattr(kind, "predict") and name in (kind.__name__, f"{kind.__name__}Model"):
            return faces_of(kind)[name != kind.__name__]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    kinds = [kind.__name__ for kind in ESTIMATORS.values() if hasattr(kind, "predict")]
    return sorted([*__all__, *kinds, *(f"{kind}Model" for kind in kinds)])
