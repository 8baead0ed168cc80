"""Missing and infinite values: skipped, or refused with their number and place."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from apnc.rows import all_finite, take
from apnc.sources.pieces import Decoded, MissingValuesError, Piece, SourceError
from apnc.typing import Array
from apnc.wording import some


def finite(source: Any, piece: Piece, rows: Any, weights: Array | None) -> Decoded:
    """Rows without missing values; others are skipped if ``drop_null``, else refused, as infinite values always are."""
    if all_finite(rows) and _are_weights(weights):
        return Decoded(rows, weights)
    return _without_missing(source, piece, rows, weights)


def _are_weights(weights: Array | None) -> bool:
    return weights is None or bool(np.isfinite(weights).all() and (weights >= 0).all())


def _without_missing(source: Any, piece: Piece, rows: Any, weights: Array | None) -> Decoded:
    refuse_infinite(source, piece, rows)
    return _there(source, piece, rows, weights)


def present(source: Any, piece: Piece) -> Decoded:
    """Objects of a piece; missing ones, and weights, are treated as in numeric rows."""
    return _there(source, piece, *source.matrix(piece))


def _there(source: Any, piece: Piece, rows: Any, weights: Array | None) -> Decoded:
    """Rows in which no value and no weight is missing; others are skipped if ``drop_null``, else an error."""
    missing = _rows_with_nan(rows)
    if weights is not None:
        wrong = np.flatnonzero((weights < 0) | np.isinf(weights))
        if len(wrong):
            raise SourceError(bad_weight(source.place(piece, int(wrong[0])), f"{weights[wrong[0]]:g}"))
        missing = missing | np.isnan(weights)
    if not missing.any():
        return Decoded(rows, weights)
    if not source.drop_null:
        first = _first(source, piece, rows, int(missing.argmax()))
        raise MissingValuesError(f"{first} is missing. Fill it in, or skip such rows: {source.skipping}.")
    kept = np.flatnonzero(~missing)
    return Decoded(take(rows, kept), None if weights is None else weights[kept], kept)


def refuse_infinite(source: Any, piece: Piece, rows: Any) -> None:
    """Refuse infinite values; the error names the first."""
    bad = np.isinf(rows.data if sparse.issparse(rows) else rows)
    if not bad.any():
        return
    if sparse.issparse(rows):
        place = int(np.flatnonzero(bad)[0])
        row, column = int(np.searchsorted(rows.indptr, place, side="right") - 1), int(rows.indices[place])
    else:
        row, column = (int(i) for i in np.argwhere(bad)[0])
    raise SourceError(infinite(source.place(piece, row), source.column_names()[column]))


def infinite(where: str, column: str) -> str:
    """The message for an infinite value."""
    return f"{where}: {column} is infinite, or too large for float64. Remove or clip it."


def bad_weight(where: str, weight: str) -> str:
    """The message for an invalid weight."""
    return f"{where}: the weight {weight} must be a finite number >= 0. Correct it, or leave the row out."


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
    """Missing values by column (the last one: weights), rows with any, and the place of the first."""

    counts: Array
    rows: int
    first: str = ""

    def __add__(self, other: "Missing") -> "Missing":
        return Missing(self.counts + other.counts, self.rows + other.rows, self.first or other.first)


def missing_in(source: Any, piece: Piece) -> Missing:
    """Missing values of a piece."""
    rows, weights = source.matrix(piece)
    unweighted = np.zeros(piece.n_rows, dtype=bool) if weights is None else np.isnan(weights)
    affected = _rows_with_nan(rows) | unweighted
    first = _first(source, piece, rows, int(affected.argmax())) if affected.any() else ""
    return Missing(np.append(_nan_by_column(rows), unweighted.sum()), int(affected.sum()), first)


def _first(source: Any, piece: Piece, rows: Any, row: int) -> str:
    """Place and column of the first missing value of a row."""
    (among,) = np.nonzero(_nan_by_column(rows[row : row + 1]))
    column = source.column_names()[int(among[0])] if len(among) else "the weight"
    return f"{source.place(piece, row)}: {column}"


def _nan_by_column(rows: Any) -> Array:
    if isinstance(rows, list):
        return _rows_with_nan(rows).sum(keepdims=True)
    if sparse.issparse(rows):
        return np.bincount(rows.indices[np.isnan(rows.data)], minlength=rows.shape[1])
    return np.isnan(rows).sum(axis=0)


def refuse_missing(source: Any, n_rows: int) -> None:
    """Raise an error that counts missing values by column, if any; the source is read in pieces of ``n_rows``."""
    missing = source.count_missing(n_rows)
    if not missing.rows:
        return
    names = [*source.column_names(), "the weights"]
    counts = {name: int(count) for name, count in zip(names, missing.counts, strict=True) if count}
    said = f"{missing_values(source.name, counts, missing.rows)} {source.skipping}."
    raise SourceError(f"{said} The first is at {missing.first}.")


def missing_values(where: str, counts: Mapping[str, int], n_rows: int) -> str:
    """The message for missing values."""
    shown = some([f"{name} ({count:,})" for name, count in counts.items()])
    total = sum(counts.values())
    values = "1 missing value" if total == 1 else f"{total:,} missing values"
    return (
        f"{where}: {values} in {'1 row' if n_rows == 1 else f'{n_rows:,} rows'}, in {shown}. Null and NaN are missing: "
        "fill them in, leave the columns out, or skip those rows:"
    )
