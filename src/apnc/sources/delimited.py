"""CSV, TSV and other delimited text as parts of a table."""

import codecs
import csv as text
import io
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pyarrow as pa
from pyarrow import csv

from apnc.sources.files import DataFile, located, one_line
from apnc.sources.pieces import SourceError
from apnc.sources.table_readers import Part, Place, Types

#: Least number of bytes parsed at a time, and number of blocks that pyarrow reads ahead (measured by its allocator).
BLOCK, BLOCKS_AHEAD = 1 << 20, 36
#: Longest first line in bytes; a longer one is not text.
LONGEST_LINE = 1 << 26
#: Separators to look for if the first line has no comma.
OTHER_SEPARATORS = (";", "\t", "|")


class TextPart(Part):
    """A CSV or TSV file, read in blocks of lines; types are inferred from the first block.

    Numbers are float64, since integers in the first block may be followed by fractions later. A first line of numbers
    is data: columns are named column_0, column_1, ...

    Parameters
    ----------
    file : to read.
    delimiter : between values; None: a comma, and files whose first line suggests another are refused.

    """

    def __init__(self, file: DataFile, delimiter: str | None = None) -> None:
        self.name, self._file = file.name, file
        self._parse = csv.ParseOptions(delimiter=delimiter or ",", newlines_in_values=True)
        with located(self.name):
            head = _head(file)
            fields = _fields(head, delimiter or ",")
            if delimiter is None:
                self._refuse_other(fields)
            told = [field for field in fields if field.strip()]
            self._has_header = not told or not all(map(_is_number, told))
            names = None if self._has_header else [f"column_{j}" for j in range(len(fields))]
            block = max(BLOCK, 4 * max(map(len, head.split(b"\n"))))
            self._read = csv.ReadOptions(use_threads=False, block_size=block, column_names=names)
            self.empty = not fields
            self.schema = pa.schema([]) if self.empty else self._guess(head)

    def _refuse_other(self, fields: list[str]) -> None:
        """Refuse a first line without a comma that contains another separator."""
        other = _separator(fields)
        if other != ",":
            raise SourceError(
                f"{self.name}: values seem to be separated by {other!r}, not by commas. Pass "
                f"separator={other!r} (in apnc.open, or --separator)."
            )

    def _guess(self, head: bytes) -> Any:
        with pa.BufferReader(head) if len(head) < BLOCK else self._file.stream() as stream:
            found = self._explained(lambda: csv.open_csv(stream, self._read, self._parse)).schema
        return pa.schema([(field.name, _widest(field)) for field in found])

    def types(self, names: Iterable[str], verbatim: bool = False) -> dict[str, Any]:
        """Types to read columns as: text if ``verbatim``, so that 007 stays 007."""
        return dict.fromkeys(names, pa.string()) if verbatim else super().types(names)

    def batches(self, types: Types, n_rows: int) -> Iterator[tuple[Any, Place]]:
        convert = csv.ConvertOptions(column_types=dict(types), include_columns=list(types))
        line = 1 + self._has_header
        with located(self.name), self._file.stream() as stream:
            reader = self._explained(lambda: csv.open_csv(stream, self._read, self._parse, convert))
            while (batch := self._explained(lambda: next(reader, None))) is not None:
                yield batch, Place(self.name, line, self._true_line)
                line += batch.num_rows

    def _explained(self, read: Callable[[], Any]) -> Any:
        """The result of ``read()``; an error about a line names the line."""
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
            line = self._true_line(int(line))
            raise SourceError(f"{self.name}, line {line}:{where} {reason}") from error

    def _true_line(self, number: int) -> int:
        """The line, as an editor counts, where row ``number`` begins; pyarrow's row numbers skip empty lines."""
        found, inside = 0, False
        with self._file.stream() as stream:
            for line, content in enumerate(io.BufferedReader(stream, BLOCK), start=1):
                found += not inside and bool(content.strip(b"\r\n"))
                if found == number:
                    return line
                inside ^= content.count(b'"') % 2 == 1
        return number

    def buffers(self, names: Iterable[str]) -> int:
        """Blocks of text that are read ahead."""
        return BLOCKS_AHEAD * int(self._read.block_size)


def separator_of(file: DataFile) -> str:
    """The separator of a file: a comma, unless its first line has none and contains another separator."""
    with located(file.name):
        return _separator(_fields(_head(file), ","))


def _separator(fields: list[str]) -> str:
    """The separator, from a first line that was split at commas."""
    if len(fields) != 1:
        return ","
    return next((separator for separator in OTHER_SEPARATORS if separator in fields[0]), ",")


def _head(file: DataFile) -> bytes:
    """The first block, or the first line if that is longer."""
    with file.stream() as stream:
        head = stream.read(BLOCK)
        while len(head) < LONGEST_LINE and b"\n" not in head and (more := stream.read(len(head))):
            head += more
    return head


def _fields(head: bytes, delimiter: str) -> list[str]:
    """Values of the first line."""
    first = head.removeprefix(codecs.BOM_UTF8).lstrip(b"\r\n").split(b"\n", 1)[0]
    line = first.decode(errors="replace").rstrip("\r")
    try:
        return next(text.reader([line], delimiter=delimiter), [])
    except text.Error as error:
        if "\r" in line:
            raise ValueError(
                "the first line has a carriage return (\\r) without a line feed (\\n). Save the file with Unix (\\n) "
                "or Windows (\\r\\n) line endings."
            ) from error
        raise ValueError(f"the first line is not delimited text: {error}.") from error


def _is_number(field: str) -> bool:
    try:
        float(field)
    except ValueError:
        return False
    return True


def _widest(field: Any) -> Any:
    """float64 for every numeric type, and for a column without values unless it has no name, as at the end of lines."""
    number = pa.types.is_integer(field.type) or pa.types.is_floating(field.type)
    return pa.float64() if number or (pa.types.is_null(field.type) and field.name) else field.type
