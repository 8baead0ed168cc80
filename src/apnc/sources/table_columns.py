"""Columns of a table: which of them are features, and how they become a matrix."""

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apnc.sources.pieces import SourceError
from apnc.sources.table_readers import Part
from apnc.typing import Array

#: Columns that a message lists.
SHOWN = 30


@dataclass(frozen=True)
class Request:
    """What a user asks for: features (None: all columns of numbers), and columns that are something else."""

    columns: tuple[str, ...] | None
    exclude: tuple[str, ...]
    ids: tuple[str, ...]
    weight: str | None


@dataclass(frozen=True)
class Layout:
    """The columns of a table that are used.

    Attributes
    ----------
    origin : the part in which they were found.
    features : columns to read, in order; only one if it holds lists.
    types : types of the features and of the weights.
    id_types : types of the id columns.
    width : values in each list; 0: the features are no lists.
    known : all columns of the part if the features were chosen automatically, else None.
    problem : what forbids reading; empty: nothing.

    """

    origin: str
    features: tuple[str, ...]
    types: dict[str, Any]
    id_types: dict[str, Any]
    width: int
    known: frozenset[str] | None
    problem: str

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features; those of a list are numbered."""
        return expanded(self.features[0], self.width) if self.width else self.features

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 if that holds all values exactly."""
        types = [_value_type(self.types[name]) for name in self.features]
        return np.dtype(np.float32 if all(map(_is_narrow, types)) else np.float64)

    @property
    def read_bytes(self) -> int:
        """One row as it is read and as numbers."""
        bits = sum(_value_type(type_).bit_width + 1 for type_ in self.types.values()) * max(1, self.width)
        # A batch lives until its last row is decoded and the next is read meanwhile, both in memory that the
        # allocator is slow to give back: the resident memory was found to grow by 5 times the size of the rows.
        return bits // 2 + 8 + self.dtype.itemsize * len(self.names)


def layout_of(part: Part, request: Request) -> Layout:
    """What a request means for a table that begins with this part."""
    weights = () if request.weight is None else (request.weight,)
    found = tuple(name for name in weights if name in part.schema.names)
    _refuse_absent(part, request.exclude)
    _require(part, (*request.ids, *found))
    _require_numbers(part, found)
    features = _all_numbers(part, request) if request.columns is None else _picked(part, request.columns)
    return Layout(
        part.name,
        features,
        part.types(dict.fromkeys((*features, *found))),
        part.types(request.ids, verbatim=True),
        _width(part, features[0], request),
        None if request.columns is not None else frozenset(part.schema.names),
        _unclear(part, request, features) or ("" if found == weights else _absent(part, weights)),
    )


def check_part(part: Part, layout: Layout, verbatim: bool) -> None:
    """The columns that are used must be of the same type in every part, and none may be new."""
    expected = layout.id_types if verbatim else layout.types
    _require(part, expected)
    for name, type_ in part.types(expected, verbatim).items():
        if type_ != expected[name]:
            raise SourceError(
                f"{part.name}: column {name!r} is of type {type_}, but {expected[name]} in {layout.origin}. "
                "Write all files with the same types."
            )
    if layout.known is None:
        return
    new = [field.name for field in part.schema if field.name not in layout.known and _is_number(field.type)]
    if new:
        raise SourceError(
            f"{part.name}: column {new[0]!r} of type {part.schema.field(new[0]).type} is not in {layout.origin}. "
            "Pick the features with columns=[...]."
        )


def expanded(name: str, width: int) -> tuple[str, ...]:
    """Names of the values of a column of lists."""
    return tuple(f"{name}[{j}]" for j in range(width))


def _all_numbers(part: Part, request: Request) -> tuple[str, ...]:
    numbers, lists = _candidates(part, request)
    if numbers or len(lists) == 1:
        return numbers or lists
    raise SourceError(f"{part.name}: there is no numeric column for a feature. Columns: {_described(part)}.")


def _candidates(part: Part, request: Request) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Columns of numbers and columns of lists of numbers that a request leaves as features."""
    taken = {*request.exclude, *request.ids, request.weight, *part.index}
    free = [field for field in part.schema if field.name not in taken]
    _require(part, (field.name for field in free if _is_number(field.type) or _is_list(field.type)))
    numbers = tuple(field.name for field in free if _is_number(field.type))
    return numbers, tuple(field.name for field in free if _is_list(field.type))


def _unclear(part: Part, request: Request, features: tuple[str, ...]) -> str:
    """Why features that were chosen automatically may not be what is wanted."""
    if request.columns is not None or _is_list(part.schema.field(features[0]).type):
        return ""
    _, lists = _candidates(part, request)
    if not lists:
        return ""
    return (
        f"{part.name}: column {lists[0]!r} holds lists of numbers, beside columns of numbers ({features[0]!r}, ...). "
        f"Say which are the features: columns=[{lists[0]!r}], or exclude=[{lists[0]!r}]."
    )


def _picked(part: Part, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Columns to read for the features that were asked for."""
    if not columns or len(set(columns)) < len(columns):
        raise SourceError(f"columns={list(columns)} must name at least one column, and none of them twice.")
    inside = columns[0].removesuffix("[0]")
    if (
        columns[0] not in part.schema.names
        and columns == expanded(inside, len(columns))
        and _has_list(part, inside)
    ):
        return (inside,)
    _require(part, columns)
    if len(columns) == 1 and _is_list(part.schema.field(columns[0]).type):
        return columns
    _require_numbers(part, columns)
    return columns


