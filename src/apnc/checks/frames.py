"""Features of pandas and polars frames, chosen by the same rule as for files and Spark."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from apnc.checks.fit import warn_left_out
from apnc.sources import columns as rule
from apnc.sources.pieces import SourceError
from apnc.typing import Array

#: The rule's names for what pandas infers in object columns, and for the types of polars.
INFERRED = dict.fromkeys(("integer", "floating", "mixed-integer-float", "decimal", "boolean"), rule.NUMBER)
INFERRED |= dict.fromkeys(("date", "datetime", "datetime64", "time", "timedelta", "period"), rule.TIMES)
INFERRED |= {"string": rule.TEXT, "empty": rule.NOTHING, "bytes": "binary"}
TYPES = dict.fromkeys(("Categorical", "Enum"), rule.CATEGORIES)
TYPES |= dict.fromkeys(("List", "Array", "Struct"), rule.NESTED)
TYPES |= {"String": rule.TEXT, "Null": rule.NOTHING, "Binary": "binary", "Boolean": rule.NUMBER}


def features(X: Any, fitted: Sequence[str] | None) -> Any:
    """The features of a frame: those of the fit if all are present, else by the rule, with a warning about the rest.

    If features of the fit are missing, the whole frame is returned for scikit-learn to report what is wrong.
    """
    names = [str(name) for name in X.columns]
    if fitted is not None and set(fitted) <= set(names):
        rule.refuse_twice("X", names, fitted)
        return _picked(X, [j for j, name in enumerate(names) if name in set(fitted)])
    columns = [_column(X, j, name) for j, name in enumerate(names)]
    chosen = rule.choose("X", columns)
    if fitted is not None and chosen.features:
        holds = [j for j, c in enumerate(columns) if c.kind == rule.LIST and f"{c.name}[0]" == fitted[0]]
        return _expanded(X, holds[0], names[holds[0]]) if holds else X
    if chosen.problem:
        raise SourceError(chosen.problem)
    if chosen.left_out:
        warn_left_out("X", chosen.left_out)
    positions = [names.index(name) for name in chosen.features]
    are_lists = columns[positions[0]].kind == rule.LIST
    return _expanded(X, positions[0], chosen.features[0]) if are_lists else _picked(X, positions)


def _picked(X: Any, positions: Sequence[int]) -> Any:
    if len(positions) == X.shape[1]:
        return X
    return X.iloc[:, positions] if hasattr(X, "iloc") else X[:, positions]


def _values(X: Any, position: int) -> Any:
    return X.iloc[:, position] if hasattr(X, "iloc") else X.to_series(position)


def _column(X: Any, position: int, name: str) -> rule.Column:
    values = _values(X, position)
    return rule.Column(name, _kind(values), partial(np.asarray, values[: rule.HEAD]))


def _kind(values: Any) -> str:
    """The rule's name for what a column holds."""
    type_ = values.dtype
    if hasattr(type_, "is_numeric"):
        inner = getattr(type_, "inner", None)
        if type_.is_numeric() or type_.is_temporal():
            return rule.NUMBER if type_.is_numeric() else rule.TIMES
        is_list = inner is not None and inner.is_numeric()
        return rule.LIST if is_list else TYPES.get(type_.base_type().__name__, rule.MIXED)
    if str(type_) == "category":
        return rule.CATEGORIES
    if type_.kind in "mM":
        return rule.TIMES
    if type_.kind in "fiubc" or getattr(type_, "_is_numeric", False):
        return rule.NUMBER
    return _kind_of_objects(values)


def _kind_of_objects(values: Any) -> str:
    from pandas.api.types import infer_dtype

    found = infer_dtype(values, skipna=True)
    if found in INFERRED:
        return INFERRED[found]
    kinds = {type(value) for value in values.dropna()}
    if kinds <= {list, tuple, np.ndarray}:
        first = np.asarray(values.dropna().iloc[0])
        return rule.LIST if first.dtype.kind in "fiub" else rule.NESTED
    return rule.NESTED if kinds <= {dict} else rule.MIXED


def _expanded(X: Any, position: int, name: str) -> Any:
    """A column of lists as a frame with one column for each position."""
    lists = [list(value) if hasattr(value, "__len__") else None for value in _values(X, position)]
    width = next(len(value) for value in lists if value is not None)
    if not width:
        raise SourceError(rule.empty_lists("X", name))
    for row, value in enumerate(lists):
        if value is not None and len(value) != width:
            raise SourceError(rule.unequal(f"X, row {row}", name, len(value), width))
    rows: Array = np.array([[None] * width if value is None else value for value in lists])
    rows = rows.astype(np.float64) if rows.dtype == object else rows
    names = list(rule.expanded(name, width))
    return type(X)(rows, columns=names) if hasattr(X, "iloc") else type(X)(rows, schema=names)


def as_frame(columns: Mapping[str, Sequence[Any]], index: str | None = None) -> Any:
    """A pandas DataFrame of these columns, one of which may be its index."""
    try:
        from pandas import DataFrame
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError("A table needs pandas: pip install pandas", name="pandas") from error
    frame = DataFrame(dict(columns))
    return frame if index is None else frame.set_index(index)


def records(X: Any, names: Sequence[str]) -> list[dict[str, Any]]:
    """The named columns of a frame as a dict for each row; what the frame counts as missing is None."""
    there = [str(name) for name in X.columns]
    if missing := [name for name in names if name not in there]:
        raise SourceError(rule.absent("X", missing, list(zip(there, X.dtypes, strict=True))))
    rule.refuse_twice("X", there, names)
    columns = {name: _plain(_values(X, there.index(name))) for name in names}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def _plain(values: Any) -> list[Any]:
    if not hasattr(values, "notna"):
        return list(values.to_list())
    return list(values.astype(object).where(values.notna(), None))
