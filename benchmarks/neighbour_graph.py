"""What the rules of ``SpectralClustering`` were chosen from: rows in sparse regions, numbers of landmarks.

python -m benchmarks.neighbour_graph [--out FILE]    measure what is missing (minutes; real data from APNC_DATA)
python -m benchmarks.neighbour_graph --show          the rows as a table
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean, pstdev
from typing import Any
from unittest import mock

import numpy as np
from sklearn.datasets import load_digits, make_circles, make_moons
from sklearn.metrics import normalized_mutual_info_score

from apnc import SpectralClustering
from apnc.embeddings.neighbours import links
from benchmarks.run import ROOT, machine

RESULTS = ROOT / "benchmarks" / "results" / "neighbour-graph.jsonl"
POWERS = (0, 1, 2, 3)


def real(name: str, scale: Any) -> Any:
    def load(seed: int) -> Any:
        with np.load(Path(os.environ["APNC_DATA"]) / f"{name}.npz") as file:
            return scale(file["X"].reshape(len(file["y"]), -1)), file["y"]

    return load


def minmax(X: np.ndarray) -> np.ndarray:
    X = X.astype(np.float32) - X.min(axis=0)
    return X / np.maximum(X.max(axis=0), 1)


#: Name: rows and classes by seed, k, seeds, numbers of landmarks.
CASES: dict[str, tuple[Any, int, int, tuple[Any, ...]]] = {
    "half-moons, noise .1, 50,000 rows": (
        lambda seed: make_moons(50_000, noise=0.1, random_state=seed),
        2,
        5,
        (100, 300, 1000, 4000, "auto"),
    ),
    "half-moons, noise .1, 5,000 rows": (
        lambda seed: make_moons(5_000, noise=0.1, random_state=seed),
        2,
        5,
        ("auto",),
    ),
    "rings, factor .5, noise .1, 50,000 rows": (
        lambda seed: make_circles(50_000, factor=0.5, noise=0.1, random_state=seed),
        2,
        5,
        (100, 1000, "auto"),
    ),
    "digits": (lambda seed: load_digits(return_X_y=True), 10, 5, ("auto",)),
    "USPS": (real("usps", lambda X: X), 10, 5, (100, 300, 1000, "auto")),
    "MNIST": (real("mnist", lambda X: (X / 255).astype(np.float32)), 10, 2, (1000, "auto")),
    "CovType": (real("covtype", minmax), 7, 5, (1000, "auto")),
    "CovType, fresh seeds": (real("covtype", minmax), 7, 10, ("auto",)),
}
#: The rule for many pieces was chosen by looking at other seeds of CovType, so it is measured again on these.
FRESH = "CovType, fresh seeds"
FIRST_FRESH = 100


def runs() -> Iterator[dict[str, Any]]:
    for case, (_, _, seeds, sizes) in CASES.items():
        first = FIRST_FRESH if case == FRESH else 0
        for power in (links.POWER,) if case == FRESH else POWERS:
            for l in sizes:
                for seed in range(first, first + seeds):
                    yield {"case": case, "power": power, "l": l, "seed": seed}


def measured(run: dict[str, Any]) -> dict[str, Any]:
    load, k, *_ = CASES[run["case"]]
    X, y = load(run["seed"])
    begin = time.perf_counter()
    with mock.patch.object(links, "POWER", run["power"]), warnings.catch_warnings(action="ignore"):
        km = SpectralClustering(k, n_landmarks=run["l"], random_state=run["seed"]).fit(X)
    nmi = 100 * normalized_mutual_info_score(y, km.labels_, average_method="geometric")
    found = {"nmi": round(nmi, 2), "seconds": round(time.perf_counter() - begin, 2)}
    return {**found, "n_landmarks": km.n_landmarks_, "pieces": km.n_connected_components_}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.exists() else []
    if given.show:
        show(rows)
        return
    keys = ("case", "power", "l", "seed")
    done = {tuple(row[key] for key in keys) for row in rows}
    context = {"when": time.strftime("%Y-%m-%d"), **machine()}
    with given.out.open("a") as file:
        for run in runs():
            if tuple(run.values()) not in done:
                row = {**run, **measured(run), **context}
                print({name: row[name] for name in (*keys, "nmi", "n_landmarks", "pieces")}, flush=True)
                file.write(json.dumps(row) + "\n")
                file.flush()


def show(rows: list[dict[str, Any]]) -> None:
    print("| | l | " + " | ".join(f"power {power}" for power in POWERS) + " |")
    print("| --- | --- |" + " --- |" * len(POWERS))
    for case, (_, _, _, sizes) in CASES.items():
        for l in sizes:
            cells = []
            for power in POWERS:
                mine = [row for row in rows if (row["case"], row["power"], row["l"]) == (case, power, l)]
                nmi = [row["nmi"] for row in mine]
                cells.append(f"{fmean(nmi):.1f} ± {pstdev(nmi):.1f}" if nmi else "-")
            print(f"| {case} | {l} | {' | '.join(cells)} |")


if __name__ == "__main__":
    main()
