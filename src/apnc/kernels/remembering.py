"""A caching kernel for samples, whose values are needed more than once and may be slow to compute."""

from collections.abc import Callable
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from apnc.kernels.family import Kernel, KernelRows
from apnc.rows import n_rows
from apnc.typing import Array


@dataclass(frozen=True)
class RememberingKernel(Kernel):
    """A kernel that computes the matrix of two collections once, since a user's function may be slow.

    Collections are identified by ``id`` and kept alive, so that no other object can take over the id. ``on_values`` is
    called with the number of values each time some have been computed.
    """

    kernel: Kernel
    on_values: Callable[[int], None] | None = None
    known: dict[tuple[Any, ...], tuple[Any, Any]] = field(default_factory=dict)

    @property
    def unit(self) -> bool:  # type: ignore[override]
        """That of the wrapped kernel."""
        return self.kernel.unit

    @property
    def gamma(self) -> float | None:  # type: ignore[override]
        """That of the wrapped kernel."""
        return self.kernel.gamma

    def against(self, landmarks: Any, dtype: type) -> KernelRows:
        """Rows are computed once and are read-only."""

        def prepare() -> KernelRows:
            return self.kernel.against(landmarks, dtype)

        prepared: KernelRows = self._once((dtype, id(landmarks)), landmarks, prepare)

        def rows(X: Any, room: Array | None) -> Array:
            K: Array = self._once((dtype, id(landmarks), id(X)), X, lambda: self._told(prepared, X))
            K.flags.writeable = False
            return K

        return KernelRows(rows, prepared.factor)

    def _told(self, rows: KernelRows, X: Any) -> Array:
        """Compute rows in pieces, reporting each."""
        # The pieces do not depend on whether anyone listens: rounding may differ between piece sizes.
        edges = np.linspace(0, n_rows(X), min(self.kernel.pieces, n_rows(X)) + 1).astype(int).tolist()
        parts = []
        for start, stop in pairwise(edges):
            parts.append(rows(X if len(edges) == 2 else X[start:stop]))
            if self.on_values is not None:
                self.on_values(parts[-1].size)
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def _once(self, key: tuple[Any, ...], held: Any, compute: Callable[[], Any]) -> Any:
        if key not in self.known:
            self.known[key] = held, compute()
        return self.known[key][1]

    def diagonal(self, rows: Any) -> Array:
        """That of the wrapped kernel."""
        return self.kernel.diagonal(rows)
