"""From what a user passes to chunks on the engine that fits it."""

from dataclasses import dataclass
from typing import Any

import numpy.typing as npt
from scipy import sparse

from apnc.engines.contract import Chunks
from apnc.engines.local import LocalChunks, n_threads, split
from apnc.kernels import GivenRows, compute_dtype
from apnc.pipeline import Data

Array = npt.NDArray[Any]

#: Memory of one chunk while it is worked on: a core's share of a large cache. Chunks do not follow the cache of the
#: machine at hand, since float32 results depend on them; the speed hardly changes from 8 to 64 MB.
CHUNK_BYTES = 1 << 24
#: Small data is still cut into some chunks, so that every core has work.
MIN_CHUNKS, MIN_ROWS = 16, 256
#: Rows of a sample that one core handles at a time.
SAMPLE_ROWS = 512


def rows_per_chunk(n_rows: int, row_bytes: int) -> int:
    """Rows in a chunk: a function of the data and the kernel's memory cost, never of the threads."""
    return max(1, min(CHUNK_BYTES // max(1, row_bytes), max(MIN_ROWS, -(-n_rows // MIN_CHUNKS))))


def numbers_held(rows: Any) -> int:
    """Numbers in one row: features, or on average the non-zero ones; 0 for objects."""
    return rows.nnz // max(1, rows.shape[0]) if sparse.issparse(rows) else n_columns(rows)


def in_memory(rows: Any, weights: Array, n_jobs: int | None, row_bytes: int | None = None) -> Data:
    """Rows in memory (array, CSR, list of objects, rows of a given kernel) on the local engine.

    Chunks are as long as the cache allows for work that needs ``row_bytes`` a row; by default hashing.
    """
    n, dtype = n_rows(rows), compute_dtype(rows)
    row_bytes = 8 * numbers_held(rows) if row_bytes is None else row_bytes
    ranges = split(n, rows_per_chunk(n, row_bytes))
    chunks: Chunks = LocalChunks.of(rows, weights, ranges, n_threads(n_jobs))
    by_number = isinstance(rows, GivenRows)
    return Data(chunks, n, dtype, n_columns(rows), by_number, Spread(n_threads(n_jobs)))


@dataclass(frozen=True)
class Spread:
    """Gives a sample to the cores, in chunks that do not depend on their number."""

    threads: int

    def __call__(self, rows: Array, weights: Array) -> Chunks:
        return LocalChunks.of(rows, weights, split(len(weights), SAMPLE_ROWS), self.threads)


def n_rows(rows: Any) -> int:
    """Number of instances."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def n_columns(rows: Any) -> int:
    """Features, or columns of a given kernel; 0 for objects."""
    matrix = rows.matrix if isinstance(rows, GivenRows) else rows
    return int(matrix.shape[1]) if hasattr(matrix, "shape") else 0


def as_csr(matrix: Any) -> Any:
    """A CSR matrix without duplicate entries; the user's own is not touched."""
    if sparse.issparse(matrix) and not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix
