"""From a user's words to a kernel."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from apnc.kernels.bandwidth import self_tuned_gamma
from apnc.kernels.family import Kernel, NormalizedKernel
from apnc.kernels.given import CallableKernel, PrecomputedKernel
from apnc.kernels.vectors import SCALED, SLOPED, VectorKernel
from apnc.typing import Array


@dataclass(frozen=True)
class KernelChoice:
    """A kernel whose gamma may still have to be tuned from the data.

    ``normalize="auto"`` is for cosine: its rows have norm 1, so that those of its embedding should too.
    """

    kernel: str | Callable[..., Any]
    gamma: float | str | None = None
    coef0: float = 1.0
    degree: float = 3.0
    params: Mapping[str, Any] | None = None
    normalize: bool | str = "auto"

    @property
    def self_tuned(self) -> bool:
        """Whether ``resolve`` needs a sample."""
        return self.kernel in SCALED and (self.gamma is None or self.gamma == "local")

    def resolve(self, rows: Any, weights: Array, n_columns: int) -> Kernel:
        """The kernel, its gamma tuned on a sample of distinct instances where it has to be."""
        kernel = self._plain(rows, weights, n_columns)
        normalize = self.kernel == "cosine" if self.normalize == "auto" else self.normalize
        return NormalizedKernel(kernel) if normalize else kernel

    def _plain(self, rows: Any, weights: Array, n_columns: int) -> Kernel:
        if callable(self.kernel):
            return CallableKernel(self.kernel, dict(self.params or {}))
        if self.kernel == "precomputed":
            return PrecomputedKernel(n_columns)
        return VectorKernel(
            self.kernel, self._gamma(rows, weights, n_columns), float(self.coef0), float(self.degree)
        )

    def _gamma(self, rows: Any, weights: Array, n_columns: int) -> float | None:
        if self.self_tuned:
            return self_tuned_gamma(str(self.kernel), rows, weights, local=self.gamma == "local")
        if self.gamma is None:
            return 1.0 / n_columns if self.kernel in SLOPED else None
        return float(np.float64(self.gamma))
