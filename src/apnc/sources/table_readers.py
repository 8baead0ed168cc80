"""Parts of a table: Parquet, Arrow and text files and tables in memory, read in batches of some of their columns."""

import codecs
import csv as text
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv, ipc

from apnc.sources.family import SourceError
from apnc.sources.table_files import DataFile, located, one_line

#: Bytes of a column of a Parquet file that are read at a time: on a disk 16 to 256 KB are equally fast, while each
#: request over a network has to wait. And what most writers make of a page.
BUFFER, REMOTE_BUFFER, PAGE = 1 << 17, 1 << 21, 1 << 20
#: Bytes of text that are parsed at a time at least, and how many blocks pyarrow reads ahead (counted by its allocator).
BLOCK, BLOCKS_AHEAD = 1 << 20, 36
#: A first line that is longer is taken for no text.
LONGEST_LINE = 1 << 26

#: Columns to read and their types.
Types = Mapping[str, Any]


@dataclass(frozen=True)
class Place:
    """Where a batch comes from: a file or object and a row group or batch; ``line`` of the first row of text."""

    text: str
    line: int | None = None

    def of_row(self, offset: int) -> str:
        """Where a row of the batch is."""
        return self.text if self.line is None else f"{self.text}, line {self.line + offset}"


class Part(ABC):
    """One file or object of a table, open for reading.

    Attributes
    ----------
    name : path or description.
    schema : names and types of its columns.
    index : columns in which pandas has stored the index of a frame.
    empty : whether it is known to have no rows.
    n_rows : how many there are; None where that is not known before they are read.

    """

    name: str
    schema: Any
    index: frozenset[str] = frozenset()
    empty: bool = False
    n_rows: int | None = None
    _handle: Any = None

    @abstractmethod
    def batches(self, types: Types, n_rows: int) -> Iterator[tuple[Any, Place]]:
        """All rows in order as record batches with these columns, in any order; about ``n_rows`` in each."""

    @abstractmethod
    def buffers(self, names: Iterable[str]) -> int:
        """Memory that reading these columns takes besides the batches, about."""

    def types(self, names: Iterable[str], verbatim: bool = False) -> dict[str, Any]:
        """Types as which columns are read, for use as numbers or as they are written (``verbatim``)."""
        return {name: self.schema.field(name).type for name in names}

    def close(self) -> None:
        """Give the file back."""
        if self._handle is not None:
            self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class ParquetPart(Part):
    """A Parquet file. Columns are read in small pieces, so that no row group has to fit in memory."""

    def __init__(self, file: DataFile) -> None:
        self.name = file.path
        with located(self.name):
            self._handle = file.open()
            self._buffer = BUFFER if file.is_local else REMOTE_BUFFER
            self._file = pq.ParquetFile(
                self._handle, pre_buffer=False, buffer_size=self._buffer, page_checksum_verification=True
            )
            self.schema = self._file.schema_arrow
            self.index = _index_of(self.schema)
        self.n_rows = self._file.metadata.num_rows
        self.empty = self.n_rows == 0

    def batches(self, types: Types, n_rows: int) -> Iterator[tuple[Any, Place]]:
        for group in range(self._file.metadata.num_row_groups):
            place = f"{self.name}, row group {group}"
            with located(place):
                found, promised = 0, self._file.metadata.row_group(group).num_rows
                for batch in self._file.iter_batches(n_rows, [group], list(types), use_threads=True):
                    batch.validate(full=True)
                    found += batch.num_rows
                    yield batch, Place(place)
            if found != promised:
                raise SourceError(f"{place}: {promised:,} rows are promised, {found:,} were found.")

    def buffers(self, names: Iterable[str]) -> int:
        """Of each column what is read ahead, and one page as it is stored and unpacked."""
        metadata = self._file.metadata
        if not metadata.num_row_groups:
            return 0
        # A mean, because a damaged file can end the process when pyarrow is asked about a single column.
        column = metadata.row_group(0).total_byte_size // metadata.num_columns
        return len(list(names)) * (min(self._buffer + PAGE, column) + min(PAGE, column))


class ArrowPart(Part):
    """An Arrow file in the file or stream format; batches are read one at a time, as they were written."""

    def __init__(self, file: DataFile) -> None:
        self.name = file.path
        with located(self.name):
            self._handle = file.open()
            self._is_file = self._handle.read(6) == b"ARROW1"
            reader = self._reader([])
            self.schema = reader.schema
            self.index = _index_of(self.schema)
            self.empty = self._is_file and not reader.num_record_batches

    def _reader(self, fields: list[int]) -> Any:
        self._handle.seek(0)
        options = ipc.IpcReadOptions(included_fields=fields)
        return (ipc.open_file if self._is_file else ipc.open_stream)(self._handle, options=options)

    def _stored(self, types: Types) -> Iterator[Any]:
        reader = self._reader(sorted(self.schema.get_field_index(name) for name in types))
        if self._is_file:
            return (reader.get_batch(i) for i in range(reader.num_record_batches))
        return iter(reader)

    def batches(self, types: Types, n_rows: int) -> Iterator[tuple[Any, Place]]:
        with located(self.name):
            stored, number = self._stored(types), 0
        while True:
            place = f"{self.name}, batch {number}"
            with located(place):
                batch = next(stored, None)
                if batch is None:
                    return
                batch.validate(full=True)
            yield batch, Place(place)
            number += 1

    def buffers(self, names: Iterable[str]) -> int:
        """A batch, as large as the first, while the next is read."""
        with located(f"{self.name}, batch 0"):
            first = next(self._stored(self.types(names)), None)
        return 0 if first is None else 2 * int(first.nbytes)


