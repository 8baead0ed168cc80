"""The Spark engine: DataFrames as sources, chunks on the executors, and what the command line needs of a session."""

from typing import Any

#: What its data is called in messages.
KIND = "a Spark DataFrame"
#: Options of the command line: what a value is called, and what it means.
OPTIONS = {
    "master": (
        "URL",
        "spark://host:7077, yarn, k8s://..., sc://... (Connect) or local[4]. By default what spark-submit says, else "
        "all cores of this machine. Spark reads DATA itself and writes folders.",
    )
}
#: What ``sources.open`` may be asked of a DataFrame.
TAKES = ("columns", "exclude", "id_columns", "weight_column", "object_field")


def open_data(data: Any, **options: Any) -> Any:
    """A DataFrame as a source."""
    from apnc.engines.spark.source import open_frame

    return open_frame(data, **options)
