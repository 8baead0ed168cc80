"""Kernel k-means as a stage of ``pyspark.ml``, and sessions whose workers can run it. See docs/spark.md."""

try:
    import pyspark  # noqa: F401
except ModuleNotFoundError as error:
    raise ModuleNotFoundError(
        'apnc.spark needs pyspark: pip install "apnc[spark]"', name="pyspark"
    ) from error

from apnc.spark.estimator import KernelKMeans
from apnc.spark.model import KernelKMeansModel, KernelKMeansSummary
from apnc.spark.starting import JavaMissingError, session
from apnc.spark.storage import given_kernel

__all__ = [
    "JavaMissingError",
    "KernelKMeans",
    "KernelKMeansModel",
    "KernelKMeansSummary",
    "given_kernel",
    "session",
]
