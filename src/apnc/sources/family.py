"""What a source of rows offers, whatever its format."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse

Array = npt.NDArray[Any]
#: Columns that a source shows of itself.
SHOWN = 8


class SourceError(ValueError):
    """A source that cannot be read; the message names the file and the row group or line."""


class MissingValuesError(SourceError):
    """Rows with missing values, found while decoding."""


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of a source as they were read, not yet decoded.

    Attributes
    ----------
    raw : what ``Source.decode`` understands.
    start : number of the first row in the source.
    n_rows : how many there are.
    where : file and row group or line, for messages.

    """

    raw: Any
    start: int
    n_rows: int
    where: str


@dataclass(frozen=True)
class Decoded:
    """Rows ready for an engine.

    Attributes
    ----------
    rows : array of shape (n, d), CSR matrix, or list of objects.
    weights : array of shape (n,), float64; None: one each.
    kept : positions in the piece of the rows that were not skipped; None: all.

    """

    rows: Any
    weights: Array | None = None
    kept: Array | None = None


class Source(ABC):
    """Rows in a file or an open object that is read in pieces, any number of times, always in the same order.

    Attributes
    ----------
    name : path or description, for messages.
    columns : names of the features; None where the format has none.
    n_columns : number of features; 0 for objects.
    dtype : type of the decoded rows; None for objects.
    held : numbers in a row (of sparse rows, on average); 0 for objects.
    row_bytes : memory of one row while it is read and decoded, about.
    overhead : memory that reading takes besides the rows (page buffers, indices, a decompressor), about.
    id_columns : columns that are written in front of labels.
    paths : what was opened, where it was one or several paths.
    drop_null : skip rows with missing values instead of refusing them.
    is_sparse : rows are CSR matrices.
    remote : rows are on the machines of an engine of their own.
    skipping : how to skip rows with missing values, for messages.

    """

    name: str
    columns: tuple[str, ...] | None = None
    n_columns: int
    dtype: np.dtype[Any] | None
    held: int
    row_bytes: int
    overhead: int = 0
    id_columns: tuple[str, ...] = ()
    paths: tuple[Any, ...] = ()
    drop_null: bool = False
    is_sparse: bool = False
    remote: bool = False
    skipping: str = "apnc.sources.open(..., drop_null=True)"

    @abstractmethod
    def pieces(self, n_rows: int) -> Iterator[Piece]:
        """All rows in order, in pieces of at most ``n_rows``; what fails is a ``SourceError`` that says where."""

    @abstractmethod
    def matrix(self, piece: Piece) -> tuple[Any, Array | None]:
        """Rows of a piece (array or CSR matrix, NaN where a value is missing) and weights; runs on any thread."""

    def decode(self, piece: Piece) -> Decoded:
        """Rows of a piece, checked; runs on any thread."""
        return finite(self, piece, *self.matrix(piece))

    def place(self, piece: Piece, row: int) -> str:
        """Where a row of a piece is, for messages: the file and the row or line, both as a user would count them."""
        return f"{self.name}, row {piece.start + row}"

    def select(self, columns: Sequence[str]) -> Self:
        """The same rows with these features, in this order; missing ones are named in the error."""
        raise SourceError(
            f"{self.name} has no column names, so {', '.join(columns)} cannot be picked from it."
        )

    def with_columns(self, n_columns: int) -> Self:
        """The same rows with so many features, where the format leaves that open; else the same source."""
        return self

    def ids(self, n_rows: int) -> Iterator[dict[str, Any]]:
        """Values of the id columns of all rows in order, by name, at most ``n_rows`` at a time; skipped rows too."""
        raise SourceError(f"{self.name} has no id columns.")

    def n_rows_known(self) -> int | None:
        """Number of rows, if it can be told without reading them."""
        found: int | None = getattr(self, "n_rows", None)
        return found

    def on_engine(self, layout: Any) -> Any:
        """Chunks on the engine of a remote source."""
        raise NotImplementedError

    def count_missing(self, n_rows: int) -> "Missing":
        """What is missing in all rows, read in pieces of ``n_rows``."""
        parts = [missing_in(self, piece) for piece in self.pieces(n_rows)]
        return sum(parts[1:], parts[0])

    def __repr__(self) -> str:
        names = ", ".join((*(self.columns or ())[:SHOWN], *["..."] * (self.n_columns > SHOWN)))
        features = f"{self.n_columns:,} features" if self.n_columns else "objects"
        return f"<{type(self).__name__} {self.name}: {features}{f' ({names})' if self.columns else ''}>"

    def column_names(self) -> Sequence[str]:
        """Names for messages."""
        return self.columns if self.columns is not None else [f"column {j}" for j in range(self.n_columns)]


