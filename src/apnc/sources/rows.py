"""Questions to a container of rows, whatever it is: array, CSR matrix, list of objects, rows of a given kernel."""

from typing import Any

from scipy import sparse

from apnc.kernels import GivenRows


def n_rows(rows: Any) -> int:
    """Number of instances."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def n_columns(rows: Any) -> int:
    """Features, or columns of a given kernel; 0 for objects."""
    matrix = rows.matrix if isinstance(rows, GivenRows) else rows
    return int(matrix.shape[1]) if hasattr(matrix, "shape") else 0


def numbers_held(rows: Any) -> int:
    """Numbers in one row: features, or on average the non-zero ones; 0 for objects."""
    return rows.nnz // max(1, rows.shape[0]) if sparse.issparse(rows) else n_columns(rows)


def as_csr(matrix: Any) -> Any:
    """A CSR matrix without duplicate entries; the user's own is not touched."""
    if sparse.issparse(matrix) and not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix
