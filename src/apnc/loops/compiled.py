"""How loops are compiled: without the interpreter lock, and kept on disk between runs."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import njit
from numba.core import event

#: Sums may be reordered (vectorised) and nothing is NaN; infinities keep their meaning.
FAST = {"reassoc", "contract", "arcp", "nsz", "nnan"}

#: Said when the first loop is compiled, which takes many seconds.
COMPILING = "compiling the loops ({}) ..."
ONCE, ALWAYS = "once per machine", "in every process: no cache folder can be written, see NUMBA_CACHE_DIR"


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit``, cached next to the module or else in the user's cache folder.

    Where neither can be written, as in some containers, loops are compiled anew in each process.
    """

    def compile_(function: Callable[..., Any]) -> Any:
        try:
            return njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:
            return njit(nogil=True, **options)(function)

    return compile_


class Compiling(event.Listener):
    """Notices when loops are compiled; those that are found on the disk are not.

    Parameters
    ----------
    tell : called with a line to show when the first one begins, on whatever thread that is.

    Attributes
    ----------
    seconds : that all took.

    """

    def __init__(self, tell: Callable[[str], None] | None = None) -> None:
        self.seconds = 0.0
        self._tell = tell
        self._depth, self._begin = 0, 0.0
        self._lock = threading.Lock()

    def on_start(self, event: Any) -> None:
        """A loop, or one that another needs."""
        with self._lock:
            tell, self._tell = self._tell, None
            self._begin = self._begin if self._depth else time.perf_counter()
            self._depth += 1
        if tell is not None:
            tell(COMPILING.format(ONCE if kept_on_disk() else ALWAYS))

    def on_end(self, event: Any) -> None:
        """It is compiled."""
        with self._lock:
            self._depth -= 1
            self.seconds += 0.0 if self._depth else time.perf_counter() - self._begin


@contextmanager
def watched(tell: Callable[[str], None] | None = None) -> Iterator[Compiling]:
    """Notice what is compiled meanwhile."""
    with event.install_listener("numba:compile", Compiling(tell)) as compiling:
        yield compiling


def kept_on_disk() -> bool:
    """Whether what is compiled now will be found by the next process."""
    return type(_nothing._cache).__name__ != "NullCache"


@compiled()
def _nothing():  # type: ignore[no-untyped-def]
    return 0


def load() -> None:
    """Bring in all that the first call of a compiled loop loads, about 100 MB, before memory is counted."""
    _nothing()
