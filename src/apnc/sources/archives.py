"""Arrays in ``.npz`` archives, read from front to back."""

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from apnc.sources.arrays import read_header, refuse_kind
from apnc.sources.pieces import SourceError
from apnc.typing import Array

#: Bytes that are decompressed at a time.
BLOCK_BYTES = 1 << 20
#: What zipfile and zlib raise for damaged, encrypted or unknown content.
UNREADABLE = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    KeyError,
    ValueError,
)


class Member:
    """A one-dimensional array of an archive, read from front to back."""

    def __init__(self, name: str, archive: zipfile.ZipFile, member: str) -> None:
        self.where = f"{name}, member {member}.npy"
        with errors(self.where):
            self._stream: Any = archive.open(f"{member}.npy")
            shape, _, self.dtype = read_header(self._stream, self.where)
            refuse_kind(self.where, self.dtype)
            stored = archive.getinfo(f"{member}.npy").file_size - self._stream.tell()
        if len(shape) != 1:
            raise SourceError(f"{self.where}: has the shape {shape}, expected one dimension.")
        self.size = shape[0]
        if stored != self.size * self.dtype.itemsize:
            raise SourceError(
                f"{self.where}: the header promises {self.size:,} values of {self.dtype}, the archive holds {stored:,} "
                "bytes of them. The file is damaged."
            )

    def read(self, count: int) -> Array:
        """The next ``count`` values; in blocks, since each is copied once more on its way."""
        room = np.empty(count * self.dtype.itemsize, dtype=np.uint8)
        view, done = room.data, 0
        with errors(self.where):
            while done < len(view):
                got = self._stream.readinto(view[done : done + BLOCK_BYTES])
                if not got:
                    raise EOFError(f"{len(view) - done:,} bytes are missing")
                done += got
        return room.view(self.dtype)

    def finish(self) -> None:
        """Read to the end, where the checksum is compared."""
        with errors(self.where):
            while self._stream.read(BLOCK_BYTES):
                pass

    def whole(self) -> Array:
        """All values, with the checksum compared."""
        values = self.read(self.size)
        self.finish()
        return native(values)


@contextmanager
def errors(where: str) -> Iterator[None]:
    """Turn what reading raises into an error that names ``where``."""
    try:
        yield
    except (SourceError, FileNotFoundError):
        raise
    except UNREADABLE as error:
        raise SourceError(
            f"{where}: {error}. The file is damaged or cut off; write or copy it again."
        ) from error


@contextmanager
def open_archive(name: str) -> Iterator[zipfile.ZipFile]:
    """A zip file, closed at the end."""
    with errors(name):
        archive = zipfile.ZipFile(name)
    with archive:
        yield archive


def native(values: Array) -> Array:
    """Signed integers in the byte order of the machine, as scipy's loops need them."""
    dtype = np.dtype(np.int64) if values.dtype.kind == "u" else values.dtype.newbyteorder("=")
    return values.astype(dtype, copy=False)
