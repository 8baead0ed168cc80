"""Rows of ``.npy`` files and memory maps, read without mapping: mapped pages would count as memory in use."""

import mmap
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

import numpy as np
from numpy.lib import format as npy

from apnc.sources.family import Source
from apnc.sources.files import DataFile
from apnc.sources.pieces import Piece, SourceError
from apnc.typing import Array

Read = Callable[[int, int], Array]
#: Why arrays of other kinds are refused, by the kind of their dtype.
REFUSED = {
    "O": "Python objects, which would have to be unpickled; save numbers, or objects as JSON lines",
    "c": "complex numbers; save real and imaginary parts as columns",
    "V": "a structured array; save its fields as the columns of a plain one, or as Parquet",
}


class NpySource(Source):
    """Rows of a two-dimensional ``.npy`` file or memory map, in C or Fortran order.

    Attributes
    ----------
    n_rows : rows of the array.

    """

    n_rows: int

    def __init__(self, rows: "_Stored | _View", drop_null: bool = False) -> None:
        self._rows = rows
        self.name, self.drop_null = rows.name, drop_null
        self.n_rows, self.n_columns = rows.shape
        self.held = self.n_columns
        self.dtype = delivered_dtype(rows.dtype)
        copied = rows.fortran or rows.dtype != self.dtype
        self.read_bytes = self.n_columns * (rows.dtype.itemsize + copied * self.dtype.itemsize)

    def pieces(self, n_rows: int) -> Iterator[Piece]:
        """Arrays as they are stored; rows count from 0."""
        with self._rows.opened() as read:
            for start in range(0, self.n_rows, n_rows):
                stop = min(start + n_rows, self.n_rows)
                yield Piece(read(start, stop), start, stop - start, f"{self.name}, row {start}")

    def matrix(self, piece: Piece) -> tuple[Array, None]:
        """C-ordered array of shape (n, d) in native byte order."""
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(piece.raw, dtype=self.dtype), None


def open_npy(data: Any, format: str, drop_null: bool) -> NpySource:
    """Open a ``.npy`` file or a memory map: a whole map is read from its file, a view or private map in slices."""
    if not isinstance(data, np.memmap):
        return NpySource(_stored_in(data.only_local(format)), drop_null)
    name = "np.memmap" if data.filename is None else f"np.memmap of {data.filename}"
    _refuse(name, data.shape, data.dtype)
    return NpySource(_behind(data) or _View(name, data), drop_null)


@dataclass(frozen=True)
class _View:
    """A memory map whose values its file alone does not give: a view, or a private map."""

    name: str
    array: Any

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(self.array.shape)

    @property
    def dtype(self) -> np.dtype[Any]:
        return self.array.dtype

    @property
    def fortran(self) -> bool:
        return not self.array.flags.c_contiguous

    @contextmanager
    def opened(self) -> Iterator[Read]:
        yield lambda start, stop: np.array(self.array[start:stop])


@dataclass(frozen=True)
class _Stored:
    """An array stored in a file, starting at byte ``offset``."""

    file: DataFile
    offset: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool

    @property
    def name(self) -> str:
        return self.file.name

    @contextmanager
    def opened(self) -> Iterator[Read]:
        with open(self.file.path, "rb") as file:
            yield partial(self._read_columns if self.fortran else self._read_rows, file)

    def _read_rows(self, file: BinaryIO, start: int, stop: int) -> Array:
        d = self.shape[1]
        return self._values(file, start * d, (stop - start) * d).reshape(-1, d)

    def _read_columns(self, file: BinaryIO, start: int, stop: int) -> Array:
        n, d = self.shape
        return np.stack([self._values(file, j * n + start, stop - start) for j in range(d)], axis=1)

    def _values(self, file: BinaryIO, first: int, count: int) -> Array:
        file.seek(self.offset + first * self.dtype.itemsize)
        values = np.fromfile(file, self.dtype, count)
        if len(values) < count:
            self.refuse_short(os.fstat(file.fileno()).st_size)
            raise SourceError(f"{self.name}, byte {file.tell()}: the disk cannot be read.")
        return values

    def refuse_short(self, size: int) -> None:
        """Refuse a file of ``size`` bytes that holds fewer rows than its header declares; extra bytes are ignored."""
        n, d = self.shape
        values = max(0, size - self.offset) // self.dtype.itemsize
        if values < n * d:
            found = max(0, values - (d - 1) * n) if self.fortran else values // d
            raise SourceError(
                f"{self.name}: the header promises {n:,} rows of {d} {self.dtype} columns, the file holds {found:,}. "
                "It was cut off; write or copy it again."
            )


def _stored_in(file: DataFile) -> _Stored:
    with open(file.path, "rb") as stream:
        shape, fortran, dtype = read_header(stream, file.name)
        stored = _Stored(file, stream.tell(), shape, dtype, fortran)
        size = os.fstat(stream.fileno()).st_size
    _refuse(file.name, shape, dtype)
    stored.refuse_short(size)
    return stored


def read_header(file: Any, where: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Shape, whether in Fortran order, and dtype of a ``.npy`` stream, which is left positioned at the first value."""
    try:
        version = npy.read_magic(file)
        if version == (1, 0):
            return npy.read_array_header_1_0(file)
        if version == (2, 0):
            return npy.read_array_header_2_0(file)
    except OSError:
        raise
    except Exception as error:  # numpy passes on whatever Python's parser raises
        reason = str(error).rstrip(".").partition("\n")[0]
        raise SourceError(f"{where}: not a .npy file, or a damaged one: {reason}.") from error
    raise SourceError(
        f"{where}: .npy format {version[0]}.{version[1]} is for structured arrays; save a plain one."
    )


def refuse_kind(where: str, dtype: np.dtype[Any]) -> None:
    """Refuse all but real numbers and booleans."""
    if dtype.kind not in "biuf":
        kind = "O" if dtype.hasobject else dtype.kind
        raise SourceError(f"{where}: holds {REFUSED.get(kind, f'{dtype}; save numbers')}.")


def _refuse(where: str, shape: tuple[int, ...], dtype: np.dtype[Any]) -> None:
    refuse_kind(where, dtype)
    if len(shape) == 1:
        raise SourceError(
            f"{where}: has shape {shape}, but rows need two dimensions. Save array.reshape(-1, 1) if each value is "
            "a row, array.reshape(1, -1) if it is a single row."
        )
    if len(shape) != 2 or min(shape) < 0 or shape[1] == 0:
        raise SourceError(f"{where}: has shape {shape}, expected (rows, features).")


def delivered_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Type of the decoded rows: in native byte order, extended precision as float64."""
    extended = dtype.kind == "f" and dtype.itemsize > 8
    return np.dtype(np.float64) if extended else dtype.newbyteorder("=")


def _behind(array: Any) -> _Stored | None:
    """The part of a file that a memory map covers; None for views, whose ``offset`` is that of the whole map."""
    whole = isinstance(array.base, mmap.mmap) and array.mode != "c" and array.filename is not None
    if not whole or not os.path.isfile(array.filename):
        return None
    fortran = not array.flags.c_contiguous
    return _Stored(DataFile(str(array.filename)), array.offset, array.shape, array.dtype, fortran)
