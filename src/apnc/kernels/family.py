"""The kernel interface: rows of the kernel matrix against fixed landmarks, and its diagonal."""

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
    """A kernel prepared for fixed landmarks.

    ``function(X, room)`` is K(X, landmarks) / ``factor`` in the compute type, written to ``room`` if one is passed
    and the kernel supports it; ``factor`` keeps large values (a polynomial of high degree) within float32.
    """

    function: Callable[[Any, Array | None], Array]
    factor: float = 1.0

    def __call__(self, rows: Any, room: Array | None = None) -> Array:
        return self.function(rows, room)


class Kernel(ABC):
    """A similarity between instances.

    ``unit``: the user asked for k(x, x) = 1, so embedded rows are scaled to norm 1. ``any_diagonal``: k(x, x) can be
    computed for new instances. ``pieces``: in how many pieces the matrix of a sample is computed, so that slow kernels
    report progress.
    """

    unit: ClassVar[bool] = False
    any_diagonal: ClassVar[bool] = True
    pieces: ClassVar[int] = 1
    #: The width or slope in use; None if the kernel has none.
    gamma: float | None = None

    @property
    def euclidean(self) -> bool:
        """Whether distances in the kernel's space are those of the rows themselves."""
        return False

    @property
    def same_diagonal(self) -> float | None:
        """k(x, x), if it is known to be the same for all x."""
        return None

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
        """This kernel after the landmarks have been chosen."""
        return self

    def remember(self, landmarks: Any) -> Any:
        """What prediction needs of the landmarks once R is known."""
        return landmarks

    def asked_for(self) -> dict[str, Any]:
        """Estimator parameters that select this kernel."""
        return {}

    def check_landmarks(self, landmarks: Any) -> None:
        """Raise a ValueError if landmarks from a model file do not suit this kernel."""
        require(
            not isinstance(landmarks, GivenRows),
            "landmarks are row numbers, which only precomputed kernels use",
        )

    def n_features(self, landmarks: Any) -> int:
        """Number of columns of rows that match these landmarks; 0 for objects."""
        return n_columns(landmarks)

    def trial(self, landmarks: Any) -> Any:
        """A few rows to try a loaded model on; None if that would be slow, or no rows are known."""
        return None

    def confirm(self) -> None:  # noqa: B027
        """Raise a ValueError if the kernel is not the one used in the fit."""


@stored
@dataclass(frozen=True)
class NormalizedKernel(Kernel):
    """k(x, y) / sqrt(k(x, x) k(y, y)); instances with k(x, x) = 0 are similar to nothing."""

    unit: ClassVar[bool] = True
    kernel: Kernel

    @property
    def gamma(self) -> float | None:  # type: ignore[override]
        """That of the wrapped kernel."""
        return self.kernel.gamma

    @property
    def pieces(self) -> int:  # type: ignore[override]
        """That of the wrapped kernel."""
        return self.kernel.pieces

    def check(self) -> None:
        """The wrapped kernel must have a computable diagonal and not be normalised already."""
        inside = self.kernel
        require(inside.any_diagonal and not inside.unit, f"a {type(inside).__name__} cannot be normalised")

    def of_landmarks(self, landmarks: Any) -> Kernel:
        """Passed on to the wrapped kernel."""
        return NormalizedKernel(self.kernel.of_landmarks(landmarks))

    def asked_for(self) -> dict[str, Any]:
        """Those of the wrapped kernel."""
        return self.kernel.asked_for()

    def check_landmarks(self, landmarks: Any) -> None:
        """Passed on to the wrapped kernel."""
        self.kernel.check_landmarks(landmarks)

    def n_features(self, landmarks: Any) -> int:
        """Passed on to the wrapped kernel."""
        return self.kernel.n_features(landmarks)

    def trial(self, landmarks: Any) -> Any:
        """Passed on to the wrapped kernel."""
        return self.kernel.trial(landmarks)

    def confirm(self) -> None:
        """Passed on to the wrapped kernel."""
        self.kernel.confirm()

    def against(self, landmarks: Any, dtype: type) -> KernelRows:
        """Rows of the wrapped kernel, scaled by the inverse roots of both diagonals."""
        rows = self.kernel.against(landmarks, dtype)
        # Both diagonals are divided by the kernel's factor, so the result itself needs none.
        columns: Array = self._inverse_roots(landmarks, rows.factor).astype(dtype)

        def normalized(X: Any, room: Array | None) -> Array:
            K = rows(X, room)
            K *= self._inverse_roots(X, rows.factor).astype(dtype)[:, None]
            K *= columns
            return K

        return KernelRows(normalized)

    def work_bytes(self, held: int, n_landmarks: int, dtype: type) -> int:
        """Passed on to the wrapped kernel."""
        return self.kernel.work_bytes(held, n_landmarks, dtype)

    def diagonal(self, rows: Any) -> Array:
        """1, or 0 where the wrapped kernel's diagonal is zero."""
        return (self._inverse_roots(rows, 1.0) > 0).astype(np.float64)

    def _inverse_roots(self, rows: Any, factor: float) -> Array:
        diagonal = np.asarray(self.kernel.diagonal(rows), dtype=np.float64) / factor
        if (diagonal < 0).any():
            raise ValueError(
                f"normalize_kernel=True needs k(x, x) >= 0, found {diagonal.min() * factor:.3g}. "
                "Choose a kernel with a positive diagonal, or do not normalise it."
            )
        return np.divide(1.0, np.sqrt(diagonal), out=np.zeros_like(diagonal), where=diagonal > 0)
