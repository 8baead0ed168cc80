"""Objects of any kind: one JSON value per line."""

import json
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Any

import numpy as np

from apnc.rows import LOOKED_AT, numbers_in_objects
from apnc.sources.family import Source
from apnc.sources.files import Files
from apnc.sources.lines import Line, Lines, in_pieces, lines_of
from apnc.sources.missing import bad_weight, present
from apnc.sources.pieces import Decoded, Piece, SourceError
from apnc.typing import Array

#: Bytes of text at the beginning of a source, from which the memory of a row is estimated.
SAMPLE_BYTES = 1 << 20
#: Approximate ratio of the memory of a parsed value to the length of its text.
GROWTH = 5
#: Largest number of fields that a message lists.
SHOWN = 20
#: Types of ids, and their names in messages.
ID_TYPES: dict[type, str] = {str: "text", int: "a whole number", float: "a number", bool: "true or false"}


class JsonLinesSource(Source):
    """Values of JSON lines as instances; blank lines are ignored.

    An instance is the whole value, ids and weight included, or its field ``object_field``; null counts as missing.
    ``.gz``, ``.bz2`` and (with pyarrow) ``.zst`` files are decompressed.
    """

    n_columns = 0
    dtype = None

    def __init__(
        self,
        files: Files,
        object_field: str | None = None,
        id_columns: Sequence[str] = (),
        weight_column: str | None = None,
        drop_null: bool = False,
    ) -> None:
        self.name, self._files, self.drop_null = files.name, files, drop_null
        self.object_field, self.weight_column = object_field, weight_column
        self.id_columns = tuple(id_columns)
        self._id_types: dict[str, type] = {}
        self.read_bytes = GROWTH * self._look_ahead()

    def identity(self) -> dict[str, Any]:
        """With the field that is the object."""
        return {**super().identity(), "object_field": self.object_field}

    def _look_ahead(self) -> int:
        """Mean length of the first lines; also checks the fields of the first one and finds the types of the ids."""
        n_lines, n_bytes, objects = 0, 0, []
        for line in self._rows():
            if not n_lines:
                value = _parsed(line)
                for name in (self.object_field, self.weight_column):
                    _field(line, value, name)
            for name in set(self.id_columns) - set(self._id_types):
                identity = _field(line, _parsed(line), name)
                if identity is not None:
                    self._id_types[name] = _id_type(line, name, identity)
            if n_lines < LOOKED_AT:
                # Reading says what is wrong with a line, and where.
                with suppress(SourceError):
                    objects.append(_field(line, _parsed(line), self.object_field))
            n_lines, n_bytes = n_lines + 1, n_bytes + len(line.text)
            if n_bytes >= SAMPLE_BYTES:
                break
        self.held = numbers_in_objects(objects)
        return -(-n_bytes // max(1, n_lines))

    def _rows(self) -> Iterator[Line]:
        return (line for line in lines_of(self._files) if line.text.strip())

    def pieces(self, n_rows: int) -> Iterator[Piece]:
        """``Lines``, not yet parsed."""
        return in_pieces(self._rows(), n_rows)

    def place(self, piece: Piece, row: int) -> str:
        """The line."""
        return str(piece.raw.where(row))

    def matrix(self, piece: Piece) -> tuple[list[Any], Array | None]:
        """Instances (None where missing) and weights (NaN where missing)."""
        values = [_parsed(line) for line in piece.raw]
        rows = _fields(piece.raw, values, self.object_field)
        for name in self.id_columns:
            self._check_ids(piece.raw, name, _fields(piece.raw, values, name))
        if self.weight_column is None:
            return rows, None
        weights = _fields(piece.raw, values, self.weight_column)
        return rows, np.array([_weight(*pair) for pair in zip(piece.raw, weights, strict=True)])

    def decode(self, piece: Piece) -> Decoded:
        """Instances, checked for missing ones."""
        return present(self, piece)

    def _check_ids(self, lines: Lines, name: str, values: list[Any]) -> None:
        """Refuse ids of several types now: writing them as one column would fail only after the whole computation."""
        expected = self._id_types.get(name, str)
        for line, value in zip(lines, values, strict=True):
            if value is not None and _id_type(line, name, value) is not expected:
                raise SourceError(
                    f"{line.where}: the id {name!r} is {value!r}, {ID_TYPES[type(value)]}, but the first one is "
                    f"{ID_TYPES[expected]}. Write all of them as text."
                )

    def ids(self, n_rows: int) -> Iterator[dict[str, Any]]:
        """Arrow arrays of the values of each id field."""
        if not self.id_columns:
            return super().ids(n_rows)
        return (self._ids(piece) for piece in self.pieces(n_rows))

    def _ids(self, piece: Piece) -> dict[str, Any]:
        import pyarrow as pa

        kinds = {str: pa.string(), int: pa.int64(), float: pa.float64(), bool: pa.bool_()}
        values = [_parsed(line) for line in piece.raw]
        return {
            name: pa.array(_fields(piece.raw, values, name), kinds[self._id_types.get(name, str)])
            for name in self.id_columns
        }

    def column_names(self) -> Sequence[str]:
        """The name of the only column, which holds the objects."""
        return [self.object_field or "the objects"]


def open_lines(
    data: Files, _: str, drop_null: bool, id_columns: Sequence[str] = (), **options: Any
) -> JsonLinesSource:
    """Open JSON lines; ``id_columns`` may be a single name."""
    ids = (id_columns,) if isinstance(id_columns, str) else tuple(id_columns)
    return JsonLinesSource(data, id_columns=ids, drop_null=drop_null, **options)


def _id_type(line: Line, name: str, value: Any) -> type:
    if type(value) not in ID_TYPES or (type(value) is int and not -(1 << 63) <= value < 1 << 63):
        raise SourceError(f"{line.where}: the id {name!r} must be text or a number, found {value!r:.60}.")
    return type(value)


def _refuse_constant(name: str) -> None:
    raise ValueError(f"{name} is not a JSON value; write null or a number")


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant)


def _parsed(line: Line) -> Any:
    try:
        return _DECODER.decode(line.text.decode())
    except json.JSONDecodeError as error:
        reason = f"{error.msg.removesuffix(' at')} at character {error.pos + 1}"
    except (ValueError, RecursionError) as error:
        reason = str(error)
    cut = "" if line.text.endswith(b"\n") else " The file ends in this line; it may be cut off."
    raise SourceError(f"{line.where}: {reason}. A line must be one whole JSON value.{cut}")


def _fields(lines: Lines, values: list[Any], name: str | None) -> list[Any]:
    return [_field(line, value, name) for line, value in zip(lines, values, strict=True)]


def _field(line: Line, value: Any, name: str | None) -> Any:
    """A field of a value, or the whole value if ``name`` is None; every field of a null line is null."""
    if name is None or value is None:
        return value
    if not isinstance(value, dict):
        raise SourceError(
            f"{line.where}: no field {name!r}; the value has no fields, since it is a {type(value).__name__}."
        )
    if name not in value:
        there = ", ".join(map(repr, list(value)[:SHOWN])) + (", ..." if len(value) > SHOWN else "")
        raise SourceError(f"{line.where}: no field {name!r}; found {there or 'none'}.")
    return value[name]


def _weight(line: Line, value: Any) -> float:
    if value is None:
        return float("nan")
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 <= value <= sys.float_info.max:
        return float(value)
    raise SourceError(bad_weight(line.where, repr(value)))
