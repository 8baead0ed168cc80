"""The kernel interface: rows of the kernel matrix against fixed landmarks, and its diagonal."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar

import numpy as np

from apnc.rows import GivenRows, n_columns
from apnc.stored import require
from apnc.typing import Array

#: What a kernel takes: rows of numbers, objects of one kind, objects with fields, or whatever its function does.
VECTORS, OBJECTS, RECORDS, ANYTHING = "vectors", "objects", "records", "anything"
#: Those for which rows are objects, whatever they look like.
OBJECT_KINDS = (OBJECTS, RECORDS)


class BadObjectError(ValueError):
    """An object that a kernel cannot take; the source that the object comes from adds its place to the message.

    Attributes
    ----------
    position : number of the object among those that were read.

    """

    def __init__(self, position: int, reason: str) -> None:
        super().__init__(reason)
        self.position = position

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.position, str(self))


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
    """A similarity between instances; kernels can be added, multiplied, scaled and made radial.

    ``takes``: what rows it takes, one of ``VECTORS``, ``OBJECTS``, ``RECORDS`` and ``ANYTHING``. ``psd``: all its
    matrices are positive semi-definite. ``pairwise``: a value costs a computation with two objects, instead of a
    product of features; progress is then shown in pairs, and samples that only tune the kernel are smaller. ``unit``:
    k(x, x) is meant to be 1, so embedded rows are scaled to norm 1. ``of_units``: it combines such
    kernels, and is normalised unless the user asks for the opposite. ``any_diagonal``: k(x, x) can be computed for new
    instances. ``pieces``: in how many pieces the matrix of a sample is computed, so that slow kernels report progress.
    ``tunable``: some parameter follows from the data and is not known yet.
    """

    takes: ClassVar[str] = ANYTHING
    psd: ClassVar[bool] = False
    pairwise: ClassVar[bool] = False
    unit: ClassVar[bool] = False
    of_units: ClassVar[bool] = False
    any_diagonal: ClassVar[bool] = True
    pieces: ClassVar[int] = 1
    tunable: ClassVar[bool] = False
    #: The width or slope in use; None if the kernel has none.
    gamma: float | None = None
    #: Fields that a kernel on records reads, by name, with their kinds.
    fields: Mapping[str, Any] = MappingProxyType({})

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the fields."""
        return tuple(self.fields)

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
        rows = self.against(self.read(B), np.float64)
        return rows(self.read(A)) * rows.factor

    def __add__(self, other: "Kernel") -> "Kernel":
        from apnc.kernels.algebra import added

        return added(self, other) if isinstance(other, Kernel) else NotImplemented

    def __radd__(self, other: object) -> "Kernel":
        # sum() begins with 0.
        return self if other == 0 else NotImplemented

    def __mul__(self, other: "Kernel | float") -> "Kernel":
        from apnc.kernels.algebra import multiplied

        return multiplied(self, other) if isinstance(other, Kernel | int | float) else NotImplemented

    __rmul__ = __mul__

    def rbf(self, gamma: float | None = None) -> "Kernel":
        """exp(-gamma d^2) with the distance d in this kernel's space; by default gamma follows from the data."""
        from apnc.kernels.radial import RadialKernel

        return RadialKernel(self, gamma)

    def read(self, objects: Any) -> Any:
        """Objects in the form that the kernel computes with; raises ``BadObjectError`` for one that it cannot take.

        The form is plain (JSON), so that objects can be sampled by content and stored; reading twice changes nothing.
        """
        return objects

    def shown(self, item: Any) -> str:
        """An object in a few words, for people."""
        return str(item)

    def tuned(self, rows: Any, weights: Array) -> "Kernel":
        """The kernel with what follows from a sample of distinct instances."""
        return self

    @property
    def asked(self) -> "Kernel":
        """The kernel as it was before ``tuned``."""
        return self

    def work_bytes(self, held: int, n_landmarks: int, dtype: type) -> int:
        """Memory that one row of ``held`` numbers needs while its kernel row is computed."""
        return (held + n_landmarks) * np.dtype(dtype).itemsize

    def landmark_bytes(self, held: int) -> int:
        """Memory that one landmark of ``held`` numbers needs besides its row, once it is prepared."""
        return 0

    def of_landmarks(self, landmarks: Any) -> "Kernel":
        """This kernel after the landmarks have been chosen."""
        return self

    def remember(self, landmarks: Any) -> Any:
        """What prediction needs of the landmarks once R is known."""
        return landmarks

    def asked_for(self, normalize: bool | str = "auto") -> dict[str, Any]:
        """Estimator parameters that select this kernel, besides ``normalize_kernel=normalize``."""
        return {"kernel": self.asked}

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


def is_function(kernel: Any) -> bool:
    """Whether a kernel is a user's function, which no file contains."""
    return callable(kernel) and not isinstance(kernel, Kernel)
