"""Data larger than memory, read in pieces: files, open files, tables and streams."""

import os
from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import numpy as np

from apnc.engines.registry import engine_of
from apnc.sources.family import Source
from apnc.sources.files import Files, find_files, one_format
from apnc.sources.formats import ENDINGS, FORMATS, format_named
from apnc.sources.memory import InMemory
from apnc.sources.pieces import SourceError

__all__ = ["FORMATS", "InMemory", "Source", "SourceError", "is_source", "open"]

#: Attributes that identify an object with Arrow data, without importing its library: the PyCapsule interface, a polars
#: LazyFrame, a DuckDB connection with a result.
ARROW = ("__arrow_c_stream__", "sink_parquet", "fetch_record_batch")


def is_source(data: Any) -> bool:
    """Whether ``data`` is read in pieces rather than held as rows: a path, an open file, a stream, a query.

    A list never is, since its items are instances; ``open`` accepts a list of paths. pandas and polars frames are rows
    in memory, though ``open`` accepts them too.
    """
    if isinstance(data, Source | str | os.PathLike | np.memmap) or hasattr(data, "read"):
        return True
    if _is_pyarrow(data) or (_is_arrow(data) and not hasattr(data, "__array__")):
        return True
    return engine_of(data) is not None


def open(
    data: Any,
    *,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    id_columns: Sequence[str] = (),
    weight_column: str | None = None,
    drop_null: bool = False,
    format: str | None = None,
    filesystem: Any = None,
    object_field: str | None = None,
    zero_based: bool | str = "auto",
    separator: str | None = None,
) -> Source:
    """Open a source of rows for ``fit``, ``predict`` and ``embed``, which also take a plain path.

    Parameters
    ----------
    data : path, URI, folder, pattern such as ``2024-*.parquet``, open binary file, or a list of those;
        ``numpy.memmap``; pandas or polars frame, polars LazyFrame, DuckDB relation or result, pyarrow Table, Dataset or
        RecordBatchReader, or any object with ``__arrow_c_stream__``; Spark DataFrame; dask array, dataframe
        or bag. Data that can be read only once is copied to a temporary file, which is removed with the source.
    columns : features, in this order; default: all numeric columns except an index; a warning names the others.
    exclude : columns that are not features.
    id_columns : columns written before the labels; they are not features.
    weight_column : column of weights.
    drop_null : skip rows with missing values (null or NaN) and warn how many; by default they are an error.
    format : one of ``FORMATS``; default: inferred from the file names.
    filesystem : a pyarrow filesystem for the paths; default: from the URI, or the local one.
    object_field : field of each JSON line that holds the instance; default: the whole value. Of a table or a Spark
        DataFrame, the column of objects: text, lists or structs. For a kernel on records, rows themselves are objects.
    zero_based : whether svmlight indices begin at 0; "auto": if index 0 occurs in the file. If some files may lack
        feature 0, set it for fit and predict alike.
    separator : character that separates the values of CSV, such as ";"; default: a comma.

    """
    options = {
        "columns": columns,
        "exclude": exclude or None,
        "id_columns": id_columns or None,
        "weight_column": weight_column,
        "filesystem": filesystem,
        "object_field": object_field,
        "zero_based": None if zero_based == "auto" else zero_based,
        "separator": separator,
    }
    given = {name: value for name, value in options.items() if value is not None}
    if isinstance(data, Source):
        _refuse("a source that is open already", given)
        return data
    if (engine := engine_of(data)) is not None:
        also = [name for name, value in (("format", format), ("drop_null", drop_null)) if value]
        _refuse(engine.KIND, [*(name for name in given if name not in engine.TAKES), *also])
        opened: Source = engine.open_data(data, **given)
        return opened
    if format is not None and format not in FORMATS:
        raise SourceError(f"format={format!r} is unknown. Known: {', '.join(FORMATS)}.")
    try:
        return _open(data, format, drop_null, given)
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise SourceError(f'Reading {format or data} needs pyarrow: pip install "apnc[files]".') from error


def _open(data: Any, format: str | None, drop_null: bool, given: dict[str, Any]) -> Source:
    if _is_held(data):
        found, said = data, {"format": format, "filesystem": given.get("filesystem")}
        _refuse(f"a {type(data).__name__}", [name for name, value in said.items() if value is not None])
        format = format_of(data)
    else:
        found = find_files(data, given.get("filesystem"))
        format = format or format_of(found)
        one_format(found, format)
    _refuse(format, [name for name in given if name not in FORMATS[format].takes])
    given.pop("filesystem", None)
    source: Source = FORMATS[format].load()(found, format, drop_null, **given)
    paths = data if isinstance(data, list | tuple) else [data]
    source.files = found.files if isinstance(found, Files) else ()
    source.paths = tuple(path for path in paths if isinstance(path, str | os.PathLike))
    return source


def format_of(data: Any) -> str:
    """The format of a path by its ending, of a folder by its files, of an object by its type."""
    if _is_held(data):
        return "npy" if isinstance(data, np.memmap) else "parquet"
    if isinstance(data, str | os.PathLike) and (told := format_named(os.fspath(data))):
        return told
    files = data if isinstance(data, Files) else find_files(data)
    found = next((told for file in files if (told := format_named(file.name))), None)
    if found is None:
        raise SourceError(
            f"{files.files[0].name}: cannot infer the format from the file name. Known endings: {', '.join(ENDINGS)}; "
            "or pass format=... (in apnc.open, or --format)."
        )
    return found


def _is_held(data: Any) -> bool:
    """Whether ``data`` is an object other than files."""
    return isinstance(data, np.memmap) or _is_pyarrow(data) or _is_arrow(data)


def _is_arrow(data: Any) -> bool:
    return any(hasattr(data, name) for name in ARROW)


def _is_pyarrow(data: Any) -> bool:
    return type(data).__module__.split(".")[0] == "pyarrow" and not hasattr(data, "read")


def _refuse(what: str, given: Iterable[str]) -> None:
    if given:
        raise SourceError(f"{', '.join(f'{name}=' for name in given)} cannot be used with {what}.")


def refuse_overwriting(data: Any, target: Any) -> None:
    """Refuse a target that would overwrite the data, or lie in one of its folders."""
    goal = Path(target).resolve()
    around = (goal, *goal.parents)
    for path in data.paths if isinstance(data, Source) else [data]:
        if not isinstance(path, str | os.PathLike) or "://" in str(path):
            continue
        read = Path(path).resolve()
        if read in around or any(fnmatchcase(str(place), str(read)) for place in around):
            raise SourceError(
                f"{target} would be written over or among the data in {path}; choose another place."
            )
