"""A kernel on sets and on things that are counted."""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar

import numpy as np

from apnc.kernels.family import BadObjectError, KernelRows
from apnc.kernels.objects.features import CountingKernel, Features, Postings
from apnc.kernels.objects.sequences import as_tokens, described, token_codes
from apnc.stored import stored
from apnc.typing import Array

#: Counts of this size and beyond cannot be added up.
LARGEST = 1e100


@stored
@dataclass(frozen=True)
class Jaccard(CountingKernel):
    """Size of the intersection of two sets over that of the union; of counts, sum of minima over sum of maxima.

    Takes sets, lists of items (an item may repeat, and then counts), and dicts of counts, in which None is 0. On
    fingerprints, as lists of the bits that are set, this is the Tanimoto similarity. It is positive semi-definite, and
    k(x, x) = 1. An empty set is similar to nothing.
    """

    unit: ClassVar[bool] = True

    def read(self, objects: Any) -> list[Any]:
        """Sets as sorted lists; lists and dicts as they are."""
        return [_plain(position, item) for position, item in enumerate(objects)]

    def features(self, objects: Sequence[Any]) -> Features:
        """Items by hash, with their counts."""
        from apnc.loops import hashed_features as loops

        codes, starts = token_codes([list(item) for item in objects])
        counts = [item.values() if isinstance(item, dict) else (1.0,) * len(item) for item in objects]
        values = np.fromiter(chain.from_iterable(counts), np.float64, len(codes))
        return Features.counted(loops.features_of(codes), starts, values)

    def against(self, landmarks: Any, dtype: type) -> KernelRows:
        """Sums of minima, over sums of maxima."""
        from apnc.loops.hashed_features import minima

        of_landmarks = self.counted(landmarks)
        postings = Postings.of(of_landmarks)
        columns: Array = of_landmarks.sums(of_landmarks.values).astype(dtype)

        def rows(X: Any, room: Array | None) -> Array:
            K = np.empty((len(X), len(columns)), dtype) if room is None else room
            for some in self.slices(X):
                found, own = self.features(X[some]), K[some]
                postings.compared(minima, found, own)
                # The larger of two counts is their sum less the smaller.
                union = found.sums(found.values).astype(dtype)[:, None] + columns - own
                np.divide(own, union, out=own, where=union > 0)
            return K

        return KernelRows(rows)

    def diagonal(self, rows: Any) -> Array:
        """1, or 0 for an empty set."""
        found = self.counted(rows)
        return (found.sums(found.values) > 0).astype(np.float64)

    def work_bytes(self, held: int, n_landmarks: int, dtype: type) -> int:
        """Minima and maxima."""
        return super().work_bytes(held, n_landmarks, dtype) + n_landmarks * np.dtype(dtype).itemsize


def _plain(position: int, item: Any) -> Any:
    """A set as a sorted list, a dict of counts, or a list of items."""
    if isinstance(item, str | bytes):
        raise BadObjectError(
            position,
            f"found {described(item)}, expected a set, a list of items or a dict of counts. For the letters of a text "
            "pass set(text); for runs of letters use Spectrum.",
        )
    if isinstance(item, Set):
        return sorted(as_tokens(position, list(item)), key=lambda one: (type(one).__name__, one))
    if isinstance(item, Mapping):
        return _counts(position, item)
    if not isinstance(item, list | tuple | np.ndarray):
        raise BadObjectError(
            position, f"found {described(item)}, expected a set, a list of items or a dict of counts."
        )
    return as_tokens(position, item)


def _counts(position: int, item: Mapping[Any, Any]) -> dict[str, float]:
    # Columns of structs have all fields in all rows.
    item = {name: count for name, count in item.items() if count is not None}
    for name, count in item.items():
        if not isinstance(name, str):
            raise BadObjectError(position, f"found the item {name!r:.40} in a dict, expected text as items.")
        number = isinstance(count, int | float | np.integer | np.floating) and not isinstance(count, bool)
        if not number or not 0 <= count < LARGEST:
            raise BadObjectError(
                position,
                f"the count of {name!r:.40} is {count!r:.40}, expected a number from 0 to {LARGEST:g}.",
            )
    return {name: float(count) for name, count in item.items()}
