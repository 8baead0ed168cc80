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


def facts() -> dict[str, str]:
    """What problems with Spark depend on: the Java that it would run."""
    from apnc.engines.spark.launching import java_command, java_version

    java = java_command()
    found = None if java is None else java_version(java)
    return {"java": "none" if found is None else f"{found} in {java}"}


def open_data(data: Any, **options: Any) -> Any:
    """A DataFrame as a source."""
    from apnc.engines.spark.source import open_frame

    return open_frame(data, **options)
