"""Rows with named columns: Parquet, Arrow, CSV and TSV files and folders of them, and pyarrow's own tables."""

import io
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, Self

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from apnc.sources.columns import no_rows, unequal
from apnc.sources.delimited import TextPart
from apnc.sources.family import Source
from apnc.sources.pieces import Piece, SourceError
from apnc.sources.table_columns import Request, as_matrix, check_part, layout_of, lists_as_matrix, numbers
from apnc.sources.table_files import DataFile, find_files, one_format
from apnc.sources.table_readers import ArrowPart, ParquetPart, Part, Place, TablePart
from apnc.typing import Array

Parts = list[Callable[[], Part]]
Reader = Callable[[DataFile], Part]
READERS: dict[str, Reader] = {
    "parquet": ParquetPart,
    "arrow": ArrowPart,
    "csv": TextPart,
    "tsv": partial(TextPart, delimiter="\t"),
}
#: Bytes that are read at a time at least, however small the pieces.
READ_BYTES = 1 << 24


def open_table(
    data: Any,
    format: str,
    drop_null: bool = False,
    columns: Sequence[str] | None = None,
    exclude: Sequence[str] = (),
    id_columns: Sequence[str] = (),
    weight_column: str | None = None,
    filesystem: Any = None,
    separator: str | None = None,
) -> "TableSource":
    """Rows of a table as a source.

    Parameters
    ----------
    data : path or URI of a file or folder, a list of them, a seekable binary file, or a pyarrow Table,
        RecordBatch or Dataset of files. Values that only the names of folders hold (``year=2020/``) are not read.
    format : "parquet", "arrow", "csv" or "tsv"; pyarrow's objects know theirs.
    columns : features, in this order; default: all columns of numbers but an index, or else the one column of
        lists of numbers, which is expanded.
    exclude, id_columns, weight_column : columns that are not features.
    drop_null : skip rows with missing values.
    filesystem : a pyarrow file system for the paths.
    separator : between the values of CSV; None: a comma.

    """
    request = request_of(columns, exclude, id_columns, weight_column)
    return TableSource(*_parts(data, format, reader_of(format, separator), filesystem), request, drop_null)


def request_of(
    columns: Sequence[str] | None,
    exclude: Sequence[str],
    id_columns: Sequence[str],
    weight_column: str | None,
) -> Request:
    """Which columns are asked for; a single name may stand for a list of one."""
    if columns is not None and exclude:
        raise SourceError(
            "columns= says which columns are features, so exclude= has nothing to do. Pass one of them."
        )
    return Request(_names(columns), _names(exclude) or (), _names(id_columns) or (), weight_column)


def reader_of(format: str, separator: str | None = None) -> Reader:
    """What reads files of a format; a separator goes with CSV."""
    if separator is None:
        return READERS[format]
    if len(separator) != 1 or separator in '"\r\n':
        raise SourceError(f"separator={separator!r} must be a single character, such as ';'.")
    return partial(TextPart, delimiter=separator)


def _names(given: Sequence[str] | None) -> tuple[str, ...] | None:
    return (given,) if isinstance(given, str) else None if given is None else tuple(given)


def _parts(data: Any, format: str, reader: Reader, filesystem: Any) -> tuple[str, Parts]:
    """Name of a table and what opens its parts."""
    if isinstance(data, pa.RecordBatchReader):
        raise SourceError(
            "A RecordBatchReader can be read only once, but several passes are needed. Pass a Table, or the file."
        )
    if isinstance(data, pa.Table | pa.RecordBatch):
        name = f"pyarrow.{type(data).__name__}"
        table = data if isinstance(data, pa.Table) else pa.Table.from_batches([data])
        return name, [partial(TablePart, table, name)]
    if isinstance(data, ds.Dataset):
        return _of_dataset(data)
    if isinstance(data, io.TextIOBase):
        raise SourceError('The file is open as text. Open it with open(path, "rb").')
    if hasattr(data, "read") and hasattr(data, "seek"):
        named = getattr(data, "name", None)
        name = named if named and isinstance(named, str) else type(data).__name__
        return name, [partial(reader, DataFile(name, handle=data))]
    if not isinstance(data, str | os.PathLike | list | tuple):
        raise SourceError(
            f"A {type(data).__name__} is no table. Pass a path, a pyarrow Table, or a binary file."
        )
    files = find_files(data, filesystem)
    one_format(files, format)
    name = f"{len(data)} files" if isinstance(data, list | tuple) else os.fspath(data)
    return name, [partial(reader, file) for file in files]


