"""Operations on containers of rows: array, CSR matrix, list of objects, rows of a precomputed kernel."""

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any

import numpy as np
from scipy import sparse

from apnc.stored import require, stored
from apnc.typing import Array

#: Objects that are looked at to estimate the memory of all.
LOOKED_AT = 256
#: Any container of rows, as a type hint.
Rows = Annotated[Any, "rows"]


@stored
@dataclass(frozen=True)
class GivenRows:
    """Rows of a precomputed kernel matrix, with their row numbers if they have any.

    Attributes
    ----------
    matrix : array or CSR of shape (n_rows, n), or (n_rows, l) if its columns are only the landmarks.
    numbers : array of shape (n_rows,), the instance of each row; None for new instances.

    """

    matrix: Rows
    numbers: Array | None = None

    def check(self) -> None:
        """Require a matrix, and a number for each row if there are any."""
        require(len(getattr(self.matrix, "shape", ())) == 2, "matrix is not two-dimensional")
        if self.numbers is not None:
            found, expected = self.numbers, (len(self),)
            require(found.shape == expected, f"numbers have shape {found.shape}, expected {expected}")
            require(found.dtype.kind == "i", f"numbers are of type {found.dtype}, expected integers")

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __getitem__(self, which: Any) -> "GivenRows":
        numbers = None if self.numbers is None else self.numbers[which]
        return GivenRows(self.matrix[which], numbers)

    @property
    def dtype(self) -> Any:
        """Type of the matrix, which determines the compute type."""
        return self.matrix.dtype


def n_rows(rows: Any) -> int:
    """Number of instances."""
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def n_columns(rows: Any) -> int:
    """Number of features, or of columns of a precomputed kernel; 0 for objects."""
    matrix = rows.matrix if isinstance(rows, GivenRows) else rows
    return int(matrix.shape[1]) if hasattr(matrix, "shape") else 0


def numbers_held(rows: Any) -> int:
    """Numbers stored per row: all features, or the average of non-zero ones; of objects, as many as take the memory."""
    if isinstance(rows, list):
        return numbers_in_objects(rows[:: max(1, len(rows) // LOOKED_AT)])
    return rows.nnz // max(1, rows.shape[0]) if sparse.issparse(rows) else n_columns(rows)


def numbers_in_objects(objects: Sequence[Any]) -> int:
    """The mean memory of objects, in numbers of 8 bytes."""
    return -(-sum(map(_bytes_of, objects)) // (8 * max(1, len(objects))))


def _bytes_of(item: Any) -> int:
    """Memory of an object and of what it contains."""
    size = sys.getsizeof(item)
    if isinstance(item, dict):
        # Keys are shared by all objects as a rule.
        return size + sum(map(_bytes_of, item.values()))
    if isinstance(item, list | tuple | set | frozenset):
        return size + sum(map(_bytes_of, item))
    return size


def compute_dtype(rows: Any) -> type:
    """The compute type: float32 for float32, float16 and small integers (which it represents exactly), else float64."""
    dtype = getattr(rows, "dtype", None)
    if dtype is None or dtype.kind not in "fiub":
        return np.float64
    small = dtype.itemsize <= (4 if dtype.kind == "f" else 2)
    return np.float32 if small else np.float64


def as_csr(matrix: Any) -> Any:
    """A CSR matrix without duplicate entries; the user's matrix is not modified."""
    if sparse.issparse(matrix) and not matrix.has_canonical_format:
        matrix = matrix.copy()
        matrix.sum_duplicates()
    return matrix


def all_finite(rows: Any) -> bool:
    """A quick look at all values that takes no memory; False also for finite ones whose sum is too large."""
    values = rows.data if sparse.issparse(rows) else rows
    with np.errstate(over="ignore", invalid="ignore"):
        return values.dtype.kind != "f" or bool(np.isfinite(values.sum()))


def take(rows: Any, positions: Array) -> Any:
    """Rows at ``positions``, in the same container."""
    return [rows[i] for i in positions.tolist()] if isinstance(rows, list) else rows[positions]


def concatenate(parts: list[Any]) -> Any:
    """Concatenate containers of rows."""
    if isinstance(parts[0], list):
        return [item for part in parts for item in part]
    if sparse.issparse(parts[0]):
        return sparse.vstack(parts, format="csr")
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts)
    return type(parts[0])(*(concatenate(list(fields)) for fields in zip(*map(_fields, parts), strict=True)))


def _fields(part: Any) -> tuple[Any, ...]:
    return tuple(vars(part).values())
