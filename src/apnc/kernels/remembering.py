"""A kernel that is asked for the same values more than once."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from apnc.kernels.family import Kernel, KernelRows
from apnc.typing import Array


@dataclass(frozen=True)
class RememberingKernel(Kernel):
    """The same kernel, which computes the matrix of two collections once: a user's function may be slow.

    Collections are told apart by identity, and held so that it stays theirs.
    """

    kernel: Kernel
    known: dict[tuple[Any, ...], tuple[Any, Any]] = field(default_factory=dict)

    @property
    def unit(self) -> bool:  # type: ignore[override]
        """Of the kernel inside."""
        return self.kernel.unit

    @property
    def gamma(self) -> float | None:  # type: ignore[override]
        """Of the kernel inside."""
        return self.kernel.gamma

    def against(self, landmarks: Any, dtype: type) -> KernelRows:
        """Rows are computed once; nobody may write into them."""

        def prepare() -> KernelRows:
            return self.kernel.against(landmarks, dtype)

        prepared: KernelRows = self._once((dtype, id(landmarks)), landmarks, prepare)

        def rows(X: Any, room: Array | None) -> Array:
            K: Array = self._once((dtype, id(landmarks), id(X)), X, lambda: prepared(X))
            K.flags.writeable = False
            return K

        return KernelRows(rows, prepared.factor)

    def _once(self, key: tuple[Any, ...], held: Any, compute: Callable[[], Any]) -> Any:
        if key not in self.known:
            self.known[key] = held, compute()
        return self.known[key][1]

    def diagonal(self, rows: Any) -> Array:
        """Of the kernel inside."""
        return self.kernel.diagonal(rows)