def _of_dataset(data: Any) -> tuple[str, Parts]:
    """Files of a pyarrow Dataset."""
    if not isinstance(data, ds.FileSystemDataset):
        raise SourceError(f"A {type(data).__name__} does not consist of files. Pass its Table or its files.")
    if getattr(data, "_scan_options", None):
        raise SourceError(
            "A filtered Dataset cannot be read. Pass it unfiltered, or write what it selects to a file."
        )
    reader = _reader_of(data.format)
    if reader is None or not data.files:
        raise SourceError(
            f"A Dataset of {len(data.files)} {data.format.default_extname} files cannot be read."
        )
    return "pyarrow.Dataset", [partial(reader, DataFile(path, data.filesystem)) for path in data.files]


def _reader_of(format: Any) -> Reader | None:
    """What reads files of a format of pyarrow's datasets."""
    if isinstance(format, ds.CsvFileFormat):
        return partial(TextPart, delimiter=format.parse_options.delimiter)
    known = {ds.ParquetFileFormat: READERS["parquet"], ds.IpcFileFormat: READERS["arrow"]}
    return next((reader for kind, reader in known.items() if isinstance(format, kind)), None)


@dataclass(frozen=True)
class Packed:
    """Batches of consecutive rows; of each, where it comes from and its first row there."""

    batches: list[Any] = field(default_factory=list)
    places: list[tuple[Place, int]] = field(default_factory=list)

    @property
    def where(self) -> str:
        """Of the first row, about."""
        place, offset = self.places[0]
        return place.of_row(offset)


class TableSource(Source):
    """A table whose parts (files, or one object) are opened one after the other.

    Attributes
    ----------
    weight_column : column of weights, None: one each.

    """

    def __init__(self, name: str, parts: Parts, request: Request, drop_null: bool) -> None:
        self.name, self._parts, self._request, self.drop_null = name, parts, request, drop_null
        with self._first() as part:
            self._layout = layout_of(part, request)
            # the allocator is slow to give memory back
            buffers = 3 * part.buffers(self._layout.types) // 2
            self.overhead = buffers + READ_BYTES if buffers else 0
            self._says_rows = part.n_rows is not None
            self.n_rows = part.n_rows if len(parts) == 1 else None
        self.columns, self.left_out = self._layout.names, self._layout.left_out
        self.n_columns = self.held = len(self.columns)
        self.dtype: np.dtype[Any] = self._layout.dtype
        self.read_bytes = self._layout.read_bytes
        self.id_columns, self.weight_column = request.ids, request.weight

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
        """Nothing is read while it is not clear what; ``select`` may make it clear."""
        if self._layout.problem:
            raise SourceError(self._layout.problem)

    def pieces(self, n_rows: int) -> Iterator[Piece]:
        """All rows in order; every piece but the last has ``n_rows``, however the parts are cut."""
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
        """As the files say, where they do; Parquet files and objects in memory."""
        if self.n_rows is None and self._says_rows:
            self.n_rows = 0
            for opened in self._parts:
                with opened() as part:
                    self.n_rows += part.n_rows or 0
        return super().count()

    def ids(self, n_rows: int) -> Iterator[dict[str, Any]]:
        """Values of the id columns by name, as chunked arrays; of text files as they are written."""
        if not self.id_columns:
            raise SourceError(f"{self.name} has no id columns.")
        for packed in self._packed(n_rows, verbatim=True):
            table = pa.Table.from_batches(packed.batches)
            yield {name: table.column(name) for name in self.id_columns}

    def _packed(self, n_rows: int, verbatim: bool) -> Iterator["Packed"]:
        """Batches, cut and put together to ``n_rows`` rows."""
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
        """Columns of all parts as they are stored: those of the ids (``verbatim``), or features and weights."""
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

    def select(self, columns: Sequence[str]) -> Self:
        """The same rows with these features; weights are kept if there are any."""
        weight = self.weight_column if self.weight_column in self._layout.types else None
        request = replace(self._request, columns=tuple(columns), exclude=(), weight=weight)
        return type(self)(self.name, self._parts, request, self.drop_null)
