"""From the user's kernel parameters to a kernel."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from apnc.kernels.algebra import normalized
from apnc.kernels.bandwidth import LENGTHS, self_tuned_gammas
from apnc.kernels.combined import NormalizedKernel
from apnc.kernels.family import Kernel
from apnc.kernels.given import CallableKernel, PrecomputedKernel
from apnc.kernels.names import SCALED, SLOPED, TAKES
from apnc.kernels.vectors import VectorKernel
from apnc.typing import Array

#: Length scales that gamma is chosen from if it is ``"auto"``; the first one if there is nothing to choose by.
CANDIDATES = ("mean", "narrow")
#: Names that stand for a gamma tuned from the data.
GAMMAS = ("auto", *LENGTHS)


@dataclass(frozen=True)
class KernelChoice:
    """A kernel some of whose parameters may still have to be tuned from the data: a name, an object or a function.

    ``normalize="auto"`` normalises cosine alone: k(x, x) = 1 there, so embedded rows should have norm 1 too. Kernel
    objects say themselves whether they are normalised.
    """

    kernel: str | Kernel | Callable[..., Any]
    gamma: float | str | None = None
    coef0: float = 1.0
    degree: float = 3.0
    params: Mapping[str, Any] | None = None
    normalize: bool | str = "auto"

    @property
    def takes(self) -> tuple[str, ...]:
        """Parameters that have an effect on this kernel."""
        if isinstance(self.kernel, str):
            return TAKES.get(self.kernel, ())
        return () if isinstance(self.kernel, Kernel) else ("kernel_params",)

    @property
    def pairwise(self) -> bool:
        """Whether it compares pairs of objects, one by one."""
        return self.kernel.pairwise if isinstance(self.kernel, Kernel) else callable(self.kernel)

    @property
    def linear(self) -> bool:
        """Whether rows are vectors whose products are its values."""
        return isinstance(self.kernel, str) and self.kernel == "linear" and self.normalize in ("auto", False)

    @property
    def wants_sample(self) -> bool:
        """Whether a sample is needed to tune the kernel."""
        return bool(self.lengths) or (isinstance(self.kernel, Kernel) and self.kernel.tunable)

    @property
    def lengths(self) -> tuple[str, ...]:
        """Names of the length scales to tune gamma by: several if the best is to be chosen, none for a fixed gamma."""
        if not isinstance(self.kernel, str) or self.kernel not in SCALED:
            return ()
        if self.gamma == "auto":
            return CANDIDATES
        if self.gamma is None:
            return CANDIDATES[:1]
        return (self.gamma,) if isinstance(self.gamma, str) else ()

    def known(self, found: Kernel) -> "KernelChoice":
        """The choice without anything left to tune: with the kernel or the gamma that a fit has found."""
        return (
            replace(self, kernel=found)
            if isinstance(self.kernel, Kernel)
            else replace(self, gamma=found.gamma)
        )

    def resolve(self, rows: Any, weights: Array, n_columns: int) -> Kernel:
        """The kernel, tuned on a sample of distinct instances if necessary."""
        return self.candidates(rows, weights, n_columns)[0]

    def candidates(self, rows: Any, weights: Array, n_columns: int) -> list[Kernel]:
        """The kernel with each gamma to choose from, widest first."""
        if isinstance(self.kernel, Kernel):
            tuned = self.kernel.tuned(rows, weights)
            normalize = tuned.of_units if self.normalize == "auto" else self.normalize
            return [normalized(tuned) if normalize else tuned]
        kernels = self._plain(rows, weights, n_columns)
        normalize = self.kernel == "cosine" if self.normalize == "auto" else self.normalize
        return [NormalizedKernel(kernel) if normalize else kernel for kernel in kernels]

    def _plain(self, rows: Any, weights: Array, n_columns: int) -> list[Kernel]:
        if not isinstance(self.kernel, str):
            return [CallableKernel(self.kernel, dict(self.params or {}))]
        if self.kernel == "precomputed":
            return [PrecomputedKernel(n_columns)]
        gammas = self._gammas(rows, weights, n_columns)
        return [VectorKernel(self.kernel, gamma, float(self.coef0), float(self.degree)) for gamma in gammas]

    def _gammas(self, rows: Any, weights: Array, n_columns: int) -> list[float] | list[None]:
        if self.lengths:
            return self_tuned_gammas(str(self.kernel), rows, weights, self.lengths)
        if self.gamma is None or self.gamma == "auto":
            return [1.0 / n_columns] if self.kernel in SLOPED else [None]
        return [float(np.float64(self.gamma))]
