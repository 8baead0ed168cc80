"""Kernels made of others: what concerns the rows is passed on to these."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import reduce
from itertools import chain
from typing import Any, ClassVar, Self

import numpy as np

from apnc.kernels.family import ANYTHING, RECORDS, Kernel, KernelRows
from apnc.stored import require, stored
from apnc.typing import Array


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
    def fields(self) -> Mapping[str, Any]:  # type: ignore[override]
        """The fields that some part reads."""
        return {name: kind for part in self.parts for name, kind in part.fields.items()}

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

    def landmark_bytes(self, held: int) -> int:
        """That of all parts."""
        return sum(part.landmark_bytes(held) for part in self.parts)

    def work_bytes(self, held: int, n_landmarks: int, dtype: type) -> int:
        """That of the largest part, and the values of one more."""
        largest = max(part.work_bytes(held, n_landmarks, dtype) for part in self.parts)
        return largest + (len(self.parts) > 1) * n_landmarks * np.dtype(dtype).itemsize


def require_kernels(parts: Iterable[Any]) -> None:
    """Refuse anything else."""
    for part in parts:
        require(isinstance(part, Kernel), f"{part!r:.40} is not a kernel")


def common(parts: tuple[Kernel, ...]) -> str:
    """What all kernels take; no field of records may be of two kinds."""
    known: dict[str, type] = {}
    for name, field in chain.from_iterable(part.fields.items() for part in parts):
        kind = known.setdefault(name, type(field))
        require(
            kind is type(field),
            f"The field {name!r:.60} is a {kind.__name__} in one kernel and a {type(field).__name__} in another",
        )
    kinds = {part.takes for part in parts} - {ANYTHING}
    if len(kinds) > 1:
        raise ValueError(
            f"Kernels on {' and '.join(sorted(kinds))} cannot be combined: no row suits all of them."
        )
    return kinds.pop() if kinds else ANYTHING


class OfOne(Combined):
    """A kernel made of one other."""

    kernel: Kernel

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernel."""
        return (self.kernel,)

    def with_parts(self, parts: tuple[Kernel, ...]) -> Self:
        """The same of another kernel."""
        return replace(self, kernel=parts[0])  # type: ignore[type-var]


class OfSeveral(Combined):
    """A kernel made of several others, which take the same rows."""

    kernels: tuple[Kernel, ...]

    @property
    def parts(self) -> tuple[Kernel, ...]:
        """The kernels."""
        return self.kernels

    def with_parts(self, parts: tuple[Kernel, ...]) -> Self:
        """The same of other kernels."""
        return replace(self, kernels=parts)  # type: ignore[type-var]


@stored
@dataclass(frozen=True)
class NormalizedKernel(OfOne):
    """k(x, y) / sqrt(k(x, x) k(y, y)); instances with k(x, x) = 0 are similar to nothing."""

    unit: ClassVar[bool] = True
    kernel: Kernel

    def __repr__(self) -> str:
        return f"normalized({self.kernel!r})"

    @property
    def gamma(self) -> float | None:  # type: ignore[override]
        """That of the wrapped kernel."""
        return self.kernel.gamma

    def check(self) -> None:
        """The wrapped kernel must have a computable diagonal and not be normalised already."""
        require_kernels(self.parts)
        inside = self.kernel
        require(inside.any_diagonal and not inside.unit, f"a {type(inside).__name__} cannot be normalised")

    def asked_for(self, normalize: bool | str = "auto") -> dict[str, Any]:
        """Those of the wrapped kernel; of a kernel object, this one, unless the fit has normalised it."""
        inside = self.kernel.asked_for()
        by_fit = self.kernel.of_units if normalize == "auto" else normalize
        own = isinstance(inside.get("kernel"), Kernel) and not by_fit
        return {**inside, "kernel": self.asked} if own else inside

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
