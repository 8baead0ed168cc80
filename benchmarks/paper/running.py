"""Runs cells one after another, each in its own process; appends rows as they come, and never runs one again."""

import json
import queue
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from benchmarks.paper.tables import Cell
from benchmarks.run import ROOT, machine

Row = dict[str, Any]

#: Seconds that a process may take to load its data and compiled code.
LOADING = 600.0


def read(path: Path) -> list[Row]:
    lines = path.read_text().splitlines() if path.exists() else []
    return [_parsed(line, path, number) for number, line in enumerate(lines, 1)]


def _parsed(line: str, path: Path, number: int) -> Row:
    try:
        return json.loads(line)
    except ValueError as error:
        raise ValueError(f"{path}, line {number} is no row: {error}. Delete that line.") from error


def append(path: Path, row: Row) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(row) + "\n")


def key_of(row: Row) -> tuple[Any, ...]:
    return tuple(row[name] for name in ("table", "dataset", "kernel", "method", "l", "rows"))


def left_over(cells: Iterable[Cell], rows: list[Row]) -> list[Cell]:
    """Cells with the seeds that have no row yet; a cell that was given up needs none."""
    done = {(*key_of(row), row["seed"]) for row in rows}
    given_up = {key_of(row) for row in rows if row.get("given_up")}
    waiting = (
        replace(cell, seeds=tuple(seed for seed in cell.seeds if (*cell.key, seed) not in done))
        for cell in cells
        if cell.key not in given_up
    )
    return [cell for cell in waiting if cell.seeds]


def run_cell(cell: Cell, fetch: bool = False) -> Iterator[Row]:
    """Rows of a cell; a run beyond its limit, or a process that dies, is a last row that says so."""
    command = [sys.executable, "-m", "benchmarks.paper.cell", json.dumps(asdict(cell))]
    process = subprocess.Popen(
        command + ["--fetch"] * fetch, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=ROOT
    )
    lines: queue.Queue[str | None] = queue.Queue()
    errors: list[str] = []
    threading.Thread(target=_listen, args=(process.stdout, lines), daemon=True).start()
    threading.Thread(target=lambda: errors.extend(process.stderr or ()), daemon=True).start()
    try:
        yield from _rows(cell, lines, process, errors)
    finally:
        process.kill()
        process.wait()


def _rows(cell: Cell, lines: Any, process: Any, errors: list[str]) -> Iterator[Row]:
    waiting = list(cell.seeds)
    limit = LOADING
    while waiting:
        try:
            line = lines.get(timeout=limit)
        except queue.Empty:
            what = "load its data" if limit == LOADING else "finish"
            yield {"seed": waiting[0], "failed": f"did not {what} in {limit:.0f} s", "given_up": True}
            return
        if line is None:
            process.wait()
            said = errors[-1].strip() if errors else f"ended with code {process.returncode}"
            yield {"seed": waiting[0], "failed": said[:300], "given_up": True}
            return
        row = json.loads(line)
        limit = cell.limit
        if "ready" not in row:
            waiting.remove(row["seed"])
            yield row


def _listen(stream: Any, lines: Any) -> None:
    for line in stream:
        if line.startswith("{"):
            lines.put(line)
    lines.put(None)


def run_all(
    cells: list[Cell], out: Path, fetch: bool, tell: Callable[[str], None], more: Row | None = None
) -> int:
    """Run what is left of the cells; returns the number of failures. ``more`` is added to each row."""
    waiting = left_over(cells, read(out))
    total = sum(len(cell.seeds) for cell in waiting)
    tell(f"{total} runs to do, {sum(len(cell.seeds) for cell in cells) - total} done before, rows to {out}")
    context = {"when": time.strftime("%Y-%m-%d"), **machine(), **(more or {})}
    clock, failures, finished = TimeLeft(waiting), 0, 0
    for cell in waiting:
        for row in run_cell(cell, fetch):
            append(out, {**cell.described, **row, **context})
            failures += "failed" in row
            finished += 1
            clock.ran(cell, row)
            tell(f"[{finished}/{total}] {told(cell, row)}; {clock.left()}")
        clock.over(cell)
    return failures


def told(cell: Cell, row: Row) -> str:
    size = "" if cell.l is None else f" l={cell.l}"
    where = f"{cell.dataset} {cell.kernel} {cell.method}{size} run {row['seed'] + 1}"
    if "failed" in row:
        return f"{where}: {row['failed']}"
    score = f"NMI {row['nmi']:.1f}, " if "nmi" in row else ""
    return f"{where}: {score}{row['seconds']:.2f} s"


class TimeLeft:
    """Time left, from the runs so far: of the same method and data, else of the same data, else of all."""

    def __init__(self, cells: list[Cell], clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._waiting = {cell.key: (cell, len(cell.seeds)) for cell in cells}
        self._last = clock()
        self._seen: dict[Any, list[float]] = {}

    def ran(self, cell: Cell, row: Row) -> None:
        now = self._clock()
        for group in self._groups(cell):
            self._seen.setdefault(group, []).append(now - self._last)
        self._last = now
        kept, n = self._waiting[cell.key]
        self._waiting[cell.key] = (kept, n - 1)

    def over(self, cell: Cell) -> None:
        self._waiting.pop(cell.key, None)

    def left(self) -> str:
        seconds = sum(n * self._guess(cell) for cell, n in self._waiting.values())
        return f"about {seconds / 60:.0f} min left" if seconds >= 90 else f"about {seconds:.0f} s left"

    def _guess(self, cell: Cell) -> float:
        seen = next(self._seen[group] for group in self._groups(cell) if group in self._seen)
        return sum(seen) / len(seen)

    @staticmethod
    def _groups(cell: Cell) -> list[Any]:
        return [(cell.dataset, cell.method), cell.dataset, None]
