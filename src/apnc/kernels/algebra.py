"""Kernels made of others: sums, products, normalised and radial ones."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np

from apnc.kernels.bandwidth import mean_length
from apnc.kernels.family import ANYTHING, RECORDS, Kernel, KernelRows
from apnc.rows import n_rows
from apnc.stored import require, stored
from apnc.typing import Array

#: Rows whose distances tune a radial kernel, and fewer of them if every pair costs a computation.
TUNING, TUNING_PAIRS = 1000, 300


class Combined(Kernel):
    """A kernel made of ``parts``, which answer for what concerns the rows."""

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels that it is made of."""
        raise NotImplementedError

    def with_parts(self, parts: tuple[Kernel, ...]) -> Self:
        """The same with other parts."""
        raise NotImplementedError

    @property
    def takes(self) -> str:  # type: ignore[override]
        """What all parts take."""
        return common(self.parts)

    @property
    def psd(self) -> bool:  # type: ignore[override]
        """Whether all parts are: sums, products, scaling and exp(-gamma d^2) keep that."""
        return all(part.psd for part in self.parts)

    @property
    def pairwise(self) -> bool:  # type: ignore[override]
        """Whether a part is."""
        return any(part.pairwise for part in self.parts)

    @property
    def any_diagonal(self) -> bool:  # type: ignore[override]
        """Whether all parts can compute it."""
        return all(part.any_diagonal for part in self.parts)

    @property
    def pieces(self) -> int:  # type: ignore[override]
        """As many as the slowest part needs."""
        return max(part.pieces for part in self.parts)

    @property
    def tunable(self) -> bool:  # type: ignore[override]
        """Whether a part is."""
        return any(part.tunable for part in self.parts)

    @property
    def asked(self) -> Kernel:
        """Of the parts as they were before ``tuned``."""
        return self.with_parts(tuple(part.asked for part in self.parts))

    @property
    def columns(self) -> tuple[str, ...]:  # type: ignore[override]
        """The fields that some part reads."""
        return tuple(dict.fromkeys(name for part in self.parts for name in part.columns))

    def read(self, objects: Any) -> Any:
        """Read by every part; of records, each reads its own fields."""
        if self.takes != RECORDS:
            return reduce(lambda found, part: part.read(found), self.parts, objects)
        found = [part.read(objects) for part in self.parts]
        return [dict(chain.from_iterable(one.items() for one in row)) for row in zip(*found, strict=True)]

    def shown(self, item: Any) -> str:
        """As the first part shows it."""
        return self.parts[0].shown(item)

    def tuned(self, rows: Any, weights: Array) -> Kernel:
        """Every part tuned."""
        return self.with_parts(tuple(part.tuned(rows, weights) for part in self.parts))

    def of_landmarks(self, landmarks: Any) -> Kernel:
        """Passed on to the parts."""
        return self.with_parts(tuple(part.of_landmarks(landmarks) for part in self.parts))

    def check_landmarks(self, landmarks: Any) -> None:
        """Passed on to the parts."""
        for part in self.parts:
            part.check_landmarks(landmarks)

    def n_features(self, landmarks: Any) -> int:
        """Passed on to the first part."""
        return self.parts[0].n_features(landmarks)

    def trial(self, landmarks: Any) -> Any:
        """Passed on to the parts; None if one of them has none."""
        found = [part.trial(landmarks) for part in self.parts]
        return None if any(rows is None for rows in found) else found[0]

    def confirm(self) -> None:
        """Passed on to the parts."""
        for part in self.parts:
            part.confirm()

    def work_bytes(self, held: int, n_landmarks: int, dtype: type) -> int:
        """That of the largest part, and the values of one more."""
        largest = max(part.work_bytes(held, n_landmarks, dtype) for part in self.parts)
        return largest + (len(self.parts) > 1) * n_landmarks * np.dtype(dtype).itemsize


def common(parts: tuple[Kernel, ...]) -> str:
    """What all kernels take."""
    kinds = {part.takes for part in parts} - {ANYTHING}
    if len(kinds) > 1:
        raise ValueError(
            f"Kernels on {' and '.join(sorted(kinds))} cannot be combined: no row suits all of them."
        )
    return kinds.pop() if kinds else ANYTHING


