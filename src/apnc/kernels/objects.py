"""Kernels on arbitrary objects, and kernels given as a matrix."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from apnc.kernels.family import Kernel, KernelRows

Array = npt.NDArray[Any]


@dataclass(frozen=True)
class CallableKernel(Kernel):
    """A user's function ``f(A, B, **params)`` that returns the (len(A), len(B)) matrix.

    ``f.diagonal(A)``, where it exists, gives k(x, x) of each object at once.
    """

    function: Callable[..., Any]
    params: Mapping[str, Any] = field(default_factory=dict)

    def against(self, landmarks: Any, dtype: type) -> KernelRows:
        """Prepare K(., landmarks); the function's results are checked and cast to ``dtype``."""
        return KernelRows(lambda X, room: self._checked(X, landmarks).astype(dtype))

    def row_bytes(self, held: int, n_landmarks: int, dtype: type) -> int:
        """What the function returns, and its copy in the compute type."""
        return super().row_bytes(held, n_landmarks, dtype) + 8 * n_landmarks

    def diagonal(self, rows: Any) -> Array:
        """By ``function.diagonal``, else pair by pair."""
        own = getattr(self.function, "diagonal", None)
        n = _length(rows)
        if own is None:
            return np.array([self._checked(rows[i : i + 1], rows[i : i + 1])[0, 0] for i in range(n)])
        diagonal = np.asarray(own(rows, **self.params), dtype=np.float64)
        if diagonal.shape != (n,):
            raise ValueError(
                f"{_name(self.function)}.diagonal(A) returned shape {diagonal.shape}, expected ({n},): "
                "one value for each object of A."
            )
        return diagonal

    def _checked(self, A: Any, B: Any) -> Array:
        try:
            K = np.asarray(self.function(A, B, **self.params))
        except Exception as error:
            raise ValueError(
                f"The kernel {_name(self.function)} failed on {_length(A)} x {_length(B)} instances: {error!r}. It is "
                "called with two collections A and B, not with two instances, and returns a matrix."
            ) from error
        expected = (_length(A), _length(B))
        if K.shape != expected or K.dtype.kind not in "fiub":
            raise ValueError(
                f"The kernel {_name(self.function)} returned {_describe(K)}, expected a numeric matrix of "
                f"shape {expected}: one row for each object of A, one column for each of B."
            )
        if K.dtype.kind == "f" and not np.isfinite(K).all():
            raise ValueError(
                f"The kernel {_name(self.function)} returned NaN or infinity for "
                f"{int((~np.isfinite(K)).sum())} of {K.size} pairs; it must return finite numbers."
            )
        return K


@dataclass(frozen=True)
class GivenRows:
    """Rows of a given kernel matrix, with their own row numbers where they have any.

    Attributes
    ----------
    matrix : array or CSR of shape (n_rows, n), or (n_rows, l) against the landmarks alone.
    numbers : array of shape (n_rows,): which instance each row is; None for new instances.

    """

    matrix: Any
    numbers: Array | None = None

    def __len__(self) -> int:
        return int(self.matrix.shape[0])

    def __getitem__(self, which: Any) -> "GivenRows":
        numbers = None if self.numbers is None else self.numbers[which]
        return GivenRows(self.matrix[which], numbers)

    @property
    def dtype(self) -> Any:
        """Type of the matrix, which decides the compute type."""
        return self.matrix.dtype


@dataclass(frozen=True)
class PrecomputedKernel(Kernel):
    """The kernel matrix itself; landmarks are row numbers of it.

    Attributes
    ----------
    n_instances : number of columns of the full matrix.
    landmark_numbers : row numbers of all landmarks, in order; rows with only that many columns are
        taken to be against the landmarks. None while the landmarks are not chosen.

    """

    n_instances: int
    landmark_numbers: tuple[int, ...] | None = None

    def against(self, landmarks: Any, dtype: type) -> KernelRows:
        """Pick the landmarks' columns."""
        numbers = landmarks.numbers

        def columns(X: GivenRows, room: Array | None) -> Array:
            where = numbers
            if X.matrix.shape[1] != self.n_instances and self.landmark_numbers is not None:
                position = {number: i for i, number in enumerate(self.landmark_numbers)}
                where = np.array([position[number] for number in numbers.tolist()])
            K = X.matrix[:, where]
            K = K.toarray() if sparse.issparse(K) else K
            return np.array(K, dtype=dtype, order="C")

        return KernelRows(columns)

    def remember(self, landmarks: Any) -> Any:
        """Their row numbers."""
        return GivenRows(np.empty((len(landmarks), 0)), landmarks.numbers)

    def diagonal(self, rows: Any) -> Array:
        """k(x, x), known for rows of the matrix itself."""
        picked = rows.matrix[np.arange(len(rows)), rows.numbers]
        return np.asarray(picked, dtype=np.float64).ravel()


def _length(rows: Any) -> int:
    return int(rows.shape[0]) if hasattr(rows, "shape") else len(rows)


def _name(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _describe(K: Array) -> str:
    return f"shape {K.shape}" if K.dtype.kind in "fiub" else f"shape {K.shape} of type {K.dtype}"
