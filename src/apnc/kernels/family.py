"""What a kernel offers: rows of the kernel matrix against fixed landmarks, and its diagonal."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from apnc.rows import GivenRows, n_columns
from apnc.stored import require, stored
from apnc.typing import Array


@dataclass(frozen=True)
class KernelRows:
    """A kernel made ready against fixed landmarks.

    ``function(X, room)`` is K(X, landmarks) / ``factor`` in the compute type, written to ``room`` if it is given
    and the kernel can; ``factor`` keeps large kernels (a polynomial of high degree) within float32.
    """

    function: Callable[[Any, Array | None], Array]
    factor: float = 1.0

    def __call__(self, rows: Any, room: Array | None = None) -> Array:
        return self.function(rows, room)


class Kernel(ABC):
    """A similarity between instances.

    ``unit`` says that k(x, x) = 1 is what the user asked for, so that embedded rows are scaled to it;
    ``any_diagonal`` that k(x, x) of new instances can be computed. ``pieces`` are those in which the matrix of a
    sample is computed, so that progress is seen where it takes long.
    """

    unit: ClassVar[bool] = False
    any_diagonal: ClassVar[bool] = True
    pieces: ClassVar[int] = 1
    #: The width or slope in use; None where a kernel has none.
    gamma: float | None = None

    @property
    def has_width(self) -> bool:
        """Whether a smaller gamma makes the kernel smoother."""
        return False

    @abstractmethod
    def against(self, landmarks: Any, dtype: type) -> KernelRows:
        """Prepare K(., landmarks), computed in ``dtype``."""

    @abstractmethod
    def diagonal(self, rows: Any) -> Array:
        """k(x, x) of each row, float64."""

    def __call__(self, A: Any, B: Any) -> Array:
        """K(A, B) in float64, shape (len(A), len(B))."""
        rows = self.against(B, np.float64)
        return rows(A) * rows.factor

    def work_bytes(self, held: int, n_landmarks: int, dtype: type) -> int:
        """Memory that one row of ``held`` numbers needs while its kernel row is computed."""
        return (held + n_landmarks) * np.dtype(dtype).itemsize

    def of_landmarks(self, landmarks: Any) -> "Kernel":
        """This kernel once the landmarks are chosen."""
        return self

    def remember(self, landmarks: Any) -> Any:
        """What prediction needs of the landmarks once R is known."""
        return landmarks

    def asked_for(self) -> dict[str, Any]:
        """Parameters of an estimator that ask for this kernel."""
        return {}

    def check_landmarks(self, landmarks: Any) -> None:
        """Raise a ValueError for landmarks of a model file that are not for this kernel."""
        require(
            not isinstance(landmarks, GivenRows), "landmarks are row numbers, which are for given kernels"
        )

    def n_features(self, landmarks: Any) -> int:
        """Columns of rows that go with these landmarks; 0 for objects."""
        return n_columns(landmarks)

    def trial(self, landmarks: Any) -> Any:
        """A few rows to try a loaded model on; None where they would cost the user's time, or are not known."""
        return None

    def confirm(self) -> None:  # noqa: B027
        """Raise a ValueError if the kernel is no longer the one of the fit."""


@stored
@dataclass(frozen=True)
class NormalizedKernel(Kernel):
    """k(x, y) / sqrt(k(x, x) k(y, y)); instances with k(x, x) = 0 are similar to nothing."""

    unit: ClassVar[bool] = True
    kernel: Kernel

    @property
    def gamma(self) -> float | None:  # type: ignore[override]
        """Of the kernel inside."""
        return self.kernel.gamma

    @property
    def pieces(self) -> int:  # type: ignore[override]
        """Of the kernel inside."""
        return self.kernel.pieces

    @property
    def has_width(self) -> bool:
        """Of the kernel inside."""
        return self.kernel.has_width

    def check(self) -> None:
        """Only a kernel whose diagonal is known, and not one yet, can be normalised."""
        inside = self.kernel
        require(inside.any_diagonal and not inside.unit, f"a {type(inside).__name__} cannot be normalised")

    def of_landmarks(self, landmarks: Any) -> Kernel:
        """The kernel inside once the landmarks are chosen."""
        return NormalizedKernel(self.kernel.of_landmarks(landmarks))

    def asked_for(self) -> dict[str, Any]:
        """As the kernel inside."""
        return self.kernel.asked_for()

    def check_landmarks(self, landmarks: Any) -> None:
        """As the kernel inside."""
        self.kernel.check_landmarks(landmarks)

    def n_features(self, landmarks: Any) -> int:
        """As the kernel inside."""
        return self.kernel.n_features(landmarks)

    def trial(self, landmarks: Any) -> Any:
        """As the kernel inside."""
        return self.kernel.trial(landmarks)

    def confirm(self) -> None:
        """As the kernel inside."""
        self.kernel.confirm()

    def against(self, landmarks: Any, dtype: type) -> KernelRows:
        """Rows of the kernel times the inverse roots of both diagonals."""
        rows = self.kernel.against(landmarks, dtype)
        columns: Array = self._inverse_roots(landmarks, rows.factor).astype(dtype)

        def normalized(X: Any, room: Array | None) -> Array:
            K = rows(X, room)
            K *= self._inverse_roots(X, rows.factor).astype(dtype)[:, None]
            K *= columns
            return K

        return KernelRows(normalized)

    def work_bytes(self, held: int, n_landmarks: int, dtype: type) -> int:
        """As the kernel inside."""
        return self.kernel.work_bytes(held, n_landmarks, dtype)

    def diagonal(self, rows: Any) -> Array:
        """One, or zero where the kernel's own diagonal is zero."""
        return (self._inverse_roots(rows, 1.0) > 0).astype(np.float64)

    def _inverse_roots(self, rows: Any, factor: float) -> Array:
        diagonal = np.asarray(self.kernel.diagonal(rows), dtype=np.float64) / factor
        if (diagonal < 0).any():
            raise ValueError(
                f"normalize_kernel=True needs k(x, x) >= 0, found {diagonal.min() * factor:.3g}. "
                "Choose a kernel with a positive diagonal, or do not normalise it."
            )
        return np.divide(1.0, np.sqrt(diagonal), out=np.zeros_like(diagonal), where=diagonal > 0)
