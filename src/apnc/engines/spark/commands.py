"""``--engine spark``: Spark reads DATA and writes the results."""

import importlib
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from apnc import sources
from apnc.engines.spark.launching import session as start
from apnc.engines.spark.source import quoted
from apnc.sources import Source

#: Formats that Spark reads, and their readers.
READERS: dict[str, tuple[str, dict[str, str]]] = {
    "parquet": ("parquet", {}),
    "csv": ("csv", {"header": "true", "inferSchema": "true"}),
    "tsv": ("csv", {"header": "true", "inferSchema": "true", "sep": "\t"}),
    "jsonl": ("json", {}),
}
#: Output formats, by the folder's extension.
WRITERS = {".parquet": {"format": "parquet"}, ".csv": {"format": "csv", "header": "true"}}


@contextmanager
def session(given: Mapping[str, Any]) -> Iterator[Any]:
    """A session with little log output that ends with the command."""
    quiet = {"spark.ui.showConsoleProgress": "false", "spark.log.level": "ERROR"}
    found = start(given["master"], **({} if "PYSPARK_GATEWAY_PORT" in os.environ else quiet))
    try:
        yield found
    finally:
        found.stop()


def opened(spark: Any, data: str, request: Mapping[str, Any], format: str) -> Source:
    """A DataFrame as a source, according to the options."""
    if format not in READERS:
        raise ValueError(
            f"{data}: Spark reads {', '.join(READERS)}, not {format}. Convert it to Parquet or omit --engine spark."
        )
    name, options = READERS[format]
    asked = {key: value for key, value in request.items() if value}
    separator = asked.pop("separator", None)
    if separator is not None:
        options = options | {"sep": separator}
    if format == "jsonl" and "object_field" not in asked:
        raise ValueError("With --engine spark, JSON lines need --object-field: the field that is the object.")
    frame = spark.read.format(name).options(**options).load(data)
    source = sources.open(frame, **asked)
    source.paths = (data,)
    return source


def check_target(target: str) -> None:
    """Require a folder name that Spark can write to and that does not exist yet."""
    if Path(target).suffix not in WRITERS:
        raise ValueError(f"{target}: Spark writes folders named {' or '.join(f'*{end}' for end in WRITERS)}.")
    if "://" not in target and Path(target).exists():
        raise ValueError(
            f"{target} already exists; Spark writes a new folder. Remove it or choose another name."
        )


def write(frame: Any, source: Any, target: str) -> None:
    """Write the id columns and the columns that the source lacks; without id columns, all columns."""
    columns = [name for name in frame.columns if name not in source.frame.columns]
    kept = (*source.id_columns, *columns) if source.id_columns else tuple(frame.columns)
    lists = [name for name in columns if frame.schema[name].dataType.typeName() == "array"]
    if lists and Path(target).suffix == ".csv":
        raise ValueError(f"{target}: the column {lists[0]!r} holds lists, which CSV cannot; write *.parquet.")
    frame.select(*map(quoted, kept)).write.save(target, **WRITERS[Path(target).suffix])


def count(spark: Any, target: str) -> int:
    """Number of rows written."""
    format = WRITERS[Path(target).suffix]
    found: int = spark.read.load(target, **format).count()
    return found


def carry_along(function: str) -> None:
    """Ship the module of a kernel function with it, so that workers need not have it installed."""
    from pyspark import cloudpickle

    cloudpickle.register_pickle_by_value(importlib.import_module(function.partition(":")[0]))
