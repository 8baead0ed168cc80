"""The radial kernel in the space of another one."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from apnc.kernels.bandwidth import mean_length
from apnc.kernels.combined import OfOne, OfSeveral, require_kernels
from apnc.kernels.family import Kernel, KernelRows
from apnc.rows import n_rows
from apnc.stored import require, stored
from apnc.typing import Array

#: Rows whose distances tune a radial kernel, and fewer of them if every pair costs a computation.
TUNING, TUNING_PAIRS = 1000, 300


@stored
@dataclass(frozen=True)
class RadialKernel(OfOne):
    """exp(-gamma d^2) with d^2 = k(x, x) + k(y, y) - 2 k(x, y); ``gamma=None`` follows from the mean distance."""

    kernel: Kernel
    gamma: float | None = None
    #: Whether gamma was None before it was tuned.
    found: bool = False

    def __post_init__(self) -> None:
        self.check()

    def __repr__(self) -> str:
        inside = f"({self.kernel!r})" if isinstance(self.kernel, OfSeveral) else f"{self.kernel!r}"
        return f"{inside}.rbf({'' if self.gamma is None else repr(self.gamma)})"

    def check(self) -> None:
        """Require a width."""
        require_kernels(self.parts)
        require(
            self.gamma is None or 0 < self.gamma < np.inf, f"gamma={self.gamma} must be a positive number"
        )
        require(self.kernel.any_diagonal, f"a {type(self.kernel).__name__} has no distances")

    @property
    def same_diagonal(self) -> float | None:
        """It is 1."""
        return 1.0

    @property
    def tunable(self) -> bool:  # type: ignore[override]
        """Whether gamma or the kernel inside is."""
        return self.gamma is None or self.kernel.tunable

    @property
    def asked(self) -> Kernel:
        """Without a gamma that was tuned."""
        return RadialKernel(self.kernel.asked, None if self.found else self.gamma)

    def tuned(self, rows: Any, weights: Array) -> Kernel:
        """Gamma from the mean distance in a sample, as for the kernel rbf on vectors."""
        kernel = self.kernel.tuned(rows, weights)
        if self.gamma is not None:
            return replace(self, kernel=kernel)
        size = TUNING_PAIRS if kernel.pairwise else TUNING
        some, own = rows[:size], weights[:size]
        length = mean_length(np.sqrt(squared_distances(kernel, some)), own)
        return RadialKernel(kernel, gamma_of(length), found=True)

    def against(self, landmarks: Any, dtype: type) -> KernelRows:
        """exp(-gamma d^2) of the wrapped kernel's rows."""
        # In float64: squared distances are differences of nearly equal numbers.
        rows = self.kernel.against(landmarks, np.float64)
        columns, gamma = self.kernel.diagonal(landmarks), self._gamma

        def radial(X: Any, room: Array | None) -> Array:
            K = rows(X, room if dtype is np.float64 else None)
            K *= 2.0 * rows.factor
            K -= self.kernel.diagonal(X)[:, None]
            K -= columns
            np.minimum(K, 0.0, out=K)
            K *= gamma
            return np.exp(K, out=K).astype(dtype, copy=False)

        return KernelRows(radial)

    @property
    def _gamma(self) -> float:
        if self.gamma is None:
            raise ValueError("This radial kernel has no gamma yet: pass one, or fit an estimator with it.")
        return self.gamma

    def work_bytes(self, held: int, n_landmarks: int, dtype: type) -> int:
        """That of the wrapped kernel in float64, and a copy in the compute type."""
        return self.kernel.work_bytes(held, n_landmarks, np.float64) + 8 * n_landmarks

    def diagonal(self, rows: Any) -> Array:
        """It is 1."""
        return np.ones(n_rows(rows))


def gamma_of(length: float) -> float:
    """1 / (2 length^2); 1 if all distances are 0, or too small to be squared."""
    width = 2.0 * length**2
    return 1.0 / width if width > np.finfo(float).tiny else 1.0


def squared_distances(kernel: Kernel, rows: Any) -> Array:
    """Squared distances of all pairs in a kernel's space."""
    K, diagonal = kernel(rows, rows), kernel.diagonal(rows)
    return np.maximum(diagonal[:, None] + diagonal - 2.0 * K, 0.0)
