"""How well ``outlier_score`` tells planted far rows, with and without what the landmarks do not span of a row.

python -m benchmarks.outliers [--out FILE]    measure what is missing (minutes)
python -m benchmarks.outliers --show          the rows as a table
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_blobs, make_moons
from sklearn.metrics import roc_auc_score

from apnc import KernelKMeans
from apnc.clustering.quantiles import Binned, Quantiles, unit_near
from benchmarks.run import ROOT, machine

RESULTS = ROOT / "benchmarks" / "results" / "outliers.jsonl"
GAMMAS, SEEDS = ("mean", "narrow", "local"), range(5)
#: Rows of generated sets, and far rows planted in each.
ROWS, FAR = 4000, 40
KEYS = ("case", "gamma", "seed")

Set = tuple[np.ndarray, np.ndarray, int]


def blobs(d: int, k: int, seed: int) -> Set:
    """Normal groups; far rows are uniform in a box four times as wide, outside of the groups' own box."""
    X, _ = make_blobs(ROWS, n_features=d, centers=k, random_state=seed)
    return X, beyond(X, 1.5, seed), k


def moons(seed: int) -> Set:
    """Half-moons in four pieces."""
    X, _ = make_moons(ROWS, noise=0.1, random_state=seed)
    return X, beyond(X, 1.5, seed), 4


def beyond(X: np.ndarray, by: float, seed: int) -> np.ndarray:
    """Rows outside of the box around X."""
    low, high, width = X.min(axis=0), X.max(axis=0), np.ptp(X, axis=0)
    far = np.random.default_rng(seed).uniform(low - by * width, high + by * width, (20 * FAR, X.shape[1]))
    return far[((far < low) | (far > high)).any(axis=1)][:FAR]


def digits(bright: bool, seed: int) -> Set:
    """Handwritten digits; far rows are some of them with shuffled pixels, or two and a half times as bright."""
    X, _ = load_digits(return_X_y=True)
    rng = np.random.default_rng(seed)
    some = X[rng.permutation(len(X))[:FAR]]
    return X, 2.5 * some if bright else rng.permuted(some, axis=1), 10


CASES: dict[str, Callable[[int], Set]] = {
    "groups, 2 dimensions": partial(blobs, 2, 5),
    "groups, 10 dimensions": partial(blobs, 10, 6),
    "groups, 30 dimensions": partial(blobs, 30, 4),
    "half-moons": moons,
    "digits, shuffled": partial(digits, False),
    "digits, bright": partial(digits, True),
}


def measured(case: str, gamma: str, seed: int) -> dict[str, Any]:
    """AUC of the planted rows in percent: new to the model, or part of the fit; spanned part alone, and whole."""
    X, far, k = CASES[case](seed)
    both, truth = np.concatenate([X, far]), np.repeat([0, 1], [len(X), len(far)])
    found: dict[str, Any] = {"auc": {}, "median": {}}
    for name, rows in (("new", X), ("fitted", both)):
        with warnings.catch_warnings(action="ignore"):
            km = KernelKMeans(k, gamma=gamma, random_state=seed).fit(rows)
        for how, scores in (("spanned", spanned_scores(km, rows, both)), ("whole", km.outlier_score(both))):
            found["auc"][f"{name}, {how}"] = round(100 * roc_auc_score(truth, scores), 1)
            found["median"][f"{name}, {how}"] = round(float(np.median(scores[truth == 1])), 3)
    return found


def spanned_scores(km: KernelKMeans, rows: np.ndarray, scored: np.ndarray) -> np.ndarray:
    """Scores by the distances of ``transform``."""
    squares, labels = km.transform(rows).min(axis=1) ** 2, km.predict(rows)
    bins = Binned.of(labels, squares, np.ones(len(rows)), km.n_clusters, unit_near(squares.mean()))
    alone = Quantiles(unit_near(squares.mean()), bins.weights)
    return alone.scores(km.predict(scored), km.transform(scored).min(axis=1) ** 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.exists() else []
    if given.show:
        show(rows)
        return
    done = {tuple(row[key] for key in KEYS) for row in rows}
    context = {"when": time.strftime("%Y-%m-%d"), **machine()}
    with given.out.open("a") as file:
        for run in ((case, gamma, seed) for seed in SEEDS for case in CASES for gamma in GAMMAS):
            if run not in done:
                row = {**dict(zip(KEYS, run, strict=True)), **measured(*run), **context}
                print(*run, row["auc"], flush=True)
                file.write(json.dumps(row) + "\n")
                file.flush()


def show(rows: list[dict[str, Any]]) -> None:
    """Mean AUC by case and gamma."""
    columns = [f"{name}, {how}" for name in ("new", "fitted") for how in ("spanned", "whole")]
    print(f"| AUC | gamma | {' | '.join(columns)} |")
    print("| --- | --- |" + " --- |" * len(columns))
    for case in CASES:
        for gamma in GAMMAS:
            mine = [row["auc"] for row in rows if (row["case"], row["gamma"]) == (case, gamma)]
            if mine:
                cells = (f"{fmean(auc[column] for auc in mine):.1f}" for column in columns)
                print(f'| {case} | `"{gamma}"` | {" | ".join(cells)} |')


if __name__ == "__main__":
    main()
