"""What a kernel offers: rows of the kernel matrix against fixed landmarks, and its diagonal."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]


def compute_dtype(rows: Any) -> type:
    """float32 for float32, float16 and small integers (exact there); float64 for all else."""
    dtype = getattr(rows, "dtype", None)
    if dtype is None or dtype.kind not in "fiub":
        return np.float64
    small = dtype.itemsize <= (4 if dtype.kind == "f" else 2)
    return np.float32 if small else np.float64


@dataclass(frozen=True)
class KernelRows:
    """A kernel made ready against fixed landmarks.

    ``function(X, room)`` is K(X, landmarks) / ``scale`` in the compute type, written to ``room`` if it is given
    and the kernel can; ``scale`` keeps large kernels (a polynomial of high degree) within float32.
    """

    function: Callable[[Any, Array | None], Array]
    scale: float = 1.0

    def __call__(self, rows: Any, room: Array | None = None) -> Array:
        return self.function(rows, room)


class Kernel(ABC):
    """A similarity between instances.

    ``unit`` says that k(x, x) = 1 is what the user asked for, so that embedded rows are scaled to it.
    """

    unit: ClassVar[bool] = False

    @abstractmethod
    def against(self, landmarks: Any, dtype: type) -> KernelRows:
        """Prepare K(., landmarks), computed in ``dtype``."""

    @abstractmethod
    def diagonal(self, rows: Any) -> Array:
        """k(x, x) of each row, float64."""

    def __call__(self, A: Any, B: Any) -> Array:
        """K(A, B) in float64, shape (len(A), len(B))."""
        rows = self.against(B, np.float64)
        return rows(A) * rows.scale

    def row_bytes(self, held: int, n_landmarks: int, dtype: type) -> int:
        """Memory that one row of ``held`` numbers needs while its kernel row is computed."""
        return (held + n_landmarks) * np.dtype(dtype).itemsize

    def remember(self, landmarks: Any) -> Any:
        """What prediction needs of the landmarks once R is known."""
        return landmarks


@dataclass(frozen=True)
class NormalizedKernel(Kernel):
    """k(x, y) / sqrt(k(x, x) k(y, y)); instances with k(x, x) = 0 are similar to nothing."""

    unit: ClassVar[bool] = True
    kernel: Kernel

    def against(self, landmarks: Any, dtype: type) -> KernelRows:
        """Rows of the kernel times the inverse roots of both diagonals."""
        rows = self.kernel.against(landmarks, dtype)
        columns: Array = self._inverse_roots(landmarks, rows.scale).astype(dtype)

        def normalized(X: Any, room: Array | None) -> Array:
            K = rows(X, room)
            K *= self._inverse_roots(X, rows.scale).astype(dtype)[:, None]
            K *= columns
            return K

        return KernelRows(normalized)

    def row_bytes(self, held: int, n_landmarks: int, dtype: type) -> int:
        """As the kernel inside."""
        return self.kernel.row_bytes(held, n_landmarks, dtype)

    def diagonal(self, rows: Any) -> Array:
        """One, or zero where the kernel's own diagonal is zero."""
        return (self._inverse_roots(rows, 1.0) > 0).astype(np.float64)

    def _inverse_roots(self, rows: Any, scale: float) -> Array:
        diagonal = np.asarray(self.kernel.diagonal(rows), dtype=np.float64) / scale
        if (diagonal < 0).any():
            raise ValueError(
                f"normalize_kernel=True needs k(x, x) >= 0, found {diagonal.min() * scale:.3g}. "
                "Choose a kernel with a positive diagonal, or do not normalise it."
            )
        return np.divide(1.0, np.sqrt(diagonal), out=np.zeros_like(diagonal), where=diagonal > 0)
