"""Columns of a table: which of them are features, and how they become a matrix."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from apnc.sources.columns import (
    CATEGORIES,
    HEAD,
    LIST,
    NESTED,
    NOTHING,
    NUMBER,
    TEXT,
    TIMES,
    Chosen,
    Column,
    absent,
    choose,
    described,
    empty_lists,
    expanded,
    refuse_twice,
)
from apnc.sources.pieces import AbsentError, SourceError
from apnc.sources.table_readers import Part
from apnc.typing import Array


@dataclass(frozen=True)
class Request:
    """The columns a user asks for: features (None: by the rule), and columns with another use."""

    columns: tuple[str, ...] | None
    exclude: tuple[str, ...]
    ids: tuple[str, ...]
    weight: str | None


@dataclass(frozen=True)
class Layout:
    """The columns of a table that are read.

    Attributes
    ----------
    origin : name of the part in which they were found.
    features : columns to read, in order; only one if it holds lists.
    types : types of the features and of the weights.
    id_types : types of the id columns.
    width : number of values in each list; 0: the features are not lists.
    known : all columns of the part if the features were chosen automatically, else None.
    problem : why the table cannot be read; empty if it can.
    left_out : columns that were left out of the features automatically, and why.
    verbatim : features that are read as they are written.

    """

    origin: str
    features: tuple[str, ...]
    types: dict[str, Any]
    id_types: dict[str, Any]
    width: int
    known: frozenset[str] | None
    problem: str
    left_out: dict[str, str]
    verbatim: Collection[str] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the features; those of a list are numbered."""
        return expanded(self.features[0], self.width) if self.width else self.features

    @property
    def dtype(self) -> np.dtype[Any]:
        """float32 if it represents all values exactly, else float64."""
        types = [_value_type(self.types[name]) for name in self.features]
        return np.dtype(np.float32 if all(map(_is_narrow, types)) else np.float64)

    @property
    def read_bytes(self) -> int:
        """Memory of one row, as it is read and as numbers."""
        bits = sum(_value_type(type_).bit_width + 1 for type_ in self.types.values()) * max(1, self.width)
        # A batch lives until its last row is decoded, while the next is read, both in memory that the allocator is
        # slow to release: resident memory was measured to grow by 5 times the size of the rows.
        return bits // 2 + 8 + self.dtype.itemsize * len(self.names)


def layout_of(part: Part, request: Request) -> Layout:
    """The layout of a table that begins with this part, as requested."""
    weights = () if request.weight is None else (request.weight,)
    found = tuple(name for name in weights if name in part.schema.names)
    if request.exclude:
        _refuse_absent(part, request.exclude)
    if request.ids or found:
        _require(part, (*request.ids, *found))
        _require_numbers(part, found)
    taken = (*request.exclude, *request.ids, request.weight, *part.index)
    if request.columns is None:
        chosen = choose(part.name, columns_of(part), taken)
    else:
        chosen = Chosen(_picked(part, request.columns))
    return Layout(
        part.name,
        chosen.features,
        part.types(dict.fromkeys((*chosen.features, *found))),
        part.types(request.ids, verbatim=True),
        _width(part, chosen.features[0], request) if chosen.features else 0,
        None if request.columns is not None else frozenset(part.schema.names),
        chosen.problem or ("" if found == weights else _absent(part, weights)),
        chosen.left_out,
    )


def layout_of_objects(
    part: Part, request: Request, columns: Sequence[str], verbatim: Collection[str]
) -> Layout:
    """The layout of a table whose columns are objects, or the fields of records; ``verbatim`` ones are not guessed."""
    weights = () if request.weight is None else (request.weight,)
    _require(part, (*columns, *request.ids, *weights))
    _require_numbers(part, weights)
    types = {**part.types(dict.fromkeys((*columns, *weights))), **part.types(verbatim, verbatim=True)}
    ids = part.types(request.ids, verbatim=True)
    return Layout(part.name, tuple(columns), types, ids, 0, None, "", {}, verbatim)


