"""Progress as lines of text, or as bars on a terminal and in a notebook."""

import importlib.util
import os
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from apnc.progress.contract import SILENT, Progress, State
from apnc.progress.stage import Stage, iteration_line

Clock = Callable[[], float]
#: Seconds between lines, and between changes of a bar.
LINE_INTERVAL, BAR_INTERVAL = 5.0, 0.1


def make_progress(verbose: int, stream: TextIO | None = None, clock: Clock = time.monotonic) -> Progress:
    """What shows the progress of a fit.

    Parameters
    ----------
    verbose : 0 shows nothing, 1 the progress, 2 each iteration above the bars too.
    stream : where to; None: lines of iterations to stdout, as scikit-learn does, all else to stderr.
    clock : seconds.

    """
    if verbose <= 0:
        return SILENT
    shown, iterations = (sys.stderr, sys.stdout) if stream is None else (stream, stream)
    return Bars(shown, verbose > 1, clock) if _takes_bars(shown) else Lines(shown, iterations, clock)


def _takes_bars(stream: TextIO) -> bool:
    if importlib.util.find_spec("rich") is None:
        return False
    terminal = stream.isatty() and os.environ.get("TERM", "").lower() not in ("dumb", "unknown")
    return terminal or (in_notebook() and importlib.util.find_spec("ipywidgets") is not None)


def in_notebook() -> bool:
    """Whether this runs in Jupyter or Colab; IPython on a terminal is no notebook."""
    ipython = sys.modules.get("IPython")
    shell = type(ipython.get_ipython()) if ipython is not None else type(None)
    return shell.__name__ == "ZMQInteractiveShell" or shell.__module__.startswith("google.colab")


class _Shown(Progress):
    """Keeps account of the stage for those that show it."""

    def __init__(self, interval: float, clock: Clock):
        self._interval, self._clock = interval, clock
        self._now: Stage | None = None
        self._last = clock()

    def stage(
        self, name: str, total_rows: int | None = None, passes: int = 1, max_iter: int | None = None
    ) -> None:
        self._end(failed=False)
        self._now = Stage(name, self._clock(), total_rows, passes, max_iter)
        self._begin(name)

    def total(self, n_rows: int) -> None:
        if self._now:
            self._now.total_rows = n_rows

    def rows(self, n: int) -> None:
        if self._now:
            self._now.n_rows += n
            self._refresh(self._now)

    def iteration(
        self, n_iter: int, max_iter: int, shift: float, inertia: float, state: State | None = None
    ) -> bool:
        if self._now:
            now = self._now
            now.n_iter, now.max_iter, now.shift, now.inertia = n_iter, max_iter, shift, inertia
            now.before = now.n_rows
            self._refresh(now)
        return False

    def close(self) -> None:
        self._end(failed=False)

    def stop(self) -> None:
        self._end(failed=True)

    def _refresh(self, stage: Stage) -> None:
        if self._clock() - self._last >= self._interval:
            self._last = self._clock()
            self._show(stage.name, stage.text(self._last), stage.share())

    def _end(self, failed: bool) -> None:
        if self._now:
            stage, self._now, self._last = self._now, None, self._clock()
            if failed:
                self._show(stage.name, stage.stopped(self._last), stage.share())
            else:
                self._show(stage.name, stage.finished(self._last), 1.0)

    def _begin(self, name: str) -> None:
        """Make room for a stage."""

    def _show(self, name: str, text: str, share: float | None) -> None:
        raise NotImplementedError


class Lines(_Shown):
    """Plain lines: now and then, at the end of a stage, and for each iteration.

    Parameters
    ----------
    stream : takes the lines.
    iterations : takes those of the iterations.
    clock : seconds.

    """

    def __init__(self, stream: TextIO, iterations: TextIO, clock: Clock = time.monotonic):
        super().__init__(LINE_INTERVAL, clock)
        self._stream, self._iterations = stream, iterations

    def iteration(
        self, n_iter: int, max_iter: int, shift: float, inertia: float, state: State | None = None
    ) -> bool:
        print(iteration_line(n_iter, shift, inertia), file=self._iterations, flush=True)
        return super().iteration(n_iter, max_iter, shift, inertia)

    def note(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def _show(self, name: str, text: str, share: float | None) -> None:
        print(f"{name}: {text}", file=self._stream, flush=True)


class Bars(_Shown):
    """A bar for each stage, by rich; with ``every`` a line for each iteration above them."""

    def __init__(self, stream: TextIO, every: bool, clock: Clock = time.monotonic):
        from rich.console import Console
        from rich.progress import BarColumn, TextColumn
        from rich.progress import Progress as RichProgress
        from rich.table import Column

        super().__init__(BAR_INTERVAL, clock)
        wrapped = TextColumn("{task.fields[text]}", markup=False, table_column=Column(no_wrap=False))
        name = TextColumn("{task.description}", markup=False)
        self._bars = RichProgress(name, BarColumn(12), wrapped, console=Console(file=stream))
        self._every = every
        self._bar: Any = None

    def iteration(
        self, n_iter: int, max_iter: int, shift: float, inertia: float, state: State | None = None
    ) -> bool:
        if self._every:
            self._bars.console.print(iteration_line(n_iter, shift, inertia), markup=False, highlight=False)
        return super().iteration(n_iter, max_iter, shift, inertia)

    def note(self, text: str) -> None:
        self._bars.console.print(text, markup=False, highlight=False)

    def close(self) -> None:
        super().close()
        self._bars.stop()

    def stop(self) -> None:
        super().stop()
        self._bars.stop()

    def _begin(self, name: str) -> None:
        self._bars.start()
        self._bar = self._bars.add_task(name, total=None, text="")

    def _show(self, name: str, text: str, share: float | None) -> None:
        total = None if share is None else 1.0
        self._bars.update(self._bar, total=total, completed=share or 0.0, text=text)