def finite(source: Source, piece: Piece, rows: Any, weights: Array | None) -> Decoded:
    """Rows without missing values: skipped if the source says so, else an error; infinite values are always one."""
    values = rows.data if sparse.issparse(rows) else rows
    whole = values.dtype.kind != "f" or np.isfinite(np.vdot(values, values))
    if whole and _are_weights(weights):
        return Decoded(rows, weights)
    return _without_missing(source, piece, rows, weights)


def _are_weights(weights: Array | None) -> bool:
    return weights is None or bool(np.isfinite(weights).all() and (weights >= 0).all())


def _without_missing(source: Source, piece: Piece, rows: Any, weights: Array | None) -> Decoded:
    refuse_infinite(source, piece, rows)
    return _there(source, piece, rows, weights)


def present(source: Source, piece: Piece) -> Decoded:
    """Objects that are there, checked as rows of numbers are."""
    return _there(source, piece, *source.matrix(piece))


def _there(source: Source, piece: Piece, rows: Any, weights: Array | None) -> Decoded:
    """Rows of which nothing is missing, with weights: others are skipped if the source says so, else an error."""
    missing = _rows_with_nan(rows)
    if weights is not None:
        wrong = np.flatnonzero((weights < 0) | np.isinf(weights))
        if len(wrong):
            where = source.place(piece, int(wrong[0]))
            raise SourceError(f"{where}: the weight {weights[wrong[0]]:g} must be finite and >= 0.")
        missing = missing | np.isnan(weights)
    if not missing.any():
        return Decoded(rows, weights)
    if not source.drop_null:
        raise MissingValuesError(piece.where)
    kept = np.flatnonzero(~missing)
    return Decoded(_at(rows, kept), None if weights is None else weights[kept], kept)


def _at(rows: Any, kept: Array) -> Any:
    return [rows[i] for i in kept.tolist()] if isinstance(rows, list) else rows[kept]


def refuse_infinite(source: Source, piece: Piece, rows: Any) -> None:
    """Name the first infinite value."""
    bad = np.isinf(rows.data if sparse.issparse(rows) else rows)
    if not bad.any():
        return
    if sparse.issparse(rows):
        place = int(np.flatnonzero(bad)[0])
        row, column = int(np.searchsorted(rows.indptr, place, side="right") - 1), int(rows.indices[place])
    else:
        row, column = (int(i) for i in np.argwhere(bad)[0])
    raise SourceError(
        f"{source.place(piece, row)}: {source.column_names()[column]} is infinite. Remove or clip it."
    )


def _rows_with_nan(rows: Any) -> Array:
    if isinstance(rows, list):
        return np.array([item is None for item in rows], dtype=bool)
    if not sparse.issparse(rows):
        return np.isnan(rows).any(axis=1)
    missing = np.zeros(rows.shape[0], dtype=bool)
    missing[np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))[np.isnan(rows.data)]] = True
    return missing


@dataclass(frozen=True)
class Missing:
    """Missing values of some rows, by column (the last one: weights), and how many rows have any."""

    counts: Array
    rows: int

    def __add__(self, other: "Missing") -> "Missing":
        return Missing(self.counts + other.counts, self.rows + other.rows)


def missing_in(source: Source, piece: Piece) -> Missing:
    """What is missing in a piece."""
    rows, weights = source.matrix(piece)
    unweighted = np.zeros(piece.n_rows, dtype=bool) if weights is None else np.isnan(weights)
    affected = int((_rows_with_nan(rows) | unweighted).sum())
    return Missing(np.append(_nan_by_column(rows), unweighted.sum()), affected)


def _nan_by_column(rows: Any) -> Array:
    if isinstance(rows, list):
        return _rows_with_nan(rows).sum(keepdims=True)
    if sparse.issparse(rows):
        return np.bincount(rows.indices[np.isnan(rows.data)], minlength=rows.shape[1])
    return np.isnan(rows).sum(axis=0)


def refuse_missing(source: Source, n_rows: int) -> None:
    """The error for missing values, with their number and columns; read in pieces of ``n_rows``."""
    missing = source.count_missing(n_rows)
    names = [*source.column_names(), "the weights"]
    counts = {name: int(count) for name, count in zip(names, missing.counts, strict=True) if count}
    shown = ", ".join(f"{name} ({count:,})" for name, count in list(counts.items())[:10])
    more = f" and {len(counts) - 10} more columns" if len(counts) > 10 else ""
    raise SourceError(
        f"{source.name}: {sum(counts.values()):,} missing values in {missing.rows:,} rows, in {shown}{more}. Fill them "
        f"in, leave the columns out, or skip those rows with {source.skipping}."
    )
