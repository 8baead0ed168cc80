"""Progress as lines of text, or as rich's bars on a terminal and in a notebook."""

import importlib.util
import sys
import time
from collections.abc import Callable
from typing import Any, TextIO

from apnc.progress.listener import SILENT, Progress, State
from apnc.progress.stage import Stage, duration

Clock = Callable[[], float]
#: Seconds between lines.
LINE_INTERVAL = 5.0


def make_progress(verbose: int, stream: TextIO | None = None, clock: Clock = time.monotonic) -> Progress:
    """A listener that displays the progress of a fit.

    Parameters
    ----------
    verbose : 0 shows nothing, 1 the progress, 2 also a line for each iteration above the bars.
    stream : where to write; None: iterations to stdout, as scikit-learn does, everything else to stderr.
    clock : returns seconds.

    """
    if verbose <= 0:
        return SILENT
    shown, iterations = (sys.stderr, sys.stdout) if stream is None else (stream, stream)
    console = console_for_bars(shown)
    return Lines(shown, iterations, clock) if console is None else Bars(console, verbose > 1, clock)


def console_for_bars(stream: TextIO) -> Any | None:
    """A rich console on a terminal or in a notebook that can draw bars; None elsewhere, and without rich."""
    if importlib.util.find_spec("rich") is None:
        return None
    from rich.console import Console

    console = Console(file=stream)
    if console.is_jupyter:
        return console if importlib.util.find_spec("ipywidgets") is not None else None
    # Not console.is_terminal: with FORCE_COLOR, as in some CI logs, rich takes a file for a terminal.
    return console if stream.isatty() and not console.is_dumb_terminal else None


class _Shown(Progress):
    """Tracks the current stage; subclasses display it by ``_begin``, ``_move``, ``_end`` and ``_iterated``."""

    _begin: Callable[[Stage], None]
    _move: Callable[[Stage], None]
    _end: Callable[[Stage, bool], None]
    _iterated: Callable[[str], None]

    def __init__(self, clock: Clock):
        self._clock = clock
        self._now: Stage | None = None

    def stage(
        self, name: str, total_rows: int | None = None, passes: int = 1, max_iter: int | None = None
    ) -> None:
        self._finish(failed=False)
        self._now = Stage(name, self._clock(), total_rows, passes, max_iter)
        self._begin(self._now)

    def pairs(self, each: int) -> None:
        if self._now:
            self._now.pairs = each

    def total(self, n_rows: int) -> None:
        if self._now:
            self._now.total_rows = n_rows

    def rows(self, n: int) -> None:
        if self._now:
            self._now.n_rows += n
            self._move(self._now)

    def iteration(
        self, n_iter: int, max_iter: int, shift: float, inertia: float, state: State | None = None
    ) -> bool:
        quality = f"shift {shift:.3g}, inertia {inertia:.6g}"
        self._iterated(f"iteration {n_iter}: {quality}")
        if now := self._now:
            now.n_iter, now.max_iter, now.quality, now.before = n_iter, max_iter, quality, now.n_rows
            self._move(now)
        return False

    def close(self) -> None:
        self._finish(failed=False)

    def stop(self) -> None:
        self._finish(failed=True)

    def _finish(self, failed: bool) -> None:
        if self._now:
            stage, self._now = self._now, None
            self._end(stage, failed)


class Lines(_Shown):
    """Plain lines on a stream, at intervals and at the end of a stage; iterations go to another stream."""

    def __init__(self, stream: TextIO, iterations: TextIO, clock: Clock = time.monotonic):
        super().__init__(clock)
        self._stream, self._iterations = stream, iterations
        self._last = clock()

    def note(self, text: str) -> None:
        print(text, file=self._stream, flush=True)

    def _begin(self, stage: Stage) -> None:
        self._last = stage.started

    def _move(self, stage: Stage) -> None:
        if self._clock() - self._last >= LINE_INTERVAL:
            self._last = self._clock()
            self.note(f"{stage.name}: {stage.text(self._last)}")

    def _end(self, stage: Stage, failed: bool) -> None:
        now = self._clock()
        stopped = f"stopped after {duration(now - stage.started)}, {stage.text(now)}"
        self.note(f"{stage.name}: {stopped if failed else stage.finished(now)}")

    def _iterated(self, line: str) -> None:
        print(line, file=self._iterations, flush=True)


class Bars(_Shown):
    """A rich progress bar for each stage; with ``every``, also a line for each iteration above the bars."""

    def __init__(self, console: Any, every: bool, clock: Clock = time.monotonic):
        from rich import progress as rich
        from rich.table import Column

        super().__init__(clock)
        self._every = every
        self._bars = rich.Progress(
            rich.SpinnerColumn(),
            rich.TextColumn("{task.description}", markup=False),
            rich.BarColumn(12),
            rich.MofNCompleteColumn(table_column=Column(no_wrap=True)),
            rich.TextColumn("{task.fields[told]}", markup=False, table_column=Column(overflow="fold")),
            rich.TimeRemainingColumn(elapsed_when_finished=True),
            console=console,
            get_time=clock,
        )
        self._bar: Any = None

    def note(self, text: str) -> None:
        self._bars.console.print(text, markup=False, highlight=False)

    def close(self) -> None:
        super().close()
        self._bars.stop()

    def stop(self) -> None:
        super().stop()
        self._bars.stop()

    def _begin(self, stage: Stage) -> None:
        self._bars.start()
        self._bar = self._bars.add_task(stage.name, total=stage.total, told="")

    def _move(self, stage: Stage) -> None:
        told = ", ".join(filter(None, [stage.unit, stage.told(self._clock())]))
        self._bars.update(self._bar, total=stage.total, completed=stage.done, told=told)

    def _end(self, stage: Stage, failed: bool) -> None:
        self._move(stage)
        done = max(1, stage.done)
        changes = {"told": "stopped"} if failed else {"total": done, "completed": done}
        self._bars.update(self._bar, **changes)

    def _iterated(self, line: str) -> None:
        if self._every:
            self.note(line)
