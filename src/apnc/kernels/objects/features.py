"""Kernels on objects that have features: counted by hash, and compared with the landmarks' through a hash table."""

from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from apnc.kernels.family import OBJECTS, Kernel, KernelRows
from apnc.rows import numbers_held
from apnc.stored import require
from apnc.typing import Array

#: Memory of the features of one number (8 bytes) of an object: as text, a feature for each letter, by hash and counted.
FEATURE_BYTES = 8 * 40
#: Memory of features that are computed at once.
SLICE_BYTES = 1 << 26
#: Objects that a loaded model is tried on.
TRIALS = 2


@dataclass(frozen=True)
class Features:
    """Features of n objects: each object's are distinct, in any order.

    Attributes
    ----------
    ids : int32 array, hashes of ``loops.hashed_features.BITS`` bits.
    values : float64 array, as long.
    starts : int64 array of shape (n + 1,), where each object's features begin.

    """

    ids: Array
    values: Array
    starts: Array

    @classmethod
    def counted(cls, ids: Array, starts: Array, values: Array | None = None) -> "Features":
        """From features that may repeat: their number, or the sum of their values."""
        from apnc.loops import hashed_features as loops

        return cls(*loops.summed(ids, np.ones(len(ids)) if values is None else values, starts))

    @classmethod
    def joined(cls, parts: Sequence["Features"]) -> "Features":
        """Features of all objects of several parts."""
        if len(parts) == 1:
            return parts[0]
        ends = np.cumsum([0, *(part.starts[-1] for part in parts)])
        starts = [part.starts[:-1] + end for part, end in zip(parts, ends[:-1], strict=True)]
        ids, values = ([getattr(part, name) for part in parts] for name in ("ids", "values"))
        return cls(np.concatenate(ids), np.concatenate(values), np.append(np.concatenate(starts), ends[-1]))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def sums(self, values: Array) -> Array:
        """The sum of ``values``, one for each feature, by object."""
        # Not by differences of running sums, whose rounding would depend on the objects before.
        total, some = np.zeros(len(self)), np.diff(self.starts) > 0
        if some.any():
            total[some] = np.add.reduceat(values, self.starts[:-1][some])
        return total


@dataclass(frozen=True)
class Postings:
    """Features of landmarks in a hash table: for each feature, the landmarks that have it, and its values there."""

    keys: Array
    places: Array
    firsts: Array
    which: Array
    values: Array

    @classmethod
    def of(cls, found: Features) -> "Postings":
        """Sort the landmarks' features by their hash."""
        from apnc.loops import hashed_features as loops

        owners = np.repeat(np.arange(len(found), dtype=np.int32), np.diff(found.starts))
        order = np.argsort(found.ids, kind="stable")
        distinct, counts = np.unique(found.ids, return_counts=True)
        keys, places = loops.table_of(distinct.astype(np.int32))
        return cls(keys, places, np.append(0, np.cumsum(counts)), owners[order], found.values[order])

    def compared(self, loop: Callable[..., None], found: Features, out: Array) -> Array:
        """Fill ``out`` by one of the loops that go through the table."""
        loop(
            found.ids, found.values, found.starts, self.keys, self.places, self.firsts, self.which, self.values, out
        )  # fmt: skip
        return out


class ObjectKernel(Kernel):
    """A kernel on objects, which it checks and brings into a plain form by ``read``."""

    takes: ClassVar[str] = OBJECTS

    def check_landmarks(self, landmarks: Any) -> None:
        """Require objects in the form that the kernel reads."""
        require(isinstance(landmarks, list), f"landmarks of {type(self).__name__} must be objects")
        require(
            self.read(landmarks) == landmarks, f"landmarks are not as {type(self).__name__} reads objects"
        )

    def trial(self, landmarks: Any) -> Any:
        """The first landmarks."""
        return landmarks[:TRIALS]


class CountingKernel(ObjectKernel):
    """A kernel that compares objects by their features."""

    psd: ClassVar[bool] = True

    @abstractmethod
    def features(self, objects: Sequence[Any]) -> Features:
        """Features of objects in the form that ``read`` gives them."""

    def feature_bytes(self, held: int) -> int:
        """Memory of the features of an object of ``held`` numbers while they are counted."""
        return FEATURE_BYTES * held

    def landmark_bytes(self, held: int) -> int:
        """Its features."""
        return self.feature_bytes(held)

    def work_bytes(self, held: int, n_landmarks: int, dtype: type) -> int:
        """Features besides the values."""
        return super().work_bytes(held, n_landmarks, dtype) + self.feature_bytes(held)

    def slices(self, objects: Sequence[Any]) -> Iterator[slice]:
        """Parts whose features fit in ``SLICE_BYTES``: samples are not split into chunks, and objects may be large."""
        size = max(1, SLICE_BYTES // (1 + self.feature_bytes(numbers_held(objects))))
        return (slice(start, start + size) for start in range(0, len(objects), size))

    def counted(self, objects: Sequence[Any]) -> Features:
        """Features of any number of objects."""
        parts = [self.features(objects[some]) for some in self.slices(objects)]
        return Features.joined(parts or [self.features(objects)])


class FeatureKernel(CountingKernel):
    """The inner product of features, or with ``normalize`` its cosine.

    An object without features is similar to nothing, not even to itself.
    """

    normalize: bool

    @property
    def unit(self) -> bool:  # type: ignore[override]
        """Whether k(x, x) = 1."""
        return self.normalize

    def against(self, landmarks: Any, dtype: type) -> KernelRows:
        """Inner products with the landmarks, or cosines."""
        from apnc.loops.hashed_features import products

        of_landmarks = self.counted(landmarks)
        postings = Postings.of(of_landmarks)
        columns: Array = inverse_norms(of_landmarks).astype(dtype)

        def rows(X: Any, room: Array | None) -> Array:
            K = np.empty((len(X), len(columns)), dtype) if room is None else room
            for some in self.slices(X):
                found, own = self.features(X[some]), K[some]
                postings.compared(products, found, own)
                if self.normalize:
                    own *= inverse_norms(found).astype(dtype)[:, None]
                    own *= columns
            return K

        return KernelRows(rows)

    def diagonal(self, rows: Any) -> Array:
        """Sums of squares, or 1; 0 for an object without features."""
        squares = np.empty(len(rows))
        for some in self.slices(rows):
            found = self.features(rows[some])
            squares[some] = found.sums(found.values**2)
        return (squares > 0).astype(np.float64) if self.normalize else squares


def inverse_norms(found: Features) -> Array:
    """1 / the norm over all features, shared with landmarks or not; 0 for an object without any."""
    norms = np.sqrt(found.sums(found.values**2))
    return np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
