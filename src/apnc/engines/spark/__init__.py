"""The Spark engine: DataFrames as sources, chunks on the executors, and sessions for the command line."""

from typing import Any

#: Name of its data in messages.
KIND = "a Spark DataFrame"
#: Command-line options: metavar and help text.
OPTIONS = {
    "master": (
        "URL",
        "spark://host:7077, yarn, k8s://..., sc://... (Connect) or local[4]. By default that of spark-submit, else "
        "all cores of this machine. Spark reads DATA itself and writes folders.",
    )
}
#: Options of ``sources.open`` that apply to a DataFrame.
TAKES = ("columns", "exclude", "id_columns", "weight_column", "object_field")


def open_data(data: Any, **options: Any) -> Any:
    """A DataFrame as a source."""
    from apnc.engines.spark.source import open_frame

    return open_frame(data, **options)
