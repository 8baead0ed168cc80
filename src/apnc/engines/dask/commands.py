"""``--engine dask``: Dask reads DATA and writes the results."""

import importlib
import logging
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from apnc import sources
from apnc.engines.dask.losses import told_plainly
from apnc.engines.local import n_threads
from apnc.sources import Source
from apnc.sources.files import find_files

#: Formats that Dask reads.
READS = ("parquet", "csv", "tsv", "jsonl")
#: Output formats, by the folder's extension.
WRITES = (".parquet", ".csv")
#: Settings of a local cluster: on loopback, no dashboard.
QUIET: dict[str, Any] = {
    "host": "127.0.0.1",
    "dashboard_address": "127.0.0.1:0",
    "scheduler_kwargs": {"dashboard": False},
}
#: Bytes of JSON lines in a partition.
BLOCK = 1 << 26


@contextmanager
def session(given: Mapping[str, Any]) -> Iterator[Any]:
    """A client of the named scheduler, or of a cluster of processes that ends with the command."""
    from distributed import Client, LocalCluster

    if (address := given["scheduler"]) is not None:
        try:
            client = Client(address)
        except (OSError, ValueError) as error:
            raise ValueError(f"--scheduler {address}: no scheduler answers there ({error}).") from error
        with client:
            yield client
        return
    with (
        LocalCluster(
            n_workers=n_threads(None),
            threads_per_worker=1,
            **QUIET,
            silence_logs=logging.CRITICAL,
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def opened(client: Any, data: str, request: Mapping[str, Any], format: str) -> Source:
    """A dataframe as a source, according to the options."""
    if format not in READS:
        raise ValueError(
            f"{data}: Dask reads {', '.join(READS)}, not {format}. Convert it to Parquet or omit --engine dask."
        )
    asked = {key: value for key, value in request.items() if value}
    separator = asked.pop("separator", "\t" if format == "tsv" else ",")
    if format == "jsonl" and "object_field" not in asked:
        raise ValueError("With --engine dask, JSON lines need --object-field: the field that is the object.")
    with told_plainly():
        source = sources.open(_frame(data, format, separator), **asked)
    source.paths = (data,)
    return source


def _frame(data: str, format: str, separator: str) -> Any:
    import dask.dataframe as dd
    from dask import config

    if format == "parquet":
        return dd.read_parquet(_absolute(data))
    paths = [data] if "://" in data else [_absolute(file.path) for file in find_files(data)]
    packed = any(path.endswith((".gz", ".bz2", ".zst", ".xz")) for path in paths)
    if format != "jsonl":
        return dd.read_csv(paths, sep=separator, **({"blocksize": None} if packed else {}))
    # Text stays text, whatever it looks like, and nested values stay what they are.
    as_written = {"dtype": False, "convert_dates": False, "precise_float": True}
    with config.set({"dataframe.convert-string": False}):
        return dd.read_json(paths, lines=True, blocksize=None if packed else BLOCK, **as_written)


def check_target(target: str) -> None:
    """Require a folder name that Dask can write to and that does not exist yet."""
    if Path(target).suffix not in WRITES:
        raise ValueError(f"{target}: Dask writes folders named {' or '.join(f'*{end}' for end in WRITES)}.")
    if "://" not in target and Path(target).exists():
        raise ValueError(
            f"{target} already exists; Dask writes a new folder. Remove it or choose another name."
        )


def write(frame: Any, source: Any, target: str) -> None:
    """Write the id columns and the columns that the source lacks; without id columns, all columns."""
    target, before = _absolute(target), set(source.collection.columns)
    new = [name for name in frame.columns if name not in before]
    kept = frame[[*source.id_columns, *new]] if source.id_columns else frame
    with told_plainly():
        if Path(target).suffix == ".parquet":
            kept.to_parquet(target, write_index=False)
        else:
            kept.to_csv(f"{target}/part-*.csv", index=False)


def count(client: Any, target: str) -> int:
    """Number of rows written."""
    import dask.dataframe as dd

    target = _absolute(target)
    if target.endswith(".parquet"):
        return len(dd.read_parquet(target))
    return len(dd.read_csv(f"{target}/*.csv", dtype=str))


def carry_along(function: str) -> None:
    """Ship the module of a kernel function with it, so that workers need not have it installed."""
    import cloudpickle

    cloudpickle.register_pickle_by_value(importlib.import_module(function.partition(":")[0]))


def _absolute(path: str) -> str:
    """Workers may run in other folders."""
    return path if "://" in path else os.path.abspath(path)
