"""The interface by which engines and pipeline report progress."""

from collections.abc import Callable
from typing import Any, Self

#: Returns the attributes the estimator would have if the fit ended here; called only on demand.
State = Callable[[], dict[str, Any]]


class Progress:
    """Receives progress reports from engines and pipeline; the base class ignores them.

    All calls come from one thread. As a context manager it calls ``close`` at the end, or ``stop`` after a failure.
    """

    def stage(
        self, name: str, total_rows: int | None = None, passes: int = 1, max_iter: int | None = None
    ) -> None:
        """A stage begins, and the previous one has ended; see ``Stage``."""

    def pairs(self, each: int) -> None:
        """Every row of this stage costs ``each`` values of a kernel that compares pairs of objects."""

    def total(self, n_rows: int) -> None:
        """The number of rows is known, after the first pass."""

    def rows(self, n: int) -> None:
        """``n`` more rows are done."""

    def iteration(
        self, n_iter: int, max_iter: int, shift: float, inertia: float, state: State | None = None
    ) -> bool:
        """An iteration has ended; ``state`` returns the attributes of a fit that ends here. Return True to stop."""
        return False

    def note(self, text: str) -> None:
        """A message to show; unlike the other calls, it may come from any thread."""

    def close(self) -> None:
        """The work is complete."""

    def stop(self) -> None:
        """The work has failed or was interrupted."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.stop()


#: The default: nothing is shown.
SILENT = Progress()