@stored
@dataclass(frozen=True)
class NormalizedKernel(Combined):
    """k(x, y) / sqrt(k(x, x) k(y, y)); instances with k(x, x) = 0 are similar to nothing."""

    unit: ClassVar[bool] = True
    kernel: Kernel

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernel."""
        return (self.kernel,)

    def with_parts(self, parts: tuple[Kernel, ...]) -> Self:
        """Normalise another kernel."""
        return replace(self, kernel=parts[0])

    @property
    def gamma(self) -> float | None:  # type: ignore[override]
        """That of the wrapped kernel."""
        return self.kernel.gamma

    def check(self) -> None:
        """The wrapped kernel must have a computable diagonal and not be normalised already."""
        inside = self.kernel
        require(inside.any_diagonal and not inside.unit, f"a {type(inside).__name__} cannot be normalised")

    def asked_for(self) -> dict[str, Any]:
        """Those of the wrapped kernel; of a kernel object, this one."""
        inside = self.kernel.asked_for()
        return {**inside, "kernel": self.asked} if isinstance(inside.get("kernel"), Kernel) else inside

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


@stored
@dataclass(frozen=True)
class SumKernel(Combined):
    """The sum of kernels, each with a weight > 0."""

    kernels: tuple[Kernel, ...]
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Require kernels that suit each other, and a positive weight for each."""
        require(self.kernels and len(self.kernels) == len(self.weights), "each kernel needs a weight")
        positive = all(0 < weight < np.inf for weight in self.weights)
        require(positive, f"weights of kernels must be positive, got {self.weights}")
        common(self.kernels)

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels."""
        return self.kernels

    def with_parts(self, parts: tuple[Kernel, ...]) -> Self:
        """The same sum of other kernels."""
        return replace(self, kernels=parts)

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
class ProductKernel(Combined):
    """The product of kernels."""

    kernels: tuple[Kernel, ...]

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Require kernels that suit each other."""
        require(self.kernels, "a product needs a kernel")
        common(self.kernels)

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels."""
        return self.kernels

    def with_parts(self, parts: tuple[Kernel, ...]) -> Self:
        """The product of other kernels."""
        return replace(self, kernels=parts)

    @property
    def unit(self) -> bool:  # type: ignore[override]
        """Whether every part is."""
        return all(part.unit for part in self.kernels)

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


@stored
@dataclass(frozen=True)
class RadialKernel(Combined):
    """exp(-gamma d^2) with d^2 = k(x, x) + k(y, y) - 2 k(x, y); ``gamma=None`` follows from the mean distance."""

    kernel: Kernel
    gamma: float | None = None
    #: Whether gamma was None before it was tuned.
    found: bool = False

    def __post_init__(self) -> None:
        self.check()

    def check(self) -> None:
        """Require a width."""
        require(
            self.gamma is None or 0 < self.gamma < np.inf, f"gamma={self.gamma} must be a positive number"
        )
        require(self.kernel.any_diagonal, f"a {type(self.kernel).__name__} has no distances")

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernel."""
        return (self.kernel,)

    def with_parts(self, parts: tuple[Kernel, ...]) -> Self:
        """The same of another kernel."""
        return replace(self, kernel=parts[0])

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
        return RadialKernel(kernel, 1.0 / (2.0 * length**2) if length > 0 else 1.0, found=True)

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


def squared_distances(kernel: Kernel, rows: Any) -> Array:
    """Squared distances of all pairs in a kernel's space."""
    K, diagonal = kernel(rows, rows), kernel.diagonal(rows)
    return np.maximum(diagonal[:, None] + diagonal - 2.0 * K, 0.0)


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
    return SumKernel(tuple(kernel for kernel, _ in terms), tuple(weight for _, weight in terms))


def _terms(kernel: Kernel) -> Iterator[tuple[Kernel, float]]:
    if isinstance(kernel, SumKernel):
        yield from zip(kernel.kernels, kernel.weights, strict=True)
    else:
        yield kernel, 1.0


def _factors(kernel: Kernel) -> tuple[Kernel, ...]:
    return kernel.kernels if isinstance(kernel, ProductKernel) else (kernel,)
