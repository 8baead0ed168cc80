"""Rows in memory."""

import hashlib
from collections.abc import Iterator
from typing import Any

import numpy as np

from apnc.engines.chunk_files import bytes_of
from apnc.engines.contract import Data
from apnc.engines.local import Layout, LocalChunks, Spread, split
from apnc.rows import GivenRows, compute_dtype, n_columns, n_rows, numbers_held
from apnc.sources.family import Source
from apnc.sources.pieces import Decoded, Piece
from apnc.typing import Array


class InMemory(Source):
    """An array, CSR matrix, list of objects, or rows of a precomputed kernel, with their weights.

    They were checked before, so they are split into chunks without another check.
    """

    name = "X"
    read_bytes = 0
    numbered = True
    skipping = "X[~np.isnan(X).any(axis=1)], or of a frame X.dropna()"

    def __init__(self, rows: Any, weights: Array | None = None) -> None:
        self.rows = rows
        self.n_rows = n = n_rows(rows)
        self.weights = np.ones(n) if weights is None else weights
        self.n_columns, self.held = n_columns(rows), numbers_held(rows)
        self.dtype = getattr(rows, "dtype", None)
        self.is_sparse = hasattr(rows, "indptr")

    def data(self, layout: Layout) -> Data:
        """Slices of the rows."""
        ranges = split(len(self.weights), layout.rows_per_chunk(self.n_rows))
        chunks = LocalChunks.of(
            self.rows, self.weights, ranges, layout.threads, layout.room, layout.on_rows, layout.store
        )
        by_number = isinstance(self.rows, GivenRows)
        dtype = compute_dtype(self)
        return Data(chunks, self.n_rows, dtype, self.n_columns, by_number, Spread(layout.threads))

    def identity(self) -> dict[str, Any]:
        """Shape, type and a digest of the content and the weights."""
        digest = hashlib.blake2b(digest_size=8)
        for part in (*parts_of(self.rows), self.weights):
            digest.update(bytes_of(np.ascontiguousarray(part)))
        return {
            "rows": self.n_rows,
            "columns": self.n_columns if self.columns is None else list(self.columns),
            "type": str(self.dtype or "objects"),
            "content": digest.hexdigest(),
        }

    def pieces(self, size: int) -> Iterator[Piece]:
        """Slices of the rows."""
        for start in range(0, len(self.weights), size):
            rows = self.rows[start : start + size]
            yield Piece(rows, start, n_rows(rows), f"row {start}")

    def matrix(self, piece: Piece) -> tuple[Any, Array]:
        """The slice with its weights."""
        return piece.raw, self.weights[piece.start : piece.start + piece.n_rows]

    def decode(self, piece: Piece) -> Decoded:
        """The slice, which was checked before."""
        return Decoded(*self.matrix(piece))

    def head(self, size: int) -> Any:
        """Rows at equal steps through the data."""
        step = max(1, len(self.weights) // size)
        return self.rows[::step][:size]


def parts_of(rows: Any) -> Iterator[Array]:
    """Arrays that tell rows apart; of objects, the text of each."""
    matrix = rows.matrix if isinstance(rows, GivenRows) else rows
    if hasattr(matrix, "indptr"):
        yield from (matrix.data, matrix.indices, matrix.indptr)
    elif isinstance(matrix, np.ndarray):
        yield matrix
    else:
        for item in matrix:
            yield np.frombuffer(repr(item).encode() + b"\n", np.uint8)
