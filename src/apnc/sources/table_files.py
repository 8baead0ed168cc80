"""Where the files of a table are: paths, folders and URIs, and the format that their names tell."""

import io
import os
import threading
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from pyarrow import fs

from apnc.sources.formats import format_named
from apnc.sources.open_files import OwnPosition
from apnc.sources.pieces import SourceError


@contextmanager
def located(where: str) -> Iterator[None]:
    """What goes wrong with a file inside is an error that begins with ``where``."""
    try:
        yield
    except SourceError:
        raise
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{where}: there is no such file or folder.") from error
    except (pa.ArrowException, OSError, ValueError, EOFError, MemoryError, zlib.error) as error:
        raise SourceError(f"{where}: {one_line(error)}") from error


def one_line(error: BaseException) -> str:
    """What an error says, on one line that is not too long."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 300 else f"{text[:300]}..."


@dataclass(frozen=True)
class DataFile:
    """A file on a file system, or a file object that the caller keeps open.

    Attributes
    ----------
    path : path on the file system; of a file object a name for messages.
    filesystem : a pyarrow file system; None: ``handle`` is used.
    handle : seekable binary file object.

    """

    path: str
    filesystem: Any = None
    handle: Any = None
    lock: Any = field(default_factory=threading.Lock, compare=False, repr=False)

    @property
    def is_local(self) -> bool:
        """Whether a small read is quick."""
        return self.filesystem is None or self.filesystem.type_name == "local"

    def open(self) -> Any:
        """The file, for reading anywhere in it."""
        if self.handle is None:
            return self.filesystem.open_input_file(self.path)
        return pa.PythonFile(io.BufferedReader(OwnPosition(self.handle, self.lock), 1 << 16), mode="r")

    def stream(self) -> Any:
        """The file from its beginning, decompressed if its name says that it is compressed."""
        if self.handle is None:
            return self.filesystem.open_input_stream(self.path, compression="detect")
        return self.open()


def find_files(paths: Any, filesystem: Any) -> list[DataFile]:
    """Files of a path or URI of a file or folder, or of a list of them; those of a folder sorted by path."""
    if filesystem is not None and not isinstance(filesystem, fs.FileSystem):
        raise SourceError(
            f"filesystem is a {type(filesystem).__name__}, not one of pyarrow. "
            "Wrap one of fsspec: pyarrow.fs.PyFileSystem(pyarrow.fs.FSSpecHandler(filesystem))."
        )
    listed = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
    if not listed:
        raise SourceError("An empty list of files has no rows.")
    return [file for path in listed for file in _expand(os.fspath(path), filesystem)]


def _expand(path: str, filesystem: Any) -> list[DataFile]:
    with located(path):
        if filesystem is None:
            filesystem, inner = (
                fs.FileSystem.from_uri(path) if "://" in path else (fs.LocalFileSystem(), path)
            )
        else:
            inner = path
        found = filesystem.get_file_info(inner)
        if found.type == fs.FileType.NotFound:
            raise FileNotFoundError(path)
        return (
            _below(inner, filesystem)
            if found.type == fs.FileType.Directory
            else [DataFile(inner, filesystem)]
        )


def _below(folder: str, filesystem: Any) -> list[DataFile]:
    """All files in a folder and its folders; names that begin with "_" or "." are not data."""
    found = filesystem.get_file_info(fs.FileSelector(folder, recursive=True))
    paths = sorted(info.path for info in found if info.type == fs.FileType.File)
    depth = len(folder.strip("/").split("/")) if folder.strip("/") else 0
    kept = [path for path in paths if not _is_hidden(path.strip("/").split("/")[depth:])]
    if not kept:
        raise SourceError(f"{folder}: there are no data files in this folder.")
    return [DataFile(path, filesystem) for path in kept]


def _is_hidden(names: list[str]) -> bool:
    return any(name.startswith(("_", ".")) for name in names)


def one_format(files: Sequence[DataFile], given: str) -> None:
    """Refuse files whose names tell of different formats; a name that tells none is taken as ``given``."""
    kinds = [format_named(file.path) or given for file in files]
    other = next((i for i, kind in enumerate(kinds) if kind != kinds[0]), None)
    if other is not None:
        raise SourceError(
            f"Files of two formats: {files[0].path} is {kinds[0]}, {files[other].path} is {kinds[other]}. "
            "Pass a list of files of one format."
        )
