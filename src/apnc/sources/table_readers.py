"""Parts of a table: Parquet and Arrow files and tables in memory, read in batches of selected columns."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Self

import pyarrow.parquet as pq
from pyarrow import ipc

from apnc.sources.files import DataFile, located
from apnc.sources.pieces import SourceError

#: Bytes of a Parquet column read at a time: from a disk, where 16 to 256 KB are equally fast, and over a network, where
#: every request waits. And the size of a page that most writers use.
BUFFER, REMOTE_BUFFER, PAGE = 1 << 17, 1 << 21, 1 << 20

#: Columns to read and their types.
Types = Mapping[str, Any]


@dataclass(frozen=True)
class Place:
    """Where a batch comes from.

    Attributes
    ----------
    text : file or object, and row group or batch.
    line : line of the first row in text, not counting empty lines; None for other formats.
    true_line : converts such a number to the line as an editor counts.

    """

    text: str
    line: int | None = None
    true_line: Callable[[int], int] = int

    def of_row(self, offset: int) -> str:
        """The approximate place of a row of the batch."""
        return self.text if self.line is None else f"{self.text}, line {self.line + offset}"

    def exactly(self, offset: int, number: int) -> str:
        """The exact place of a row of the batch: its line, or its number in the source."""
        if self.line is None:
            return f"{self.text}, row {number}"
        return f"{self.text}, line {self.true_line(self.line + offset)}"


class Part(ABC):
    """One file or object of a table, open for reading.

    Attributes
    ----------
    name : path or description.
    schema : names and types of its columns.
    index : columns in which pandas stored the index of a frame.
    empty : whether it is known to have no rows.
    n_rows : number of rows; None if unknown before they are read.

    """

    name: str
    schema: Any
    index: frozenset[str] = frozenset()
    empty: bool = False
    n_rows: int | None = None
    _handle: Any = None

    @abstractmethod
    def batches(self, types: Types, n_rows: int) -> Iterator[tuple[Any, Place]]:
        """All rows in order, as record batches of about ``n_rows`` with these columns, which may be in any order."""

    @abstractmethod
    def buffers(self, names: Iterable[str]) -> int:
        """Approximate memory of reading these columns, besides the batches."""

    def types(self, names: Iterable[str], verbatim: bool = False) -> dict[str, Any]:
        """Types to read columns as: as numbers, or as they are written (``verbatim``)."""
        return {name: self.schema.field(name).type for name in names}

    def close(self) -> None:
        """Close the file."""
        if self._handle is not None:
            self._handle.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


#: Functions that open the parts of a table, and one that opens a file as a part.
Parts = list[Callable[[], Part]]
Reader = Callable[[DataFile], Part]


class ParquetPart(Part):
    """A Parquet file. Columns are read in small pieces, so that row groups need not fit in memory."""

    def __init__(self, file: DataFile) -> None:
        self.name = file.name
        with located(self.name):
            self._handle = file.open()
            self._buffer = BUFFER if file.filesystem is None else REMOTE_BUFFER
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
                raise SourceError(f"{place}: {promised:,} rows were expected, {found:,} were found.")

    def buffers(self, names: Iterable[str]) -> int:
        """For each column, what is read ahead, and one page both as stored and decompressed."""
        metadata = self._file.metadata
        if not metadata.num_row_groups:
            return 0
        # A mean, because a damaged file can crash the process when pyarrow is asked about a single column.
        column = metadata.row_group(0).total_byte_size // metadata.num_columns
        return len(list(names)) * (min(self._buffer + PAGE, column) + min(PAGE, column))


class ArrowPart(Part):
    """An Arrow file in the file or stream format; batches are read one at a time, as they were written.

    Parameters
    ----------
    file : to read.
    n_rows : number of rows if known; the format does not store it.

    """

    def __init__(self, file: DataFile, n_rows: int | None = None) -> None:
        self.name, self.n_rows = file.name, n_rows
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
        """Two batches as large as the first: one in use while the next is read."""
        with located(f"{self.name}, batch 0"):
            first = next(self._stored(self.types(names)), None)
        return 0 if first is None else 2 * int(first.nbytes)


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


def _index_of(schema: Any) -> frozenset[str]:
    """Columns in which pandas stored the index of a frame."""
    noted = (schema.pandas_metadata or {}).get("index_columns", [])
    return frozenset(schema.names) & {name for name in noted if isinstance(name, str)}
