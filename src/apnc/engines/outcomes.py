"""What tasks of an engine on other machines return: partial results, and errors that reach the caller as they are."""

import pickle
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

Combine = Callable[[Any, Any], Any]


@dataclass(frozen=True)
class Outcome:
    """The outcome of some partitions: at most one partial result, partitions whose files are lost, errors."""

    values: tuple[Any, ...] = ()
    lost: tuple[int, ...] = ()
    errors: tuple[Exception, ...] = ()

    def packed(self) -> bytes:
        """As bytes, compressed: sums of float32 values end in zeros, so a fast compression saves a quarter or more."""
        return zlib.compress(pickle.dumps((self.values, self.lost, self.errors), protocol=5), 1)

    def joined(self, other: "Outcome", combine: Combine) -> "Outcome":
        """Combined with the outcome of later partitions."""
        values = self.values + other.values
        total = (combine(*values),) if len(values) == 2 else values
        return Outcome(total, self.lost + other.lost, self.errors + other.errors)


def join(outcomes: Iterable[Outcome], combine: Combine) -> Outcome:
    """Combine outcomes in order."""
    total = Outcome()
    for outcome in outcomes:
        total = total.joined(outcome, combine)
    return total


def portable(error: Exception) -> Exception:
    """An exception that can be pickled; its traceback is lost."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error
