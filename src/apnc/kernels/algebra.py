"""Sums and products of kernels, and the operations that make them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from apnc.kernels.combined import NormalizedKernel, OfSeveral, common, require_kernels
from apnc.kernels.family import Kernel, KernelRows
from apnc.stored import require, stored
from apnc.typing import Array


@stored
@dataclass(frozen=True)
class SumKernel(OfSeveral):
    """The sum of kernels, each with a weight > 0."""

    kernels: tuple[Kernel, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        self.check()

    def __repr__(self) -> str:
        pairs = zip(self.kernels, self.weights, strict=True)
        return " + ".join(
            f"{kernel!r}" if weight == 1 else f"{weight!r} * {kernel!r}" for kernel, weight in pairs
        )

    @property
    def of_units(self) -> bool:  # type: ignore[override]
        """Whether every part is normalised, or combines such parts."""
        return all(part.unit or part.of_units for part in self.kernels)

    def check(self) -> None:
        """Require kernels that take the same rows, and a positive weight for each."""
        require_kernels(self.kernels)
        require(self.kernels and len(self.kernels) == len(self.weights), "each kernel needs a weight")
        positive = all(0 < weight < np.inf for weight in self.weights)
        require(positive, f"weights of kernels must be positive, got {self.weights}")
        common(self.kernels)

    def against(self, landmarks: Any, dtype: type) -> KernelRows:
        """The weighted sum of the parts' rows."""
        prepared = [part.against(landmarks, dtype) for part in self.kernels]

        def total(X: Any, room: Array | None) -> Array:
            K: Array | None = None
            for rows, weight in zip(prepared, self.weights, strict=True):
                own = rows(X, room if K is None else None)
                own *= dtype(weight * rows.factor)
                K = own if K is None else np.add(K, own, out=K)
            return K  # type: ignore[return-value]

        return KernelRows(total)

    def diagonal(self, rows: Any) -> Array:
        """The weighted sum of the parts' diagonals."""
        pairs = zip(self.kernels, self.weights, strict=True)
        return np.sum([weight * kernel.diagonal(rows) for kernel, weight in pairs], axis=0)


@stored
@dataclass(frozen=True)
class ProductKernel(OfSeveral):
    """The product of kernels."""

    kernels: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Require kernels that take the same rows."""
        require_kernels(self.kernels)
        require(self.kernels, "a product needs a kernel")
        common(self.kernels)

    def __repr__(self) -> str:
        return " * ".join(
            f"({part!r})" if isinstance(part, SumKernel) else f"{part!r}" for part in self.kernels
        )

    @property
    def unit(self) -> bool:  # type: ignore[override]
        """Whether every part is, or has k(x, x) = 1 anyway."""
        units = [part.unit for part in self.kernels]
        return any(units) and all(
            unit or part.same_diagonal == 1 for unit, part in zip(units, self.kernels, strict=True)
        )

    @property
    def of_units(self) -> bool:  # type: ignore[override]
        """Whether every part is normalised, or combines such parts."""
        return all(part.unit or part.of_units for part in self.kernels)

    def against(self, landmarks: Any, dtype: type) -> KernelRows:
        """The product of the parts' rows."""
        first, *others = [part.against(landmarks, dtype) for part in self.kernels]

        def product(X: Any, room: Array | None) -> Array:
            K = first(X, room)
            for rows in others:
                K *= rows(X)
            return K

        return KernelRows(product, float(np.prod([first.factor, *(rows.factor for rows in others)])))

    def diagonal(self, rows: Any) -> Array:
        """The product of the parts' diagonals."""
        return np.prod([kernel.diagonal(rows) for kernel in self.kernels], axis=0)


def normalized(kernel: Kernel) -> Kernel:
    """The kernel divided by the roots of k(x, x) and k(y, y); one that is normalised already stays as it is."""
    if not isinstance(kernel, Kernel):
        raise ValueError(f"normalized({kernel!r}): expected a kernel, such as apnc.kernels.Spectrum().")
    return kernel if kernel.unit else NormalizedKernel(kernel)


def added(one: Kernel, two: Kernel) -> Kernel:
    """The sum of two kernels; sums inside it are taken apart."""
    terms = [*_terms(one), *_terms(two)]
    return SumKernel(tuple(kernel for kernel, _ in terms), tuple(weight for _, weight in terms))


def multiplied(one: Kernel, other: Kernel | float) -> Kernel:
    """The product with a kernel, or with a number > 0."""
    if isinstance(other, Kernel):
        return ProductKernel((*_factors(one), *_factors(other)))
    terms = [(kernel, weight * float(other)) for kernel, weight in _terms(one)]
    if len(terms) == 1 and terms[0][1] == 1:
        return terms[0][0]
    return SumKernel(tuple(kernel for kernel, _ in terms), tuple(weight for _, weight in terms))


def _terms(kernel: Kernel) -> Iterator[tuple[Kernel, float]]:
    if isinstance(kernel, SumKernel):
        yield from zip(kernel.kernels, kernel.weights, strict=True)
    else:
        yield kernel, 1.0


def _factors(kernel: Kernel) -> tuple[Kernel, ...]:
    return kernel.kernels if isinstance(kernel, ProductKernel) else (kernel,)
