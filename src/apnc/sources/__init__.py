"""Data larger than memory: files and open objects that are read in pieces."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePath
from typing import Any

import numpy as np

from apnc.engines.registry import engine_of
from apnc.sources.family import Source
from apnc.sources.formats import ENDINGS, FORMATS, format_named
from apnc.sources.memory import InMemory
from apnc.sources.pieces import SourceError

__all__ = ["FORMATS", "InMemory", "Source", "SourceError", "is_source", "open"]


def is_source(data: Any) -> bool:
    """Whether ``data`` is read in pieces rather than held as rows: a path, or an open object.

    A list never is, since lists are instances; ``open`` makes a source of a list of paths.
    """
    if isinstance(data, Source | str | os.PathLike | np.memmap):
        return True
    if _is_arrow(data) or (hasattr(data, "read") and hasattr(data, "seek")):
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
    """A source of rows for ``fit``, ``predict`` and ``embed``, which take a plain path as well.

    Parameters
    ----------
    data : path, URI, folder, list of paths, ``numpy.memmap``, pyarrow Table or Dataset, a seekable binary file, or
        a Spark DataFrame.
    columns : features, in this order; default: all columns of numbers but an index; a warning names what is left out.
    exclude : columns that are not features.
    id_columns : columns written in front of labels; they are not features.
    weight_column : column of weights.
    drop_null : skip rows with missing values (null or NaN) and say how many; by default they are an error.
    format : a name in ``FORMATS``, where the name does not tell.
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
    if (engine := engine_of(data)) is not None:
        also = [name for name, value in (("format", format), ("drop_null", drop_null)) if value]
        _refuse(engine.KIND, [*(name for name in given if name not in engine.TAKES), *also])
        opened: Source = engine.open_data(data, **given)
        return opened
    format = format_of(data) if format is None else format
    if format not in FORMATS:
        raise SourceError(f"format={format!r} is unknown. Known: {', '.join(FORMATS)}.")
    _refuse(format, [name for name in given if name not in FORMATS[format].takes])
    try:
        source: Source = FORMATS[format].load()(data, format, drop_null, **given)
    except ModuleNotFoundError as error:
        if error.name != "pyarrow":
            raise
        raise SourceError(f'Reading {format} needs pyarrow: pip install "apnc[files]".') from error
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
        name = next((found for found in names if format_named(found)), name)
    found = format_named(name)
    if found is None:
        exists = "" if "://" in name or Path(name).exists() else " There is no such file either."
        raise SourceError(
            f"{name}: cannot infer the format from the file name.{exists} Known endings: {', '.join(ENDINGS)}; or pass "
            "format=... (in apnc.sources.open, or --format)."
        )
    return found


def _is_arrow(data: Any) -> bool:
    return type(data).__module__.split(".")[0] == "pyarrow"


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
