"""Rows by cell, and statistics over runs: mean, standard deviation, and which methods share first place."""

import statistics
import warnings
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.paper.running import read
from benchmarks.paper.tables import TABLES

Row = dict[str, Any]
#: (table, dataset, kernel, method, l)
Key = tuple[str, str, str, str, int | None]

CONFIDENCE = 0.95


class Rows:
    """All rows of a folder."""

    def __init__(self, rows: Sequence[Row]):
        self.all = list(rows)
        self._cells: dict[Key, list[Row]] = defaultdict(list)
        for row in self.all:
            self._cells[row["table"], row["dataset"], row["kernel"], row["method"], row["l"]].append(row)

    @classmethod
    def of(cls, folder: Path) -> "Rows":
        return cls([row for table in TABLES for row in read(folder / f"paper-{table}.jsonl")])

    def values(self, key: Key, name: str) -> list[float]:
        """One number of each run that succeeded."""
        return [row[name] for row in self._cells.get(key, ()) if row.get(name) is not None]

    def cell(self, key: Key) -> list[Row]:
        return self._cells.get(key, [])

    def failure(self, key: Key) -> str | None:
        """Why a cell has no number."""
        said = [row["failed"] for row in self.cell(key) if "failed" in row]
        return said[0] if said and not self.values(key, "seconds") else None

    def failures(self) -> list[Row]:
        return [row for row in self.all if "failed" in row]


def spread(values: Sequence[float]) -> float:
    return statistics.stdev(values) if len(values) > 1 else 0.0


def mean_and_spread(values: Sequence[float], digits: int = 1) -> str:
    if not values:
        return "-"
    mean = f"{statistics.fmean(values):.{digits}f}"
    return f"{mean} ± {spread(values):.{digits}f}" if len(values) > 1 else mean


def seconds(values: Sequence[float]) -> str:
    if not values:
        return "-"
    mean = statistics.fmean(values)
    return f"{mean:.2f}" if mean < 10 else f"{mean:,.0f}"


def leaders(groups: Mapping[str, Sequence[float]]) -> set[str]:
    """The method with the highest mean, and all that Welch's t-test at 95 % cannot distinguish from it."""
    known = {name: list(values) for name, values in groups.items() if values}
    if not known:
        return set()
    first = max(known, key=lambda name: statistics.fmean(known[name]))
    return {name for name, values in known.items() if name == first or not_told_apart(known[first], values)}


def not_told_apart(one: Sequence[float], two: Sequence[float]) -> bool:
    from scipy.stats import ttest_ind

    if statistics.fmean(one) == statistics.fmean(two):
        return True
    if min(len(one), len(two)) < 2 or not (spread(one) or spread(two)):
        return False
    with warnings.catch_warnings():
        warnings.filterwarnings(
            "ignore", "Precision loss", RuntimeWarning
        )  # runs that agree to the last digit
        return bool(ttest_ind(one, two, equal_var=False).pvalue >= 1 - CONFIDENCE)
