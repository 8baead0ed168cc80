"""How loops are compiled: they release the GIL and are cached on disk between runs."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba import njit
from numba.core import event
from numba.core.compiler_lock import global_compiler_lock

from apnc.forking import hold_while_forking

#: Sums may be reordered (vectorised) and nothing is NaN. "ninf" is left out: the searches start from infinity.
FAST = {"reassoc", "contract", "arcp", "nsz", "nnan"}

#: Shown when the first loop is compiled, which takes many seconds.
COMPILING = "compiling the loops ({}) ..."
ONCE, ALWAYS = "once per machine", "in every process: no cache folder is writable, see NUMBA_CACHE_DIR"

hold_while_forking(global_compiler_lock)


def compiled(**options: Any) -> Callable[[Callable[..., Any]], Any]:
    """``numba.njit``, cached next to the module or else in the user's cache folder.

    If neither is writable, as in some containers, loops are compiled in every process.
    """

    def compile_(function: Callable[..., Any]) -> Any:
        try:
            return njit(nogil=True, cache=True, **options)(function)
        except RuntimeError:
            return njit(nogil=True, **options)(function)

    return compile_


class Compiling(event.Listener):
    """Listens for compilations; loops loaded from the cache do not count.

    Parameters
    ----------
    tell : called with a line of text when the first compilation begins, on any thread.

    Attributes
    ----------
    seconds : total time spent compiling.

    """

    def __init__(self, tell: Callable[[str], None] | None = None) -> None:
        self.seconds = 0.0
        self._tell = tell
        self._depth, self._begin = 0, 0.0
        self._lock = threading.Lock()

    def on_start(self, event: Any) -> None:
        """A compilation begins, possibly nested in another."""
        with self._lock:
            tell, self._tell = self._tell, None
            self._begin = self._begin if self._depth else time.perf_counter()
            self._depth += 1
        if tell is not None:
            tell(COMPILING.format(ONCE if kept_on_disk() else ALWAYS))

    def on_end(self, event: Any) -> None:
        """A compilation has ended."""
        with self._lock:
            self._depth -= 1
            self.seconds += 0.0 if self._depth else time.perf_counter() - self._begin


@contextmanager
def watched(tell: Callable[[str], None] | None = None) -> Iterator[Compiling]:
    """Listen for compilations within the context."""
    with event.install_listener("numba:compile", Compiling(tell)) as compiling:
        yield compiling


def kept_on_disk() -> bool:
    """Whether the next process will find what this one compiles."""
    return type(_nothing._cache).__name__ != "NullCache"


@compiled()
def _nothing():  # type: ignore[no-untyped-def]
    return 0


def load() -> None:
    """Load everything that the first call of a compiled loop needs, about 100 MB, before memory is measured."""
    _nothing()
