"""Lines of text files, compressed or not, local or not, read any number of times."""

import bz2
import codecs
import gzip
import io
import os
import threading
import zlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import Any, NamedTuple

from apnc.sources.formats import COMPRESSED
from apnc.sources.open_files import OwnPosition
from apnc.sources.pieces import Piece, SourceError

READ_BYTES = 1 << 20
#: What reading a damaged file raises; errors of pyarrow are of these types too.
UNREADABLE = (OSError, EOFError, ValueError, zlib.error)


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
        """File and number of a line."""
        return Line(self._names[i], self._numbers[i], b"").where

    def __len__(self) -> int:
        return len(self.texts)

    def __iter__(self) -> Iterator[Line]:
        return map(Line, self._names, self._numbers, self.texts)


@dataclass(frozen=True)
class TextFiles:
    """A file, the files of a folder in the order of their names, or an open binary file.

    Attributes
    ----------
    name : what was opened, for messages.
    files : name of each file, and a function that opens it from its beginning.

    """

    name: str
    files: tuple[tuple[str, Callable[[], io.BufferedIOBase]], ...]

    @classmethod
    def of(cls, data: Any, suffixes: tuple[str, ...] = (), filesystem: Any = None) -> "TextFiles":
        """Files at a path or URI, or at several; in a folder they must end in one of ``suffixes``."""
        if isinstance(data, list | tuple):
            parts = [cls.of(path, suffixes, filesystem) for path in data]
            return cls(", ".join(part.name for part in parts[:3]), sum((part.files for part in parts), ()))
        if hasattr(data, "read"):
            return _of_open_file(data)
        path = os.fspath(data)
        if filesystem is not None or "://" in path:
            return _of_filesystem(path, suffixes, filesystem)
        if not os.path.isdir(path):
            os.stat(path)
            return cls(path, ((path, partial(_open_local, path)),))
        names = [p.relative_to(path).as_posix() for p in Path(path).rglob("*") if p.is_file()]
        files = [os.path.join(path, name) for name in _data_files(path, names, suffixes)]
        return cls(path, tuple((file, partial(_open_local, file)) for file in files))

    def __iter__(self) -> Iterator[Line]:
        for name, opened in self.files:
            yield from _lines(name, opened)


def in_pieces(lines: Iterable[Line], n_rows: int) -> Iterator[Piece]:
    """``Lines``, at most ``n_rows`` at a time, across files too; a piece is named after its first line."""
    left, start = iter(lines), 0
    while batch := Lines(islice(left, n_rows)):
        yield Piece(batch, start, len(batch), batch.where(0))
        start += len(batch)


def _lines(name: str, opened: Callable[[], io.BufferedIOBase]) -> Iterator[Line]:
    number = 0
    try:
        with opened() as file:
            for number, text in enumerate(file, start=1):
                yield Line(name, number, text.removeprefix(codecs.BOM_UTF8) if number == 1 else text)
    except SourceError:
        raise
    except UNREADABLE as error:
        raise SourceError(
            f"{name}, after line {number}: cannot be read on: {error or type(error).__name__}. The file may be damaged "
            "or cut off."
        ) from error


def _open_local(path: str) -> io.BufferedIOBase:
    suffix = os.path.splitext(path)[1].lower()
    if suffix == ".gz":
        return gzip.open(path, "rb")
    if suffix == ".bz2":
        return bz2.open(path, "rb")
    if suffix == ".zst":
        return _buffered(_pyarrow(path).input_stream(path, compression="zstd"))
    return _buffered(open(path, "rb", buffering=0))


def _buffered(stream: Any) -> io.BufferedIOBase:
    return io.BufferedReader(stream, READ_BYTES)


def _pyarrow(path: str) -> Any:
    try:
        import pyarrow
        import pyarrow.fs
    except ImportError as error:
        raise SourceError(f'{path}: reading it needs pyarrow: pip install "apnc[files]".') from error
    return pyarrow


def _of_filesystem(path: str, suffixes: tuple[str, ...], filesystem: Any) -> TextFiles:
    fs = _pyarrow(path).fs
    name = path
    if filesystem is None:
        filesystem, path = fs.FileSystem.from_uri(path)
    kind = filesystem.get_file_info(path).type
    if kind == fs.FileType.NotFound:
        raise FileNotFoundError(f"{name} does not exist.")
    files = [path]
    if kind == fs.FileType.Directory:
        below = filesystem.get_file_info(fs.FileSelector(path, recursive=True))
        folder = PurePosixPath(path)
        names = [str(PurePosixPath(i.path).relative_to(folder)) for i in below if i.type == fs.FileType.File]
        files = [str(folder / file) for file in _data_files(name, names, suffixes)]
    return TextFiles(name, tuple((file, partial(_open_remote, filesystem, file)) for file in files))


def _open_remote(filesystem: Any, path: str) -> io.BufferedIOBase:
    return _buffered(filesystem.open_input_stream(path, compression="detect"))


def _data_files(folder: str, names: list[str], suffixes: tuple[str, ...]) -> list[str]:
    """Files of a folder, sorted; names that begin with "_" or "." are no data, any other must be of the format."""
    names = sorted(name for name in names if not any(part[0] in "_." for part in name.split("/")))
    strangers = [name for name in names if not is_named(name, suffixes)]
    if strangers and len(strangers) < len(names):
        own = next(name for name in names if name not in strangers)
        raise SourceError(
            f"{folder} holds {own} and {strangers[0]}, which are of different formats. Keep those to be read in a "
            'folder of their own, or begin the names of others with "_".'
        )
    if strangers or not names:
        raise SourceError(f"{folder} is a folder without {' or '.join(suffixes)} files.")
    return names


def is_named(name: str, suffixes: tuple[str, ...]) -> bool:
    """Whether a name ends in one of ``suffixes``, compressed or not."""
    stem, last = os.path.splitext(name.lower())
    return (stem if last in COMPRESSED else name.lower()).endswith(suffixes)


def _of_open_file(file: Any) -> TextFiles:
    name = str(getattr(file, "name", "the open file"))
    if isinstance(file, io.TextIOBase):
        raise SourceError(f"{name} is open as text; open it with mode 'rb'.")
    if not (hasattr(file, "seekable") and file.seekable()):
        raise SourceError(f"{name} cannot be rewound, but rows are read more than once. Save it to a file.")
    lock = threading.Lock()
    return TextFiles(name, ((name, lambda: _buffered(OwnPosition(file, lock))),))