class TextPart(Part):
    """A CSV or TSV file, read in blocks of lines; the first block tells the types.

    Numbers are float64, since a whole number in the first block may be followed by others later. A first
    line of numbers is data: columns are named column_0, column_1, ... Lines are counted without empty ones, and a
    value with line breaks in it as one.
    """

    def __init__(self, file: DataFile, delimiter: str = ",") -> None:
        self.name, self._file = file.path, file
        self._parse = csv.ParseOptions(delimiter=delimiter, newlines_in_values=True)
        with located(self.name):
            head = self._head()
            fields = next(text.reader([_first_line(head)], delimiter=delimiter), [])
            told = [field for field in fields if field.strip()]
            self._has_header = not told or not all(map(_is_number, told))
            names = None if self._has_header else [f"column_{j}" for j in range(len(fields))]
            block = max(BLOCK, 4 * max(map(len, head.split(b"\n"))))
            self._read = csv.ReadOptions(use_threads=False, block_size=block, column_names=names)
            self.empty = not fields
            self.schema = pa.schema([]) if self.empty else self._guess()

    def _head(self) -> bytes:
        """The first block, or the first line if that is longer."""
        with self._file.stream() as stream:
            head = stream.read(BLOCK)
            while len(head) < LONGEST_LINE and b"\n" not in head and (more := stream.read(len(head))):
                head += more
        return head

    def _guess(self) -> Any:
        with self._file.stream() as stream:
            found = self._explained(lambda: csv.open_csv(stream, self._read, self._parse)).schema
        return pa.schema([(field.name, _widest(field)) for field in found])

    def types(self, names: Iterable[str], verbatim: bool = False) -> dict[str, Any]:
        """Types as which columns are read: text if ``verbatim``, so that 007 stays 007."""
        return dict.fromkeys(names, pa.string()) if verbatim else super().types(names)

    def batches(self, types: Types, n_rows: int) -> Iterator[tuple[Any, Place]]:
        convert = csv.ConvertOptions(column_types=dict(types), include_columns=list(types))
        line = 1 + self._has_header
        with located(self.name), self._file.stream() as stream:
            reader = self._explained(lambda: csv.open_csv(stream, self._read, self._parse, convert))
            while (batch := self._explained(lambda: next(reader, None))) is not None:
                yield batch, Place(self.name, line)
                line += batch.num_rows

    def _explained(self, read: Callable[[], Any]) -> Any:
        """What ``read`` gives; an error about a line names it."""
        try:
            return read()
        except pa.ArrowInvalid as error:
            if "straddling" in str(error):
                size = f"{self._read.block_size:,} bytes"
                raise SourceError(
                    f"{self.name}: a line is longer than {size}, or a quote is not closed."
                ) from error
            told = re.search(r"(?:In CSV column #(\d+): )?Row #(\d+): (.*)", one_line(error))
            if told is None:
                raise
            column, line, reason = told.groups()
            where = "" if column is None else f" column {self.schema.names[int(column)]!r}:"
            raise SourceError(f"{self.name}, line {line}:{where} {reason}") from error

    def buffers(self, names: Iterable[str]) -> int:
        """Blocks of text."""
        return BLOCKS_AHEAD * int(self._read.block_size)


class TablePart(Part):
    """A table in memory."""

    def __init__(self, table: Any, name: str) -> None:
        self._table, self.name, self.schema = table, name, table.schema
        self.index, self.empty, self.n_rows = _index_of(table.schema), table.num_rows == 0, table.num_rows

    def batches(self, types: Types, n_rows: int) -> Iterator[tuple[Any, Place]]:
        for batch in self._table.select(list(types)).to_batches(max_chunksize=n_rows):
            yield batch, Place(self.name)

    def buffers(self, names: Iterable[str]) -> int:
        return 0


def _first_line(head: bytes) -> str:
    return (
        head.removeprefix(codecs.BOM_UTF8)
        .lstrip(b"\r\n")
        .split(b"\n", 1)[0]
        .decode(errors="replace")
        .rstrip("\r")
    )


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _widest(field: Any) -> Any:
    """float64 for every type of number, and for a column without values unless it only ends the lines."""
    number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
    return pa.float64() if number or (pa.types.is_null(field.type) and field.name) else field.type


def _index_of(schema: Any) -> frozenset[str]:
    """Columns in which pandas has stored the index of a frame."""
    noted = (schema.pandas_metadata or {}).get("index_columns", [])
    return frozenset(schema.names) & {name for name in noted if isinstance(name, str)}