def _has_list(part: Part, name: str) -> bool:
    return name in part.schema.names and _is_list(part.schema.field(name).type)


def _require(part: Part, names: Iterable[str]) -> None:
    """Each name must be that of one column."""
    names, there = list(names), Counter(part.schema.names)
    _refuse_absent(part, names)
    twice = next((name for name in names if there[name] > 1), None)
    if twice is not None:
        raise SourceError(f"{part.name}: there are several columns with the name {twice!r}.")


def _refuse_absent(part: Part, names: Sequence[str]) -> None:
    there = set(part.schema.names)
    absent = [name for name in names if name not in there]
    if absent:
        raise SourceError(_absent(part, absent))


def _absent(part: Part, names: Sequence[str]) -> str:
    nearest = difflib.get_close_matches(names[0], part.schema.names, n=1)
    hint = f" Did you mean {nearest[0]!r}?" if nearest else ""
    missing = ", ".join(map(repr, names[:SHOWN]))
    return f"{part.name}: there is no column {missing}.{hint} Columns: {_described(part)}."


def _require_numbers(part: Part, names: Iterable[str]) -> None:
    for name in names:
        type_ = part.schema.field(name).type
        if _is_list(type_):
            raise SourceError(f"{part.name}: column {name!r} holds lists, so it must be the only feature.")
        if not _is_number(type_):
            raise SourceError(
                f"{part.name}: column {name!r} is of type {type_}, which is no number. Columns: {_described(part)}."
            )


def _described(part: Part) -> str:
    fields = [f"{field.name} ({field.type})" for field in list(part.schema)[:SHOWN]]
    more = len(part.schema) - len(fields)
    return ", ".join(fields) + (f" and {more} more" if more else "")


def _is_number(type_: Any) -> bool:
    return bool(pa.types.is_integer(type_) or pa.types.is_floating(type_) or pa.types.is_boolean(type_))


def _is_narrow(type_: Any) -> bool:
    return bool(type_.bit_width <= (32 if pa.types.is_floating(type_) else 16))


def _is_list(type_: Any) -> bool:
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    return any(kind(type_) for kind in kinds) and _is_number(type_.value_type)


def _value_type(type_: Any) -> Any:
    return type_.value_type if _is_list(type_) else type_


def _width(part: Part, name: str, request: Request) -> int:
    """Number of values in the lists of a column; 0 if it does not hold lists."""
    if not _is_list(part.schema.field(name).type):
        return 0
    width = _first_length(part, name)
    if not width:
        found = "holds no list" if width is None else "holds empty lists"
        raise SourceError(f"{part.name}: column {name!r} {found}. Leave it out with exclude=[{name!r}].")
    asked = request.columns
    if asked is not None and asked not in ((name,), expanded(name, width)):
        raise SourceError(f"{part.name}: {name} holds lists of {width} values, but {len(asked)} are needed.")
    return width


def _first_length(part: Part, name: str) -> int | None:
    type_ = part.schema.field(name).type
    if pa.types.is_fixed_size_list(type_):
        return int(type_.list_size)
    lengths = (pc.list_value_length(batch.column(name)) for batch, _ in part.batches({name: type_}, 1024))
    return next((int(found[0].as_py()) for all_ in lengths if len(found := all_.drop_null())), None)


def as_matrix(batch: Any, dtype: np.dtype[Any]) -> Array:
    """A record batch of n rows and d columns of numbers as an array of shape (n, d); NaN where a value is missing."""
    type_ = pa.from_numpy_dtype(dtype)
    columns = [column if column.type == type_ else column.cast(type_, safe=False) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names).to_tensor(null_to_nan=True).to_numpy()


def numbers(column: Any) -> Array:
    """A column as an array; NaN where a value is missing."""
    column = column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
    return column.to_numpy(zero_copy_only=False)


def lists_as_matrix(lists: Any, width: int, dtype: np.dtype[Any]) -> Array | int:
    """A column of lists as an array of shape (n, width), or the position of the first of another length."""
    lengths = pc.list_value_length(lists)
    wrong = pc.indices_nonzero(pc.fill_null(pc.not_equal(lengths, width), False))
    if len(wrong):
        return int(wrong[0].as_py())
    values = numbers(lists.flatten()).astype(dtype).reshape(-1, width)
    if not lists.null_count:
        return values
    rows = np.full((len(lists), width), np.nan, dtype=dtype)
    rows[numbers(lists.is_valid()).astype(bool)] = values
    return rows
