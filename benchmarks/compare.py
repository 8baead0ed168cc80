"""This checkout against an older commit, case by case, interleaved in one run.

    python -m benchmarks.compare COMMIT [--only CASE,CASE] [--repetitions N] [--out FILE]

Only our own contestants run, each in a process of its own: old, new, old, new. The older commit is checked out beside
this one and runs its own version of the cases, or this one's where it need not have any (``SHARED``).
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from benchmarks.cases import CASES
from benchmarks.run import ROOT, machine

RESULTS = ROOT / "benchmarks" / "results" / "compare.jsonl"
#: Cases, and which of their contestants are ours.
OURS = {
    "embed": ("apnc", "apnc, into one array"),
    "l1_pass": ("apnc",),
    "l2_pass_k164": ("apnc",),
    "l2_pass_k7": ("apnc",),
    "covtype_l500": ("apnc",),
    "covtype_l1500": ("apnc",),
    "stream_1m": ("apnc, from the file",),
    "evaluate": tuple(name for name in CASES["evaluate"].contestants if name.startswith("apnc")),
}
#: Cases that call public functions alone, so that they measure any commit.
SHARED = ("evaluate",)


def one(folder: Path, case: str, contestant: str, seed: int) -> dict[str, Any]:
    """A measurement in a checkout; a failure is a row too."""
    command = [sys.executable, "-m", "benchmarks.measure", case, contestant, "full", str(seed)]
    env = os.environ | {"PYTHONPATH": str(folder / "src")}
    place = ROOT if case in SHARED else folder
    done = subprocess.run(command, capture_output=True, text=True, cwd=place, env=env)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not rows:
        return {"failed": (done.stderr.strip().splitlines() or ["no message"])[-1]}
    return rows[-1]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commit")
    parser.add_argument("--only", default=",".join(OURS))
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    context = {"when": time.strftime("%Y-%m-%d"), "old": given.commit, **machine()}
    with tempfile.TemporaryDirectory() as folder:
        old = Path(folder, "old")
        subprocess.run(
            ["git", "worktree", "add", "-q", "--detach", str(old), given.commit], cwd=ROOT, check=True
        )
        try:
            rows = [row for case in given.only.split(",") for row in compared(case, old, given.repetitions)]
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(old)], cwd=ROOT, check=True)
    given.out.write_text("".join(json.dumps(row | context) + "\n" for row in rows))
    return 0


def compared(case: str, old: Path, repetitions: int) -> list[dict[str, Any]]:
    """Rows of one case: old and new in turn, after one run of each that is not counted."""
    rows = []
    for contestant in OURS[case]:
        for repetition in range(-1, repetitions):
            for version, folder in (("old", old), ("new", ROOT)):
                found = one(folder, case, contestant, max(0, repetition))
                if repetition >= 0:
                    named = {"case": case, "contestant": contestant, "version": version}
                    rows.append({**named, "repetition": repetition, **found})
        tell(case, contestant, rows)
    return rows


def tell(case: str, contestant: str, rows: list[dict[str, Any]]) -> None:
    mine = [row for row in rows if row["contestant"] == contestant]
    seconds = {
        v: [row["seconds"] for row in mine if row["version"] == v and "seconds" in row]
        for v in ("old", "new")
    }
    failed = [row["failed"] for row in mine if "failed" in row]
    shown = {version: round(median(found), 4) if found else None for version, found in seconds.items()}
    ratio = shown["new"] / shown["old"] if shown["old"] and shown["new"] else float("nan")
    print(
        f"{case} | {contestant} | old {shown['old']} new {shown['new']} ratio {ratio:.3f} {failed[:1]}",
        flush=True,
    )


if __name__ == "__main__":
    sys.exit(main())
