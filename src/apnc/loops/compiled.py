"""How loops are compiled: without the interpreter lock, and kept on disk between runs."""

from collections.abc import Callable
from typing import Any

from numba import njit

#: Sums may be reordered (vectorised) and nothing is NaN; infinities keep their meaning.
FAST = {"reassoc", "contract", "arcp", "nsz", "nnan"}


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


@compiled()
def _nothing():  # type: ignore[no-untyped-def]
    return 0


def load() -> None:
    """Bring in all that the first call of a compiled loop loads, about 100 MB, before memory is counted."""
    _nothing()
