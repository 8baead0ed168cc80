"""Sparse rows: CSR matrices that scipy saved, and svmlight text."""

import copy
import io
import os
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.lib import format as npy
from scipy import sparse

from apnc.rows import as_csr
from apnc.sources.archives import BLOCK_BYTES, Member, errors, native, open_archive
from apnc.sources.arrays import delivered_dtype, local_path
from apnc.sources.family import Source
from apnc.sources.formats import FORMATS
from apnc.sources.lines import Line, Lines, TextFiles, in_pieces
from apnc.sources.pieces import Piece, SourceError
from apnc.typing import Array

MEMBERS = ("shape", "indptr", "indices", "data")


class NpzSource(Source):
    """Rows of a CSR matrix saved by ``scipy.sparse.save_npz``.

    ``indptr`` is held in memory; values and column numbers stream through, and their checksums are compared when the
    last row is read.

    Attributes
    ----------
    n_rows : rows of the matrix.

    """

    is_sparse = True
    n_rows: int

    def __init__(self, path: str | os.PathLike[str], drop_null: bool = False) -> None:
        self.name, self.drop_null = os.fspath(path), drop_null
        with open_archive(self.name) as archive:
            _refuse_other(self.name, archive)
            self.n_rows, self.n_columns = _shape(self.name, Member(self.name, archive, "shape"))
            self._indptr = Member(self.name, archive, "indptr").whole()
            data, indices = self._streams(archive)
        _refuse_indptr(self.name, self._indptr, self.n_rows, data.size, indices.size)
        self.dtype = _sparse_dtype(data.dtype)
        self.held = -(-int(self._indptr[-1]) // max(1, self.n_rows))
        # Read, then copied if types change or columns are out of order.
        self.read_bytes = 2 * self.held * (data.dtype.itemsize + indices.dtype.itemsize) + 16
        self.overhead = self._indptr.nbytes + 4 * BLOCK_BYTES

    def _streams(self, archive: zipfile.ZipFile) -> tuple[Member, Member]:
        data, indices = (Member(self.name, archive, member) for member in ("data", "indices"))
        if indices.dtype.kind not in "iu":
            raise SourceError(f"{indices.where}: column numbers must be integers, found {indices.dtype}.")
        return data, indices

    def pieces(self, n_rows: int) -> Iterator[Piece]:
        """Triples (data, indices, indptr); rows count from 0."""
        with open_archive(self.name) as archive:
            members = self._streams(archive)
            for start in range(0, self.n_rows, n_rows):
                stop = min(start + n_rows, self.n_rows)
                indptr = self._indptr[start : stop + 1] - self._indptr[start]
                data, indices = (member.read(int(indptr[-1])) for member in members)
                if stop == self.n_rows:
                    for member in members:
                        member.finish()
                yield Piece((data, indices, indptr), start, stop - start, f"{self.name}, row {start}")

    def matrix(self, piece: Piece) -> tuple[Any, None]:
        """CSR array of shape (n, d), each column at most once in a row."""
        data, indices, indptr = piece.raw
        if len(indices) and not 0 <= indices.min() <= indices.max() < self.n_columns:
            self._refuse_column(piece)
        shape = (piece.n_rows, self.n_columns)
        parts = (data.astype(self.dtype, copy=False), native(indices), native(indptr))
        return as_csr(sparse.csr_array(parts, shape=shape)), None

    def _refuse_column(self, piece: Piece) -> None:
        _, indices, indptr = piece.raw
        first = int(np.flatnonzero((indices < 0) | (indices >= self.n_columns))[0])
        row = piece.start + int(np.searchsorted(indptr, first, side="right")) - 1
        raise SourceError(
            f"{self.name}, member indices.npy: row {row} has a value in column {indices[first]} of "
            f"{self.n_columns}. The file is damaged."
        )


def open_npz(data: Any, format: str, drop_null: bool) -> NpzSource:
    """A sparse matrix that scipy saved."""
    return NpzSource(local_path(data, format), drop_null)


def open_svmlight(
    data: Any, format: str, drop_null: bool, zero_based: bool | str = "auto"
) -> "SvmlightSource":
    """Svmlight text."""
    return SvmlightSource(local_path(data, format), drop_null, zero_based=zero_based)


def _refuse_other(name: str, archive: zipfile.ZipFile) -> None:
    """Only a CSR matrix can be read row by row."""
    there = [member.removesuffix(".npy") for member in archive.namelist()]
    if "format" not in there:
        raise SourceError(
            f"{name}: holds the arrays {', '.join(there) or '(none)'}, not a sparse matrix. Save the rows alone by "
            "numpy.save as .npy, or by scipy.sparse.save_npz if they are sparse."
        )
    where = f"{name}, member format.npy"
    with errors(where), archive.open("format.npy") as stream:
        found = np.asarray(npy.read_array(stream, allow_pickle=False)).astype(str).item()
    if found != "csr":
        raise SourceError(
            f"{name}: the matrix is in {found.upper()} format, rows are read from CSR. Save matrix.tocsr() instead."
        )
    missing = [member for member in MEMBERS if member not in there]
    if missing:
        raise SourceError(f"{name}: the member {missing[0]}.npy is missing. The file is damaged.")


def _shape(name: str, member: Member) -> tuple[int, int]:
    shape = tuple(member.whole().tolist())
    if len(shape) != 2 or min(shape) < 0 or shape[1] == 0:
        raise SourceError(f"{name}: has the shape {shape}, expected (rows, features).")
    return int(shape[0]), int(shape[1])


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


def _sparse_dtype(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """As for arrays; scipy has no sparse float16."""
    return np.dtype(np.float32) if dtype.kind == "f" and dtype.itemsize == 2 else delivered_dtype(dtype)


class SvmlightSource(Source):
    """Rows of svmlight / libsvm text: ``label index:value ... # comment``; labels and ``qid`` are ignored.

    Whether indices begin at 0 or 1 is found for each file by itself: at 0 if index 0 occurs. Say ``zero_based`` where
    that misleads, for instance for a part of a zero-based file whose rows happen to lack feature 0.

    Attributes
    ----------
    n_rows : lines with data.
    zero_based : whether the first feature is index 0.

    """

    dtype = np.dtype(np.float64)
    is_sparse = True
    n_rows: int
    zero_based: bool

    def __init__(
        self,
        path: str | os.PathLike[str],
        drop_null: bool = False,
        n_features: int | None = None,
        zero_based: bool | str = "auto",
    ) -> None:
        if zero_based not in ("auto", True, False):
            raise ValueError(f"zero_based={zero_based!r} must be True, False or 'auto'.")
        self._text = TextFiles.of(path, FORMATS["svmlight"].endings)
        self.name, self.drop_null = self._text.name, drop_null
        found = _scan(self._data_lines())
        self.zero_based = found.has_zero if zero_based == "auto" else bool(zero_based)
        if found.has_zero and not self.zero_based:
            raise SourceError(
                f"{self.name}: index 0 occurs, but zero_based=False says that indices begin at 1."
            )
        self.n_rows, self._largest = found.n_rows, found.largest
        # As scikit-learn does, at least one.
        self.n_columns = max(1, found.largest + self.zero_based)
        self.held = -(-found.n_values // max(1, found.n_rows))
        # The text, scikit-learn's growing buffers of 8 + 8 bytes a value, and the matrix.
        self.read_bytes = 2 * found.n_bytes // max(1, found.n_rows) + 48 * self.held + 64
        if n_features is not None:
            self.n_columns = self.with_columns(n_features).n_columns

    def with_columns(self, n: int) -> Self:
        """The same rows with ``n`` features, of which the last ones may not occur in this file."""
        if self._largest + self.zero_based > n:
            first = "0" if self.zero_based else "1"
            raise SourceError(
                f"{self.name}: the largest index is {self._largest}, counted from {first}, but there must be "
                f"{n} features."
            )
        changed = copy.copy(self)
        changed.n_columns = n
        return changed

    def _data_lines(self) -> Iterator[Line]:
        return (line for line in self._text if _content(line))

    def pieces(self, n_rows: int) -> Iterator[Piece]:
        """``Lines`` with data, not yet parsed."""
        return in_pieces(self._data_lines(), n_rows)

    def place(self, piece: Piece, row: int) -> str:
        """The line."""
        return str(piece.raw.where(row))

    def matrix(self, piece: Piece) -> tuple[Any, None]:
        """CSR array of shape (n, d)."""
        try:
            return as_csr(self._load(piece.raw.texts)), None
        except (ValueError, OverflowError) as error:
            raise self._first_bad(piece.raw) or SourceError(f"{piece.where}: {error}") from error

    def _load(self, texts: list[bytes]) -> Any:
        from sklearn.datasets import load_svmlight_file

        text = io.BytesIO(b"\n".join(texts))
        # Lines with several labels, or none, are read too, since labels do not matter.
        rows, _ = load_svmlight_file(
            text, n_features=self.n_columns, multilabel=True, zero_based=self.zero_based
        )
        return sparse.csr_array(rows)

    def _first_bad(self, lines: Lines) -> SourceError | None:
        for line in lines:
            try:
                self._load([line.text])
            except (ValueError, OverflowError) as error:
                return _bad_line(line, error)
        return None


@dataclass
class _Scan:
    """What one pass over svmlight text finds."""

    n_rows: int = 0
    n_bytes: int = 0
    n_values: int = 0
    largest: int = 0
    has_zero: bool = False


def _scan(lines: Iterator[Line]) -> _Scan:
    """Size of the data; indices ascend within a line, so that the first and the last of each suffice."""
    found = _Scan()
    for line in lines:
        content = _content(line)
        found.n_rows += 1
        found.n_bytes += len(line.text)
        found.n_values += content.count(b":")
        head = [part for part in content.split(None, 3)[:3] if b":" in part and not part.startswith(b"qid")]
        if head:
            try:
                first, last = (_index(part) for part in (head[0], content.rsplit(None, 1)[-1]))
            except ValueError as error:
                raise _bad_line(line, error) from error
            found.has_zero |= first == 0
            found.largest = max(found.largest, last)
    return found


def _content(line: Line) -> bytes:
    """A line without its comment; empty if there is no data."""
    return line.text.partition(b"#")[0].strip()


def _index(part: bytes) -> int:
    return int(part.partition(b":")[0])


def _bad_line(line: Line, error: Exception) -> SourceError:
    reason = "a part has no colon" if "unpack" in str(error) else str(error).rstrip(".")
    return SourceError(
        f"{line.where}: {reason}. Expected `label index:value index:value ...` with ascending indices."
    )
