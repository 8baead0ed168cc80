"""What the engine and the pipeline tell of their work."""

from collections.abc import Callable
from typing import Any, Self

#: Attributes of the estimator as it would be if the fit ended here; only called on demand.
State = Callable[[], dict[str, Any]]


class Progress:
    """What the engine and the pipeline tell of their work; this one does nothing with it.

    All calls come from one thread. As a context manager it closes at the end, and stops after a failure.
    """

    def stage(
        self, name: str, total_rows: int | None = None, passes: int = 1, max_iter: int | None = None
    ) -> None:
        """A stage begins, and the one before has ended; see ``Stage``."""

    def total(self, n_rows: int) -> None:
        """The number of rows has become known: the first pass is over."""

    def rows(self, n: int) -> None:
        """``n`` more rows are done."""

    def iteration(
        self, n_iter: int, max_iter: int, shift: float, inertia: float, state: State | None = None
    ) -> bool:
        """An iteration has ended; ``state`` gives an estimator that ends with it. True asks to stop here."""
        return False

    def note(self, text: str) -> None:
        """Something to know meanwhile; this one call may come from any thread."""

    def close(self) -> None:
        """All is done."""

    def stop(self) -> None:
        """The work ends here, unfinished."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is None:
            self.close()
        else:
            self.stop()


#: The default: nothing is shown.
SILENT = Progress()
