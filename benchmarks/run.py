"""Run the comparisons side by side and write a row for each measurement.

    python -m benchmarks.run [--smoke] [--only CASE,CASE] [--repetitions N] [--out FILE]

Each measurement is a process of its own; repetitions are interleaved over the contestants, each with its own seed.
"""

import argparse
import json
import platform
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from apnc.engines.local import n_threads
from benchmarks import streaming
from benchmarks.cases import CASES
from benchmarks.measure import ALL

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "speed.jsonl"


def machine() -> dict[str, Any]:
    """What the rows were measured on."""
    packages = ("apnc", "numpy", "scipy", "scikit-learn", "numba", "pyarrow", "faiss-cpu", "evoc")
    return {
        "cores": n_threads(None),
        "machine": platform.machine(),
        "python": platform.python_version(),
        "versions": {name: installed(name) for name in packages},
    }


def installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def one(case: str, contestant: str, size: str, seed: int = 0) -> list[dict[str, Any]]:
    """Measurements of one process; a failure is a row too."""
    command = [sys.executable, "-m", "benchmarks.measure", case, contestant, size, str(seed)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    rows = [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode:
        rows.append({"failed": (done.stderr.strip().splitlines() or ["no message"])[-1]})
    return [{"case": case, "contestant": contestant, "size": size, "repetition": seed, **row} for row in rows]


def told(row: dict[str, Any]) -> dict[str, Any]:
    shown = row.get("failed") or " ".join(
        f"{key}={value:.4g}" for key, value in row.items() if isinstance(value, float | int)
    )
    print(f"{row['case']} | {row['contestant']} | {shown}", flush=True)
    return row


def smoke(cases: list[str]) -> list[dict[str, Any]]:
    """Every contestant once, small; a process a case, as many at a time as there are cores."""
    with ThreadPoolExecutor(n_threads(None)) as pool:
        found = pool.map(lambda case: one(case, ALL, "smoke"), cases)
    return [told(row) for rows in found for row in rows]


def rows_of(case: str, repetitions: int) -> list[dict[str, Any]]:
    return [
        told(row)
        for repetition in range(repetitions)
        for contestant in CASES[case].contestants
        for row in one(case, contestant, "full", seed=repetition)
    ]


def repetitions(case: str, options: argparse.Namespace) -> int:
    return options.repetitions or CASES[case].repetitions


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="small sizes, one repetition")
    parser.add_argument("--only", default=",".join(CASES), help="cases to run, separated by commas")
    parser.add_argument("--repetitions", type=int, help="instead of those of each case")
    parser.add_argument(
        "--out", type=Path, default=RESULTS, help="file of rows; rows of other cases are kept"
    )
    options = parser.parse_args()
    chosen = options.only.split(",")
    kept = []
    if options.out.exists():
        kept = [
            row for row in map(json.loads, options.out.read_text().splitlines()) if row["case"] not in chosen
        ]
    context = {"when": time.strftime("%Y-%m-%d"), **machine()}
    failures = 0
    parts = (
        [smoke(chosen)] if options.smoke else (rows_of(case, repetitions(case, options)) for case in chosen)
    )
    for rows in parts:
        failures += sum("failed" in row for row in rows)
        kept += [row | context for row in rows]
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text("".join(json.dumps(row) + "\n" for row in kept))
    shutil.rmtree(streaming.folder(), ignore_errors=True)
    print(f"{len(kept)} rows in {options.out}, {failures} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
