"""Rows with named columns: Parquet, Arrow, CSV and TSV files, and objects that provide Arrow data."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any, Self

import numpy as np
import pyarrow as pa

from apnc.kernels.family import RECORDS
from apnc.sources.columns import no_rows, unequal
from apnc.sources.delimited import TextPart
from apnc.sources.family import Source
from apnc.sources.files import Files
from apnc.sources.folders import values_of, with_values
from apnc.sources.formats import FORMATS
from apnc.sources.pieces import Piece, SourceError
from apnc.sources.streams import parts_of
from apnc.sources.table_columns import Request, as_matrix, check_part, layout_of, lists_as_matrix, numbers
from apnc.sources.table_readers import ArrowPart, ParquetPart, Part, Parts, Place, Reader
from apnc.typing import Array

READERS: dict[str, Reader] = {
    "parquet": ParquetPart,
    "arrow": ArrowPart,
    "csv": TextPart,
    "tsv": partial(TextPart, delimiter="\t"),
}
#: Least number of bytes read at a time, however small the pieces.
READ_BYTES = 1 << 24


def open_table(
    data: Any,
    format: str,
    drop_null: bool = False,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    id_columns: Sequence[str] = (),
    weight_column: str | None = None,
    separator: str | None = None,
    object_field: str | None = None,
) -> "TableSource":
    """Open a table as a source of rows.

    Parameters
    ----------
    data : files, or an object that holds or provides Arrow data.
    format : of the files: "parquet", "arrow", "csv" or "tsv".
    columns : features, in this order; default: all numeric columns except an index, or else the only column of
        lists of numbers, which is expanded.
    exclude, id_columns, weight_column : columns that are not features.
    drop_null : skip rows with missing values.
    separator : between the values of CSV; None: a comma.
    object_field : column whose values are the instances; None: rows are vectors, or records for a kernel on those.

    """
    request = request_of(columns, exclude, id_columns, weight_column)
    found = _of_files(data, format, separator) if isinstance(data, Files) else parts_of(data)
    if object_field is None:
        return TableSource(*found, request, drop_null)
    from apnc.sources.table_objects import ObjectColumn

    return ObjectColumn(*found, request, drop_null, object_field)


def _of_files(data: Files, format: str, separator: str | None) -> tuple[str, Parts]:
    """Name of a table, and functions that open its files; ``separator`` applies to CSV only."""
    reader = READERS[format]
    if separator is not None:
        if len(separator) != 1 or separator in '"\r\n':
            raise SourceError(f"separator={separator!r} must be a single character, such as ';'.")
        reader = partial(TextPart, delimiter=separator)
    parts: Parts = [partial(reader, file) for file in data]
    if FORMATS[format].text:
        # Parts of text hold no open file, so they can be kept, and later passes reuse what the first inferred.
        parts = [cache(part) for part in parts]
    if any("=" in folder for file in data for folder in file.folders):
        parts = with_values(parts, values_of(data.files))
    return data.name, parts


def request_of(
    columns: Sequence[str] | None,
    exclude: Sequence[str],
    id_columns: Sequence[str],
    weight_column: str | None,
) -> Request:
    """The requested columns; a single name means a list of one."""
    if columns is not None and exclude:
        raise SourceError("columns= already names the features, so exclude= has no effect. Pass one of them.")
    return Request(_names(columns), _names(exclude) or (), _names(id_columns) or (), weight_column)


def _names(given: Sequence[str] | None) -> tuple[str, ...] | None:
    return (given,) if isinstance(given, str) else None if given is None else tuple(given)


@dataclass(frozen=True)
class Packed:
    """Batches of consecutive rows, each with its place and the offset of its first row there."""

    batches: list[Any] = field(default_factory=list)
    places: list[tuple[Place, int]] = field(default_factory=list)

    @property
    def where(self) -> str:
        """The approximate place of the first row."""
        place, offset = self.places[0]
        return place.of_row(offset)


class TableSource(Source):
    """A table whose parts (files, or one object) are opened one at a time.

    Attributes
    ----------
    weight_column : column of weights; None: weight 1 for every row.

    """

    def __init__(self, name: str, parts: Parts, request: Request, drop_null: bool) -> None:
        self.name, self._parts, self._request, self.drop_null = name, parts, request, drop_null
        self.id_columns, self.weight_column = request.ids, request.weight
        with self._first() as part:
            self._look_at(part)
            # Half as much again, since the allocator is slow to release memory.
            buffers = 3 * part.buffers(self._layout.types) // 2
            self.overhead = buffers + READ_BYTES if buffers else 0
            self._says_rows = part.n_rows is not None
            self.n_rows = part.n_rows if len(parts) == 1 else None

    def _look_at(self, part: Part) -> None:
        """What the columns of the first part say about the rows."""
        self._layout = layout_of(part, self._request)
        self.columns, self.left_out = self._layout.names, self._layout.left_out
        self.n_columns = self.held = len(self.columns)
        self.dtype: np.dtype[Any] = self._layout.dtype
        self.read_bytes = self._layout.read_bytes

    def _first(self) -> Part:
        """The first part that has rows; if none has, the first that has columns."""
        for opened in self._parts:
            part = opened()
            if not part.empty:
                return part
            part.close()
        for opened in self._parts:
            part = opened()
            if part.schema.names:
                return part
            part.close()
        raise SourceError(no_rows(self.name))

    def refuse_problem(self) -> None:
        """Refuse to read a layout with a problem; not checked earlier, since ``select`` may resolve it."""
        if self._layout.problem:
            raise SourceError(self._layout.problem)

    def pieces(self, n_rows: int) -> Iterator[Piece]:
        """All rows in order; every piece but the last has ``n_rows``, whatever the sizes of the parts."""
        self.refuse_problem()
        start = 0
        for packed in self._packed(n_rows, verbatim=False):
            size = sum(batch.num_rows for batch in packed.batches)
            yield Piece(packed, start, size, packed.where)
            start += size

    def place(self, piece: Piece, row: int) -> str:
        """File and line, or file, row group or batch, and row."""
        packed: Packed = piece.raw
        left = row
        for batch, (place, offset) in zip(packed.batches, packed.places, strict=True):
            if left < batch.num_rows:
                return place.exactly(offset + left, piece.start + row)
            left -= batch.num_rows
        return super().place(piece, row)

    def count(self) -> tuple[int, bool]:
        """The number of rows, from metadata where there is any: Parquet files and objects in memory."""
        if self.n_rows is None and self._says_rows:
            self.n_rows = 0
            for opened in self._parts:
                with opened() as part:
                    self.n_rows += part.n_rows or 0
        return super().count()

    def ids(self, n_rows: int) -> Iterator[dict[str, Any]]:
        """Values of the id columns by name, as chunked arrays; in text files, as they are written."""
        if not self.id_columns:
            raise SourceError(f"{self.name} has no id columns.")
        for packed in self._packed(n_rows, verbatim=True):
            table = pa.Table.from_batches(packed.batches)
            yield {name: table.column(name) for name in self.id_columns}

    def _packed(self, n_rows: int, verbatim: bool) -> Iterator["Packed"]:
        """Batches, split and combined to ``n_rows`` rows."""
        packed, missing = Packed(), n_rows
        for batch, place in self._batches(n_rows, verbatim):
            taken = 0
            while taken < batch.num_rows:
                part = batch.slice(taken, missing)
                packed.batches.append(part)
                packed.places.append((place, taken))
                taken, missing = taken + part.num_rows, missing - part.num_rows
                if not missing:
                    yield packed
                    packed, missing = Packed(), n_rows
        if packed.batches:
            yield packed

    def _batches(self, n_rows: int, verbatim: bool) -> Iterator[tuple[Any, Place]]:
        """Batches of all parts as they are stored: the id columns (``verbatim``), or features and weights."""
        types = self._layout.id_types if verbatim else self._layout.types
        for opened in self._parts:
            with opened() as part:
                if part.empty:
                    continue
                check_part(part, self._layout, verbatim)
                for batch, place in part.batches(types, max(n_rows, READ_BYTES // self.read_bytes)):
                    yield batch.select(list(types)), place

    def matrix(self, piece: Piece) -> tuple[Array, Array | None]:
        """Array of shape (n, d), NaN where a value is null, and weights."""
        batches = piece.raw.batches
        if len(batches) > 1:
            batches = pa.Table.from_batches(batches).combine_chunks().to_batches()
        batch = batches[0]
        weights = self._weights(batch)
        if not self._layout.width:
            return as_matrix(batch.select(list(self._layout.features)), self.dtype), weights
        return self._from_lists(piece, batch.column(0)), weights

    def _weights(self, batch: Any) -> Array | None:
        weight = self._request.weight
        return None if weight is None else numbers(batch.column(weight)).astype(np.float64)

    def _from_lists(self, piece: Piece, lists: Any) -> Array:
        rows = lists_as_matrix(lists, self._layout.width, self.dtype)
        if isinstance(rows, int):
            where, name = self.place(piece, rows), self._layout.features[0]
            raise SourceError(unequal(where, name, len(lists[rows]), self._layout.width))
        return rows

    def of_objects(self, kernel: Any) -> Source:
        """The same rows as records, for a kernel that takes those."""
        from apnc.sources.table_objects import Records, no_object_column

        if kernel.takes != RECORDS:
            raise SourceError(no_object_column(self.name, kernel, self._first))
        found = Records(self.name, self._parts, self._request, self.drop_null, kernel)
        found.paths, found.files = self.paths, self.files
        return found

    def select(self, columns: Sequence[str]) -> Self:
        """The same rows with these features; weights are kept if there are any."""
        weight = self.weight_column if self.weight_column in self._layout.types else None
        request = replace(self._request, columns=tuple(columns), exclude=(), weight=weight)
        selected = type(self)(self.name, self._parts, request, self.drop_null)
        selected.paths = self.paths
        return selected
