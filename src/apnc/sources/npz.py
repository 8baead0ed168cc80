"""Sparse rows of ``.npz`` archives, streamed from front to back: scipy would load them all."""

import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from apnc.rows import as_csr
from apnc.sources.arrays import delivered_dtype, read_header, refuse_kind
from apnc.sources.family import Source
from apnc.sources.files import DataFile, Files, located
from apnc.sources.pieces import Piece, SourceError
from apnc.typing import Array

MEMBERS = ("shape", "indptr", "indices", "data")
#: Bytes that the decompressors read ahead and hold.
BUFFERS = 4 << 20
DAMAGED = "The file is damaged or cut off; write or copy it again."


class NpzSource(Source):
    """Rows of a CSR matrix saved by ``scipy.sparse.save_npz``.

    ``indptr`` is held in memory; values and column numbers are streamed, and their checksums are verified after the
    last row.

    Attributes
    ----------
    n_rows : rows of the matrix.

    """

    is_sparse = True
    n_rows: int

    def __init__(self, file: DataFile, drop_null: bool = False) -> None:
        self.name, self._file, self.drop_null = file.name, file, drop_null
        with self._archive() as archive:
            _refuse_other(self.name, archive)
            shape = tuple(Member(self.name, archive, "shape").read().tolist())
            if len(shape) != 2 or min(shape) < 0 or shape[1] == 0:
                raise SourceError(f"{self.name}: has shape {shape}, expected (rows, features).")
            self.n_rows, self.n_columns = map(int, shape)
            self._indptr = Member(self.name, archive, "indptr").read()
            data, indices = self._streams(archive)
        _refuse_indptr(self.name, self._indptr, self.n_rows, data.size, indices.size)
        narrow = data.dtype.kind == "f" and data.dtype.itemsize == 2
        # scipy has no sparse float16
        self.dtype = np.dtype(np.float32) if narrow else delivered_dtype(data.dtype)
        self.held = -(-int(self._indptr[-1]) // max(1, self.n_rows))
        # Read, then copied if types change or columns are out of order.
        self.read_bytes = 2 * self.held * (data.dtype.itemsize + indices.dtype.itemsize) + 16
        self.overhead = self._indptr.nbytes + BUFFERS

    @contextmanager
    def _archive(self) -> Iterator[zipfile.ZipFile]:
        with located(self.name, DAMAGED):
            archive = zipfile.ZipFile(self._file.path)
        with archive:
            yield archive

    def _streams(self, archive: zipfile.ZipFile) -> tuple["Member", "Member"]:
        data, indices = (Member(self.name, archive, member) for member in ("data", "indices"))
        if indices.dtype.kind not in "iu":
            raise SourceError(f"{indices.where}: column numbers must be integers, found {indices.dtype}.")
        return data, indices

    def pieces(self, n_rows: int) -> Iterator[Piece]:
        """Triples (data, indices, indptr); rows count from 0."""
        with self._archive() as archive:
            members = self._streams(archive)
            for start in range(0, self.n_rows, n_rows):
                stop = min(start + n_rows, self.n_rows)
                indptr = self._indptr[start : stop + 1] - self._indptr[start]
                data, indices = (member.read(int(indptr[-1]), stop == self.n_rows) for member in members)
                yield Piece((data, indices, indptr), start, stop - start, f"{self.name}, row {start}")

    def matrix(self, piece: Piece) -> tuple[Any, None]:
        """CSR array of shape (n, d), each column at most once in a row."""
        data, *rest = piece.raw
        shape = (piece.n_rows, self.n_columns)
        with located(f"{self.name}, rows {piece.start} to {piece.start + piece.n_rows - 1}", DAMAGED):
            rows = sparse.csr_array((data.astype(self.dtype, copy=False), *rest), shape=shape)
            rows.check_format()
        return as_csr(rows), None


def open_npz(data: Files, format: str, drop_null: bool) -> NpzSource:
    """Open a sparse matrix saved by scipy."""
    return NpzSource(data.only_local(format), drop_null)


class Member:
    """A one-dimensional array of an archive, read from front to back."""

    def __init__(self, name: str, archive: zipfile.ZipFile, member: str) -> None:
        self.where = f"{name}, member {member}.npy"
        with located(self.where, DAMAGED):
            self._stream: Any = archive.open(f"{member}.npy")
            shape, _, self.dtype = read_header(self._stream, self.where)
            refuse_kind(self.where, self.dtype)
            stored = archive.getinfo(f"{member}.npy").file_size - self._stream.tell()
        if len(shape) != 1:
            raise SourceError(f"{self.where}: has shape {shape}, expected one dimension.")
        self.size = shape[0]
        if stored != self.size * self.dtype.itemsize:
            raise SourceError(
                f"{self.where}: the header promises {self.size:,} values of {self.dtype}, the archive holds {stored:,} "
                "bytes of them. The file is damaged."
            )

    def read(self, count: int | None = None, last: bool = True) -> Array:
        """The next ``count`` values, or all; after the ``last`` ones the checksum is verified.

        Integers are signed and in native byte order, as scipy's loops need them.
        """
        values = np.empty(self.size if count is None else count, self.dtype)
        with located(self.where, DAMAGED):
            missing = values.nbytes - self._stream.readinto(values.view(np.uint8))
            while last and self._stream.read(BUFFERS):
                pass
            if missing:
                raise EOFError(f"{missing:,} bytes are missing")
        kind = np.dtype(np.int64) if self.dtype.kind == "u" else self.dtype.newbyteorder("=")
        return values.astype(kind, copy=False)


def _refuse_other(name: str, archive: zipfile.ZipFile) -> None:
    """Refuse all but CSR matrices, since no other format can be read row by row."""
    there = [member.removesuffix(".npy") for member in archive.namelist()]
    if "format" not in there:
        raise SourceError(
            f"{name}: holds the arrays {', '.join(there) or '(none)'}, not a sparse matrix. Save the rows alone with "
            "numpy.save as .npy, or with scipy.sparse.save_npz if they are sparse."
        )
    with located(f"{name}, member format.npy", DAMAGED), archive.open("format.npy") as stream:
        found = np.asarray(npy.read_array(stream, allow_pickle=False)).astype(str).item()
    if found != "csr":
        raise SourceError(
            f"{name}: the matrix is in {found.upper()} format, rows are read from CSR. Save matrix.tocsr() instead."
        )
    missing = [member for member in MEMBERS if member not in there]
    if missing:
        raise SourceError(f"{name}: the member {missing[0]}.npy is missing. The file is damaged.")


def _refuse_indptr(name: str, indptr: Array, n_rows: int, n_data: int, n_indices: int) -> None:
    where = f"{name}, member indptr.npy"
    if indptr.dtype.kind != "i" or len(indptr) != n_rows + 1:
        raise SourceError(
            f"{where}: {len(indptr):,} values of {indptr.dtype}, expected {n_rows + 1:,} integers for {n_rows:,} rows."
        )
    falling = indptr[1:] < indptr[:-1]
    if indptr[0] != 0 or falling.any():
        row = int(np.flatnonzero(falling)[0]) if falling.any() else 0
        raise SourceError(f"{where}: must ascend from 0, but does not at row {row}. The file is damaged.")
    if n_data != n_indices or n_data < indptr[-1]:
        raise SourceError(
            f"{name}: member data.npy has {n_data:,} values, indices.npy {n_indices:,}, but indptr.npy says "
            f"{indptr[-1]:,}. The file is damaged."
        )
