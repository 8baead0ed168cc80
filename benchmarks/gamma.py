"""What ``gamma="auto"`` takes, and what it gains or loses against the mean distance.

python -m benchmarks.gamma [--out FILE] [--cases A,B]    measure what is missing (an hour; real data from APNC_DATA)
python -m benchmarks.gamma --show                        the rows as tables
"""

import argparse
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

from sklearn.metrics import normalized_mutual_info_score

from apnc import KernelKMeans
from benchmarks.gamma_sets import CASES, FITTED_ON
from benchmarks.run import ROOT, machine

RESULTS = ROOT / "benchmarks" / "results" / "gamma.jsonl"
GAMMAS = ("mean", "narrow", "local", "auto")
#: The rule was found on seeds 0 to 4 of some cases; these seeds were not looked at before.
SEEDS = range(10, 20)
KEYS = ("case", "seed")


def measured(case: str, seed: int) -> dict[str, Any]:
    """NMI and gamma of each setting, and what "auto" took."""
    load, k, options = CASES[case]
    X, y = load(seed)
    found: dict[str, Any] = {"nmi": {}, "gamma": {}, "seconds": {}}
    for gamma in GAMMAS:
        begin = time.perf_counter()
        with warnings.catch_warnings(action="ignore"):
            km = KernelKMeans(k, gamma=gamma, random_state=seed, **options).fit(X)
        found["seconds"][gamma] = round(time.perf_counter() - begin, 2)
        nmi = 100 * normalized_mutual_info_score(y, km.labels_, average_method="geometric")
        found["nmi"][gamma], found["gamma"][gamma] = round(nmi, 2), km.gamma_
    taken = found["gamma"]["auto"]
    return {**found, "took": next(name for name in ("mean", "narrow") if found["gamma"][name] == taken)}


def runs(cases: list[str]) -> Iterator[tuple[str, int]]:
    """Seed by seed, so that a run that is stopped has some of everything."""
    for seed in SEEDS:
        yield from ((case, seed) for case in cases)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--cases", help="only these, separated by commas")
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.exists() else []
    if given.show:
        show(rows)
        return
    done = {tuple(row[key] for key in KEYS) for row in rows}
    context = {"when": time.strftime("%Y-%m-%d"), **machine()}
    with given.out.open("a") as file:
        for run in runs(given.cases.split(",") if given.cases else list(CASES)):
            if run not in done:
                row = {**dict(zip(KEYS, run, strict=True)), **measured(*run), **context}
                print(*run, row["nmi"], row["took"], flush=True)
                file.write(json.dumps(row) + "\n")
                file.flush()


def show(rows: list[dict[str, Any]]) -> None:
    """Mean NMI by case, the difference of "auto" to "mean", and how often it took the narrow kernel."""
    for title, old in (("looked at before, on other seeds", True), ("new", False)):
        print(f"\n| {title} | `None` | `'narrow'` | `'local'` | `'auto'` | less `None` | took narrow |")
        print("| --- |" + " --- |" * 6)
        for case in CASES:
            mine = [row for row in rows if row["case"] == case]
            if mine and (case in FITTED_ON) == old:
                nmi = {gamma: fmean(row["nmi"][gamma] for row in mine) for gamma in GAMMAS}
                cells = [f"{nmi[gamma]:.1f}" for gamma in GAMMAS] + [f"{nmi['auto'] - nmi['mean']:+.1f}"]
                took = sum(row["took"] == "narrow" for row in mine)
                print(f"| {case} | {' | '.join(cells)} | {took} of {len(mine)} |")


if __name__ == "__main__":
    main()
