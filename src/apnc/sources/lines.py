"""Lines of text files, compressed or not, local or remote, that can be read repeatedly."""

import bz2
import codecs
import gzip
import io
import os
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import IO, NamedTuple

from apnc.sources.files import DataFile, unreadable
from apnc.sources.pieces import Piece, SourceError

READ_BYTES = 1 << 20


class Line(NamedTuple):
    """A line of a file; numbers count from 1."""

    name: str
    number: int
    text: bytes

    @property
    def where(self) -> str:
        """File and line, for messages."""
        return f"{self.name}, line {self.number}"


class Lines:
    """Some lines, as three flat lists: a list of tuples would keep the garbage collector busy."""

    def __init__(self, lines: Iterable[Line]) -> None:
        self._names: list[str] = []
        self._numbers: list[int] = []
        self.texts: list[bytes] = []
        for name, number, text in lines:
            self._names.append(name)
            self._numbers.append(number)
            self.texts.append(text)

    def where(self, i: int) -> str:
        """File and number of a line, for messages."""
        return Line(self._names[i], self._numbers[i], b"").where

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[Line]:
        return map(Line, self._names, self._numbers, self.texts)


def in_pieces(lines: Iterable[Line], n_rows: int) -> Iterator[Piece]:
    """``Lines``, at most ``n_rows`` at a time, across files too; a piece is named after its first line."""
    left, start = iter(lines), 0
    while batch := Lines(islice(left, n_rows)):
        yield Piece(batch, start, len(batch), batch.where(0))
        start += len(batch)


def lines_of(files: Iterable[DataFile]) -> Iterator[Line]:
    """All lines of the files, one file after the other."""
    for file in files:
        number = 0
        try:
            with _opened(file) as stream:
                for number, text in enumerate(stream, start=1):
                    text = text.removeprefix(codecs.BOM_UTF8) if number == 1 else text
                    yield Line(file.name, number, text)
        except SourceError:
            raise
        except unreadable() as error:
            raise SourceError(
                f"{file.name}, after line {number}: cannot read further: {error or type(error).__name__}. The file may "
                "be damaged or cut off."
            ) from error


def _opened(file: DataFile) -> IO[bytes] | io.BufferedIOBase:
    """The file as a binary stream; pyarrow, which is optional, is used only where it is needed."""
    ending = os.path.splitext(file.path)[1].lower()
    if file.filesystem is not None or ending == ".zst":
        return io.BufferedReader(file.stream(), READ_BYTES)
    if ending in (".gz", ".bz2"):
        return (gzip if ending == ".gz" else bz2).open(file.path, "rb")
    return open(file.path, "rb", buffering=READ_BYTES)
