"""Find files by path, folder, pattern, URI, open file, or a list of those. No other module looks for files."""

import hashlib
import io
import os
import sys
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from apnc.sources.formats import format_named
from apnc.sources.pieces import SourceError
from apnc.sources.spool import Spool, copied

WILD = frozenset("*?[")


def unreadable() -> tuple[type[Exception], ...]:
    """Exceptions that other libraries raise for damaged, encrypted or unknown content."""
    arrow = sys.modules.get("pyarrow")
    known = (OSError, ValueError, EOFError, MemoryError, NotImplementedError, RuntimeError, KeyError)
    damaged = (zlib.error, zipfile.BadZipFile)
    return (*known, *damaged) if arrow is None else (*known, *damaged, arrow.ArrowException)


@contextmanager
def located(where: str, advice: str = "") -> Iterator[None]:
    """Re-raise errors about a file with a message that begins with ``where`` and ends with ``advice``."""
    try:
        yield
    except SourceError:
        raise
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{where}: there is no such file or folder.") from error
    except unreadable() as error:
        text = one_line(error)
        raise SourceError(
            f"{where}: {text.rstrip('.')}. {advice}" if advice else f"{where}: {text}"
        ) from error


def one_line(error: BaseException) -> str:
    """The message of an error on one line, cut if it is too long."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else f"{text[:300]}..."


@dataclass(frozen=True)
class DataFile:
    """A file.

    Attributes
    ----------
    path : path in its filesystem.
    filesystem : a pyarrow filesystem; None: the local one.
    folders : names of the folders from the requested folder down to the file.
    label : name for messages; empty: the path.
    spool : the temporary file at ``path``, kept alive by this object.

    """

    path: str
    filesystem: Any = None
    folders: tuple[str, ...] = ()
    label: str = ""
    spool: Spool | None = field(default=None, compare=False, repr=False)

    @property
    def name(self) -> str:
        """Name for messages."""
        return self.label or self.path

    def open(self) -> Any:
        """The file, opened by pyarrow for random access."""
        return self._system().open_input_file(self.path)

    def stream(self) -> Any:
        """The file as a stream, decompressed if its name has the ending of a compressed file."""
        return self._system().open_input_stream(self.path, compression="detect")

    def stamp(self) -> list[Any]:
        """Name, size and time of change; of a copy a digest instead of the time; on other filesystems the name."""
        if self.filesystem is not None:
            return [self.name]
        found = os.stat(self.path)
        if self.spool is None:
            return [os.path.abspath(self.path), found.st_size, found.st_mtime_ns]
        with open(self.path, "rb") as file:
            return [self.name, found.st_size, hashlib.file_digest(file, "blake2b").hexdigest()[:16]]

    def _system(self) -> Any:
        if self.filesystem is not None:
            return self.filesystem
        from pyarrow import fs

        return fs.LocalFileSystem()


@dataclass(frozen=True)
class Files:
    """One or more files in order, with a common name for messages."""

    name: str
    files: tuple[DataFile, ...]

    def __iter__(self) -> Iterator[DataFile]:
        return iter(self.files)

    def only_local(self, format: str) -> DataFile:
        """The only file, for formats that are read from a single local file."""
        if len(self.files) == 1 and self.files[0].filesystem is None:
            return self.files[0]
        raise SourceError(
            f"{self.name}: {format} is read from a single local file; copy it here, or store the rows as Parquet."
        )


def find_files(data: Any, filesystem: Any = None) -> Files:
    """The files of a path, pattern, URI, folder (sorted by path) or open file, or of a list of those."""
    if isinstance(data, DataFile):
        return Files(data.name, (data,))
    if hasattr(data, "read"):
        return find_files(_of_open_file(data))
    if isinstance(data, str | os.PathLike):
        return Files(os.fspath(data), tuple(_expand(os.fspath(data), filesystem)))
    if not isinstance(data, list | tuple):
        raise SourceError(
            f"A {type(data).__name__} is neither a table nor a file. Pass a path, a binary file, a pyarrow Table, a "
            "polars or pandas frame, or any other object that provides Arrow data."
        )
    if not data:
        raise SourceError("An empty list of files has no rows.")
    return Files(f"{len(data)} files", tuple(file for item in data for file in find_files(item, filesystem)))


def _of_open_file(handle: Any) -> DataFile:
    """An open file: by its path if it has one, else a copy of its content."""
    named = getattr(handle, "name", None)
    name = named if named and isinstance(named, str) else type(handle).__name__
    if isinstance(handle, io.TextIOBase):
        raise SourceError(f"{name} is open as text; open it with mode 'rb'.")
    if isinstance(handle, io.BufferedReader | io.FileIO) and _is_at(handle, name):
        return DataFile(name)
    if getattr(handle, "seekable", bool)():
        handle.seek(0)
    spool = copied(handle, name)
    return DataFile(spool.path, label=name, spool=spool)


def _is_at(handle: Any, path: str) -> bool:
    try:
        return os.path.isfile(path) and os.path.samestat(os.fstat(handle.fileno()), os.stat(path))
    except OSError:
        return False


def _expand(path: str, filesystem: Any) -> list[DataFile]:
    with located(path):
        system, base = _file_system(path, filesystem)
        kind = _kind(system, base)
        if kind == "file":
            return [DataFile(base, system)]
        if kind == "pipe":
            with open(base, "rb") as handle:
                return [_of_open_file(handle)]
        base, pattern = (base, ()) if kind == "folder" else _split(base)
        if kind is None and (not pattern or _kind(system, base) != "folder"):
            raise FileNotFoundError(path)
        names = sorted("/".join(parts) for parts in _below(system, base, pattern))
        found = [DataFile(os.path.join(base, name), system, tuple(name.split("/"))[:-1]) for name in names]
    if not found:
        raise SourceError(
            f"{path}: {'no file matches this pattern' if pattern else 'there are no data files in this folder'}."
        )
    return found


def _file_system(path: str, filesystem: Any) -> tuple[Any, str]:
    """None and a local path, or a pyarrow filesystem and a path in it."""
    if filesystem is None and "://" not in path:
        return None, path
    from pyarrow import fs

    if filesystem is None:
        filesystem, path = fs.FileSystem.from_uri(path)
        return (None if filesystem.type_name == "local" else filesystem), path
    if not isinstance(filesystem, fs.FileSystem):
        raise SourceError(
            f"filesystem is a {type(filesystem).__name__}, not a pyarrow filesystem. "
            "Wrap an fsspec filesystem: pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(filesystem))."
        )
    return filesystem, path


def _kind(system: Any, path: str) -> str | None:
    if system is None:
        known = {"folder": os.path.isdir, "file": os.path.isfile, "pipe": os.path.exists}
        return next((kind for kind, is_so in known.items() if is_so(path)), None)
    from pyarrow.fs import FileType

    found = system.get_file_info(path).type
    return {FileType.NotFound: None, FileType.Directory: "folder"}.get(found, "file")


def _split(path: str) -> tuple[str, tuple[str, ...]]:
    """The folder before the first wildcard, and the pattern from there on, which is empty without a wildcard."""
    parts = path.split("/")
    first = next((i for i, part in enumerate(parts) if WILD & set(part)), len(parts))
    folder = "/".join(parts[:first]) or ("/" if path.startswith("/") else ".")
    return folder, tuple(part for part in parts[first:] if part)


def _below(system: Any, folder: str, pattern: Sequence[str]) -> Iterator[tuple[str, ...]]:
    """Relative paths of the matching files below a folder, as tuples of names."""
    if system is None:
        paths = _walk(folder, pattern)
    else:
        from pyarrow.fs import FileSelector

        found = system.get_file_info(FileSelector(folder, recursive=True))
        paths = (info.path for info in found if info.is_file)
    return (way for path in paths if _fits(way := _way(folder, path), pattern))


def _walk(folder: str, pattern: Sequence[str]) -> Iterator[str]:
    """Paths of local files below a folder, except in folders that cannot contain a match."""

    def refuse(error: OSError) -> None:
        raise error

    for inside, folders, names in os.walk(folder, onerror=refuse, followlinks=True):
        paths = {name: os.path.join(inside, name) for name in (*folders, *names)}
        folders[:] = [name for name in folders if _fits(_way(folder, paths[name]), pattern, on_the_way=True)]
        yield from (paths[name] for name in names if os.path.isfile(paths[name]))


def _way(folder: str, path: str) -> tuple[str, ...]:
    return tuple(path.removeprefix(folder).strip("/").split("/"))


def _fits(way: Sequence[str], pattern: Sequence[str], on_the_way: bool = False) -> bool:
    """Whether a file, or a folder above it, matches; ``on_the_way``: whether a file below this folder may match.

    ``**`` matches any number of folders. Names that begin with "_" or "." match only a pattern that begins likewise.
    """
    if not way:
        return on_the_way or not pattern
    first, *rest = pattern or ("*",)
    if first == "**":
        return _fits(way, rest or ("*",), on_the_way) or (
            way[0][0] not in "_." and _fits(way[1:], pattern, on_the_way)
        )
    shown = way[0][0] not in "_." or way[0][0] == first[0]
    return shown and fnmatchcase(way[0], first) and _fits(way[1:], rest, on_the_way)


def one_format(files: Iterable[DataFile], given: str) -> None:
    """Refuse files of different formats by their endings; a file without a known ending is taken as ``given``."""
    first, *others = [(file.name, format_named(file.name) or given) for file in files]
    other = next((other for other in others if other[1] != first[1]), None)
    if other is not None:
        raise SourceError(
            f"Files of two formats: {first[0]} is {first[1]}, {other[0]} is {other[1]}. Pass a list or a pattern of "
            'files of one format, or begin the names of others with "_".'
        )
