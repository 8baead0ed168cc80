"""Data larger than memory: files and open objects that are read in pieces."""

import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from apnc.sources.family import Source, SourceError

__all__ = ["FORMATS", "Source", "SourceError", "is_source", "open"]

#: Formats by the ending of a file's name; a further .gz, .bz2 or .zst is taken off text files first.
FORMATS = {
    ".npy": "npy",
    ".npz": "npz",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".arrows": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".csv": "csv",
    ".tsv": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
}
COMPRESSED = (".gz", ".bz2", ".zst")
_TABLE = ("columns", "exclude", "id_columns", "weight_column", "filesystem")
_FRAME = ("columns", "exclude", "id_columns", "weight_column", "object_field")
#: Formats, and what can be asked of them.
TAKES = {
    "npy": (),
    "npz": (),
    "svmlight": ("zero_based",),
    "parquet": _TABLE,
    "arrow": _TABLE,
    "csv": (*_TABLE, "separator"),
    "tsv": _TABLE,
    "jsonl": ("id_columns", "weight_column", "filesystem", "object_field"),
}


def is_source(data: Any) -> bool:
    """Whether ``data`` is read in pieces rather than held as rows: a path, or an open object.

    A list never is, since lists are instances; ``open`` makes a source of a list of paths.
    """
    if isinstance(data, Source | str | os.PathLike | np.memmap):
        return True
    return _is_arrow(data) or is_spark(data) or (hasattr(data, "read") and hasattr(data, "seek"))


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
    """A source of rows for ``fit``, ``predict`` and ``embed``, which take a plain path as well.

    Parameters
    ----------
    data : path, URI, folder, list of paths, ``numpy.memmap``, pyarrow Table or Dataset, a seekable binary file, or
        a Spark DataFrame.
    columns : features, in this order; default: all numeric columns.
    exclude : columns that are not features.
    id_columns : columns written in front of labels; they are not features.
    weight_column : column of weights.
    drop_null : skip rows with missing values (null or NaN) and say how many; by default they are an error.
    format : one of the values of ``FORMATS``, where the name does not tell.
    filesystem : a pyarrow filesystem for the paths; default: from the URI, or the local one.
    object_field : the field of each JSON line that is the instance; default: the whole value. Of a DataFrame: the
        column of objects.
    zero_based : whether indices of svmlight begin at 0; "auto": if index 0 occurs in the file. Say it where
        files of one kind may lack feature 0, for fit and predict alike.
    separator : the character between the values of CSV, such as ";"; default: a comma.

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
    if is_spark(data):
        more = {"format": format is not None, "drop_null": drop_null}
        _refuse(
            "a Spark DataFrame", [*(name for name in given if name not in _FRAME), *filter(more.get, more)]
        )
        return _frame(data, **given)
    format = format_of(data) if format is None else format
    if format not in TAKES:
        raise SourceError(f"format={format!r} is unknown. Known: {', '.join(TAKES)}.")
    _refuse(format, [name for name in given if name not in TAKES[format]])
    source = _OPENERS[format](data, format, drop_null, **given)
    paths = data if isinstance(data, list | tuple) else [data]
    source.paths = tuple(path for path in paths if isinstance(path, str | os.PathLike))
    return source


def format_of(data: Any) -> str:
    """The format of a path by its ending, of a folder by its files, of an object by its type."""
    if isinstance(data, np.memmap):
        return "npy"
    if _is_arrow(data):
        return "parquet"
    first = data[0] if isinstance(data, list | tuple) and data else data
    name = str(getattr(first, "name", first) if not isinstance(first, PurePath) else first)
    if isinstance(first, str | os.PathLike) and Path(first).is_dir():
        names = (str(path) for path in sorted(Path(first).rglob("*")) if not path.name.startswith((".", "_")))
        name = next((found for found in names if _ending(found) in FORMATS), name)
    if _ending(name) not in FORMATS:
        endings = ", ".join(FORMATS)
        exists = "" if "://" in name or Path(name).exists() else " There is no such file either."
        raise SourceError(
            f"{name}: the format cannot be told from the name.{exists} Known endings: {endings}; or pass "
            "apnc.sources.open(..., format=...)."
        )
    return FORMATS[_ending(name)]


def _ending(name: str) -> str:
    path = PurePath(name.split("?")[0])
    return PurePath(path.stem).suffix.lower() if path.suffix.lower() in COMPRESSED else path.suffix.lower()


def is_spark(data: Any) -> bool:
    """Whether ``data`` is a DataFrame of Spark, classic or Connect."""
    return type(data).__module__.startswith("pyspark.sql.") and hasattr(data, "mapInArrow")


def _frame(data: Any, **options: Any) -> Source:
    from apnc.sources.frames import open_frame

    return open_frame(data, **options)


def _is_arrow(data: Any) -> bool:
    return type(data).__module__.split(".")[0] == "pyarrow"


def _table(data: Any, format: str, drop_null: bool, **options: Any) -> Source:
    try:
        from apnc.sources.tables import open_table
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise SourceError(f'Reading {format} needs pyarrow: pip install "apnc[files]".') from error
    return open_table(data, format, drop_null=drop_null, **options)


def _objects(data: Any, _: str, drop_null: bool, id_columns: Sequence[str] = (), **options: Any) -> Source:
    from apnc.sources.objects import JsonLinesSource

    ids = (id_columns,) if isinstance(id_columns, str) else tuple(id_columns)
    return JsonLinesSource(data, id_columns=ids, drop_null=drop_null, **options)


def _matrix(data: Any, format: str, drop_null: bool, **options: Any) -> Source:
    from apnc.sources.arrays import NpySource
    from apnc.sources.sparse import NpzSource, SvmlightSource

    if isinstance(data, np.memmap):
        return NpySource.of_memmap(data, drop_null)
    if not isinstance(data, str | os.PathLike):
        raise SourceError(f"{format} is read from a path, got {type(data).__name__}.")
    if "://" in str(data):
        raise SourceError(
            f"{data}: {format} is read from local paths only; copy the file, or store it as Parquet."
        )
    if format == "svmlight":
        return SvmlightSource(Path(data), drop_null, **options)
    return NpySource(Path(data), drop_null) if format == "npy" else NpzSource(Path(data), drop_null)


#: What opens a format.
_OPENERS: dict[str, Callable[..., Source]] = {
    **dict.fromkeys(("npy", "npz", "svmlight"), _matrix),
    **dict.fromkeys(("parquet", "arrow", "csv", "tsv"), _table),
    "jsonl": _objects,
}


def _refuse(what: str, given: Iterable[str]) -> None:
    if given:
        raise SourceError(f"{', '.join(f'{name}=' for name in given)} cannot be used with {what}.")


def refuse_overwriting(data: Any, target: Any) -> None:
    """What is written must not replace what is read, nor land in a folder of it."""
    goal = Path(target).resolve()
    for path in data.paths if isinstance(data, Source) else [data]:
        if not isinstance(path, str | os.PathLike) or "://" in str(path):
            continue
        read = Path(path).resolve()
        if goal == read or (read.is_dir() and read in goal.parents):
            raise SourceError(
                f"{target} would be written over or among the data in {path}; choose another place."
            )
