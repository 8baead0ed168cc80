"""Attack the package, and keep what happened.

    python -m tests.torture ATTACK [--count N] [--seconds S] [--seed S]    what is missing of an attack, in batches
    python -m tests.torture all                                            of every attack
    python -m tests.torture ATTACK --again                                 the seeds that failed last
    python -m tests.torture ATTACK --seed S --show                         one case, not recorded, with its traceback
    python -m tests.torture render                                         docs/results/reliability.md from the rows

Rows are appended to benchmarks/results/torture-ATTACK.jsonl, so that counts add up over runs.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.torture import page
from tests.torture.family import Attack, attacks
from tests.torture.rows import RESULTS, append, context, next_seed, read, row_of, still_failing
from tests.torture.running import cases

#: Cases of a batch at most: a row is written after each.
BATCH = 1000
#: Seconds of a batch: what an interrupt may cost.
BATCH_SECONDS = 300.0


def run(attack: Attack, seeds: Sequence[int], again: bool, seconds: float, folder: Path) -> int:
    """Run and record batches; returns the number of failures."""
    if why := attack.missing():
        print(f"{attack.name}: skipped, nothing recorded: {why}", flush=True)
        return 0
    failures, until, left = 0, time.monotonic() + seconds, list(seeds)
    while left and (rest := until - time.monotonic()) > 0:
        done = list(cases(attack, left[:BATCH], min(rest, BATCH_SECONDS)))
        if not done:
            break
        left = left[len(done) :]
        row = {**row_of(attack.name, done, again), **context()}
        append(row, folder)
        failures += len(row["failures"])
        print(f"{attack.name}: seeds {done[0].seed} to {done[-1].seed}, {row['outcomes']}", flush=True)
        for failure in row["failures"]:
            print(f"  seed {failure['seed']}: {failure['reason']}", flush=True)
    return failures


def seeds_of(attack: Attack, options: argparse.Namespace) -> Sequence[int]:
    """Seeds to run: those that failed last, those asked for, or those that are missing."""
    rows = read(attack.name, options.out)
    if options.again:
        return sorted(still_failing(rows))
    if options.seed is not None:
        return range(options.seed, options.seed + (options.count or 1))
    first = next_seed(rows)
    return range(first, first + options.count if options.count else max(first, attack.full))


def show(attack: Attack, seed: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        print(attack.case(seed, Path(folder)))


def parsed(known: dict[str, Attack]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m tests.torture",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("attack", choices=[*known, "all", "render"])
    parser.add_argument(
        "--count", type=int, help="cases at most; by default what is missing of the full count"
    )
    parser.add_argument("--seconds", type=float, default=float("inf"), help="seconds at most, of each attack")
    parser.add_argument("--seed", type=int, help="the first seed, which may have been run before")
    parser.add_argument("--again", action="store_true", help="only seeds that failed last")
    parser.add_argument("--show", action="store_true", help="run one case here and record nothing")
    parser.add_argument("--out", type=Path, default=RESULTS, help="folder of the rows")
    return parser.parse_args()


def main() -> int:
    known = attacks()
    options = parsed(known)
    if options.attack == "render":
        page.write()
        return 0
    if options.show:
        show(known[options.attack], options.seed or 0)
        return 0
    chosen = list(known.values()) if options.attack == "all" else [known[options.attack]]
    again = options.again or options.seed is not None
    failures = sum(
        run(attack, seeds_of(attack, options), again, options.seconds, options.out) for attack in chosen
    )
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
