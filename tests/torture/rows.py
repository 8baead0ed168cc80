"""Rows of batches: what was run at which commit, how it ended, and what is needed to repeat a failure."""

import json
import subprocess
import time
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks.run import ROOT, machine

RESULTS = ROOT / "benchmarks" / "results"
Row = dict[str, Any]


def file_of(attack: str, folder: Path = RESULTS) -> Path:
    return folder / f"torture-{attack}.jsonl"


def read(attack: str, folder: Path = RESULTS) -> list[Row]:
    path = file_of(attack, folder)
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def append(row: Row, folder: Path = RESULTS) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    with open(file_of(row["attack"], folder), "a") as file:
        file.write(json.dumps(row) + "\n")


def context() -> Row:
    """The commit, with a plus if files differ from it, and the versions of what is beneath."""
    return {"when": time.strftime("%Y-%m-%d"), "commit": commit(), **machine()}


def commit() -> str | None:
    def git(*words: str) -> str:
        return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout

    try:
        # Rows themselves are written while attacks run.
        changed = git(
            "status", "--porcelain", "--", ".", ":!benchmarks/results", ":!docs/results/reliability.md"
        )
        return git("rev-parse", "--short=12", "HEAD").strip() + ("+" if changed.strip() else "")
    except (OSError, subprocess.CalledProcessError):
        return None


@dataclass(frozen=True)
class Case:
    """How one case ended: the kind of its outcome, or the reason why it failed."""

    seed: int
    outcome: str
    seconds: float
    cpu_seconds: float
    failure: str | None = None


def row_of(attack: str, cases: list[Case], again: bool) -> Row:
    """One batch; cases that were run again do not count twice."""
    return {
        "attack": attack,
        "seeds": [case.seed for case in cases] if again else [cases[0].seed, cases[-1].seed],
        "again": again,
        "count": len(cases),
        "outcomes": dict(sorted(Counter(case.outcome for case in cases).items())),
        "seconds": round(sum(case.seconds for case in cases), 3),
        "longest_cpu_seconds": round(max(case.cpu_seconds for case in cases), 3),
        "failures": [{"seed": case.seed, "reason": case.failure} for case in cases if case.failure],
    }


def next_seed(rows: Iterable[Row]) -> int:
    """The first seed that no batch has reached."""
    return max((row["seeds"][1] + 1 for row in rows if not row["again"]), default=0)


def still_failing(rows: Iterable[Row]) -> dict[int, str]:
    """Seeds whose last run failed, with the reason; rows are in the order of time."""
    failing: dict[int, str] = {}
    for row in rows:
        if row["again"]:
            failing = {seed: reason for seed, reason in failing.items() if seed not in row["seeds"]}
        failing.update({failure["seed"]: failure["reason"] for failure in row["failures"]})
    return failing
