"""Sparse rows of svmlight text."""

import copy
import io
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from scipy import sparse

from apnc.rows import as_csr
from apnc.sources.family import Source
from apnc.sources.files import Files
from apnc.sources.lines import Line, Lines, in_pieces, lines_of
from apnc.sources.pieces import Piece, SourceError


def open_svmlight(data: Files, _: str, drop_null: bool, zero_based: bool | str = "auto") -> "SvmlightSource":
    """Open svmlight text."""
    return SvmlightSource(data, drop_null, zero_based)


class SvmlightSource(Source):
    """Rows of svmlight / libsvm text: ``label index:value ... # comment``; labels and ``qid`` are ignored.

    By default, indices begin at 0 if index 0 occurs anywhere in the text, else at 1. Set ``zero_based`` where that
    misleads, for instance for a part of a zero-based file whose rows happen to lack feature 0.

    Attributes
    ----------
    n_rows : number of lines with data.
    zero_based : whether the first feature is index 0.

    """

    dtype = np.dtype(np.float64)
    is_sparse = True
    n_rows: int
    zero_based: bool

    def __init__(self, files: Files, drop_null: bool = False, zero_based: bool | str = "auto") -> None:
        if zero_based not in ("auto", True, False):
            raise ValueError(f"zero_based={zero_based!r} must be True, False or 'auto'.")
        self.name, self._files, self.drop_null = files.name, files, drop_null
        found = _scan(self._data_lines())
        self.zero_based = found.has_zero if zero_based == "auto" else bool(zero_based)
        if found.has_zero and not self.zero_based:
            raise SourceError(
                f"{self.name}: index 0 occurs, but zero_based=False says that indices begin at 1."
            )
        self.n_rows, self._largest = found.n_rows, found.largest
        # At least one, as in scikit-learn.
        self.n_columns = max(1, found.largest + self.zero_based)
        self.held = -(-found.n_values // max(1, found.n_rows))
        # The text, scikit-learn's growing buffers of 8 + 8 bytes per value, and the matrix.
        self.read_bytes = 2 * found.n_bytes // max(1, found.n_rows) + 48 * self.held + 64

    def with_columns(self, n: int) -> Self:
        """The same rows with ``n`` features, the last of which need not occur in this file."""
        if self._largest + self.zero_based > n:
            first = "0" if self.zero_based else "1"
            raise SourceError(
                f"{self.name}: the largest index is {self._largest}, counted from {first}, but {n} features "
                "are expected."
            )
        changed = copy.copy(self)
        changed.n_columns = n
        return changed

    def _data_lines(self) -> Iterator[Line]:
        return (line for line in lines_of(self._files) if _content(line))

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
        # Labels are ignored, so lines with several of them, or none, are accepted too.
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
    """What one pass over svmlight text counts."""

    n_rows: int = 0
    n_bytes: int = 0
    n_values: int = 0
    largest: int = 0
    has_zero: bool = False


def _scan(lines: Iterator[Line]) -> _Scan:
    """Size of the data; indices ascend within a line, so the first and the last of each line suffice."""
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