def check_part(part: Part, layout: Layout, verbatim: bool) -> None:
    """Refuse a part whose columns have other types than in the layout, or that has new numeric columns."""
    expected = layout.id_types if verbatim else layout.types
    _require(part, expected)
    found = part.types(expected, verbatim)
    if not verbatim:
        found.update(part.types(layout.verbatim, verbatim=True))
    for name, type_ in found.items():
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


def columns_of(part: Part) -> list[Column]:
    """The columns of a part, as input of the rule."""
    return [Column(name, kind_of(type_), partial(_first, part, name)) for name, type_ in _fields(part)]


def _first(part: Part, name: str) -> Array:
    batches = part.batches(part.types([name]), HEAD)
    return next((numbers(batch.column(name)) for batch, _ in batches), np.empty(0))


def _fields(part: Part) -> list[tuple[str, Any]]:
    return [(field.name, field.type) for field in part.schema]


def _picked(part: Part, columns: tuple[str, ...]) -> tuple[str, ...]:
    """Columns to read for the requested features."""
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
    """Refuse names that are not those of exactly one column."""
    names = list(names)
    _refuse_absent(part, names)
    refuse_twice(part.name, part.schema.names, names)


def _refuse_absent(part: Part, names: Sequence[str]) -> None:
    there = set(part.schema.names)
    absent = [name for name in names if name not in there]
    if absent:
        raise AbsentError(_absent(part, absent), tuple(part.schema.names))


def _absent(part: Part, names: Sequence[str]) -> str:
    return absent(part.name, names, _fields(part))


def _require_numbers(part: Part, names: Iterable[str]) -> None:
    for name in names:
        type_ = part.schema.field(name).type
        if _is_list(type_):
            raise SourceError(f"{part.name}: column {name!r} holds lists, so it must be the only feature.")
        if not _is_number(type_):
            raise SourceError(
                f"{part.name}: column {name!r} is of type {type_}, which is not numeric. "
                f"Columns: {described(_fields(part))}."
            )


def kind_of(type_: Any) -> str:
    """The rule's name for what an Arrow type holds."""
    if _is_number(type_) or _is_list(type_):
        return NUMBER if _is_number(type_) else LIST
    words = {
        TEXT: (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view),
        CATEGORIES: (pa.types.is_dictionary,),
        TIMES: (pa.types.is_temporal,),
        NESTED: (pa.types.is_nested,),
        NOTHING: (pa.types.is_null,),
    }
    return next((word for word, tests in words.items() if any(test(type_) for test in tests)), str(type_))


def _is_number(type_: Any) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal)
    return any(kind(type_) for kind in kinds)


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
        raise SourceError(empty_lists(part.name, name))
    asked = request.columns
    if asked is not None and asked not in ((name,), expanded(name, width)):
        raise SourceError(f"{part.name}: {name} holds lists of {width} values, but {len(asked)} are needed.")
    return width


def _first_length(part: Part, name: str) -> int:
    type_ = part.schema.field(name).type
    if pa.types.is_fixed_size_list(type_):
        return int(type_.list_size)
    lengths = (pc.list_value_length(batch.column(name)) for batch, _ in part.batches({name: type_}, 1024))
    return next((int(found[0].as_py()) for all_ in lengths if len(found := all_.drop_null())), 0)


def as_matrix(batch: Any, dtype: np.dtype[Any]) -> Array:
    """A record batch of n rows and d columns of numbers as an array of shape (n, d); NaN where a value is missing."""
    type_ = pa.from_numpy_dtype(dtype)
    columns = [column if column.type == type_ else column.cast(type_, safe=False) for column in batch.columns]
    return pa.RecordBatch.from_arrays(columns, batch.schema.names).to_tensor(null_to_nan=True).to_numpy()


def numbers(column: Any) -> Array:
    """A column as an array; NaN where a value is missing."""
    column = column.cast(pa.uint8()) if pa.types.is_boolean(column.type) else column
    column = column.cast(pa.float64()) if pa.types.is_decimal(column.type) else column
    return column.to_numpy(zero_copy_only=False)


def lists_as_matrix(lists: Any, width: int, dtype: np.dtype[Any]) -> Array | int:
    """A column of lists as an array of shape (n, width), or the position of the first list of another length."""
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
