"""Kernels on arbitrary objects, and precomputed kernel matrices."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from apnc.kernels.family import Kernel, KernelRows
from apnc.rows import GivenRows, Rows
from apnc.rows import n_rows as _length
from apnc.stored import OTHERWISE, largest, require, stored
from apnc.typing import Array

#: Landmarks whose kernel values are stored with a model, and how far they may deviate later, relative to the largest.
WITNESSES, SAME = 5, 1e-6


@stored
@dataclass(frozen=True)
class Witness:
    """Kernel values of a few landmarks, by which a different function is detected when the model is loaded."""

    landmarks: Rows
    values: Array

    def check(self) -> None:
        """Require one value for each pair."""
        n = _length(self.landmarks)
        require(self.values.shape == (n, n), f"values have shape {self.values.shape}, expected {(n, n)}")


@stored
@dataclass(frozen=True)
class CallableKernel(Kernel):
    """A user's function ``f(A, B, **params)`` that returns the (len(A), len(B)) matrix.

    ``f.diagonal(A)``, if it exists, returns k(x, x) for all objects at once.
    """

    pieces: ClassVar[int] = 32
    pairwise: ClassVar[bool] = True
    function: Callable[..., Any]
    params: Mapping[str, Any] = field(
        default_factory=dict,
        metadata={
            OTHERWISE: "Fit with kernel=functools.partial(f, ...) instead, and pass the same to apnc.load(path, "
            "kernel=...)"
        },
    )
    witness: Witness | None = field(default=None, compare=False)

    def of_landmarks(self, landmarks: Any) -> Kernel:
        """Keep the kernel values of a few landmarks."""
        first = landmarks[:WITNESSES]
        return replace(self, witness=Witness(first, self._checked(first, first)))

    def confirm(self) -> None:
        """Compare the function with the stored values."""
        if self.witness is None:
            return
        now = self._checked(self.witness.landmarks, self.witness.landmarks).astype(np.float64)
        then = self.witness.values.astype(np.float64)
        apart = np.abs(now - then)
        if apart.max(initial=0) > SAME * largest(then):
            worst = np.unravel_index(apart.argmax(), apart.shape)
            raise ValueError(
                f"for a pair of landmarks it returns {now[worst]:.6g}, but the function of the fit returned "
                f"{then[worst]:.6g} (tolerance: {SAME:g} of the largest value)"
            )

    def asked_for(self, normalize: bool | str = "auto") -> dict[str, Any]:
        """The function itself."""
        return {"kernel": self.function, "kernel_params": dict(self.params)}

    def against(self, landmarks: Any, dtype: type) -> KernelRows:
        """Prepare K(., landmarks); the function's results are checked and cast to ``dtype``."""
        return KernelRows(lambda X, room: self._checked(X, landmarks).astype(dtype))

    def work_bytes(self, held: int, n_landmarks: int, dtype: type) -> int:
        """The function's result, and its copy in the compute type."""
        return super().work_bytes(held, n_landmarks, dtype) + 8 * n_landmarks

    def diagonal(self, rows: Any) -> Array:
        """From ``function.diagonal`` if it exists, else pair by pair."""
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


@stored
@dataclass(frozen=True)
class PrecomputedKernel(Kernel):
    """The kernel matrix itself; landmarks are row numbers of it.

    Attributes
    ----------
    n_instances : number of columns of the full matrix.
    landmark_numbers : row numbers of all landmarks, in order; the columns of rows with only that many columns are
        taken to be the landmarks. None until the landmarks are chosen.

    """

    any_diagonal: ClassVar[bool] = False
    n_instances: int
    landmark_numbers: tuple[int, ...] | None = None

    def check(self) -> None:
        """Require landmarks to be distinct rows of the matrix."""
        require(self.n_instances >= 1, f"n_instances is {self.n_instances}, expected at least 1")
        numbers, n = self.landmark_numbers or (), self.n_instances
        inside = all(0 <= number < n for number in numbers)
        require(
            numbers and inside and len(set(numbers)) == len(numbers),
            f"landmark_numbers are not distinct row numbers from 0 to {n - 1}",
        )

    def check_landmarks(self, landmarks: Any) -> None:
        """Require landmarks that the kernel knows."""
        numbers = landmarks.numbers if isinstance(landmarks, GivenRows) else None
        require(numbers is not None, "landmarks of a precomputed kernel must be row numbers")
        require(
            set(self.landmark_numbers or ()).issuperset(np.asarray(numbers).tolist()),
            "blocks have landmarks that are not among those of the kernel",
        )

    def n_features(self, landmarks: Any) -> int:
        """Columns of the full matrix."""
        return self.n_instances

    def asked_for(self, normalize: bool | str = "auto") -> dict[str, Any]:
        """By name."""
        return {"kernel": "precomputed"}

    def against(self, landmarks: Any, dtype: type) -> KernelRows:
        """Pick the landmarks' columns."""
        numbers = landmarks.numbers

        def columns(X: GivenRows, room: Array | None) -> Array:
            where = numbers
            # New instances may come with the landmarks' columns alone, in the order of all landmarks.
            if X.matrix.shape[1] != self.n_instances and self.landmark_numbers is not None:
                position = {number: i for i, number in enumerate(self.landmark_numbers)}
                where = np.array([position[number] for number in numbers.tolist()])
            K = X.matrix[:, where]
            K = K.toarray() if sparse.issparse(K) else K
            return np.array(K, dtype=dtype, order="C")

        return KernelRows(columns)

    def of_landmarks(self, landmarks: Any) -> Kernel:
        """Store the landmarks' row numbers."""
        return replace(self, landmark_numbers=tuple(landmarks.numbers.tolist()))

    def remember(self, landmarks: Any) -> Any:
        """The landmarks' row numbers alone."""
        return GivenRows(np.empty((len(landmarks), 0)), landmarks.numbers)

    def diagonal(self, rows: Any) -> Array:
        """k(x, x), which is known only for rows of the matrix itself."""
        picked = rows.matrix[np.arange(len(rows)), rows.numbers]
        return np.asarray(picked, dtype=np.float64).ravel()


def _name(function: Any) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _describe(K: Array) -> str:
    return f"shape {K.shape}" if K.dtype.kind in "fiub" else f"shape {K.shape} of type {K.dtype}"
