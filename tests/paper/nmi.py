"""NMI of the paper's settings on the real data sets; appends rows to a JSON-lines file.

    python -m tests.paper.nmi [--seeds 20] [--only usps,mnist,covtype] [--out FILE]

Data: the folder in APNC_DATA (see CONTRIBUTING.md); a data set that is missing is reported and left out.
"""

import argparse
import json
import platform
import time
import warnings
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

import apnc
from apnc import KernelKMeans
from benchmarks.paper.datasets import SOURCES
from benchmarks.paper.methods import NEURAL, POLYNOMIAL

DEFAULT_OUT = Path(__file__).parents[2] / "benchmarks" / "results" / "paper_nmi.jsonl"


@dataclass(frozen=True)
class Case:
    """One row of the table: data, kernel and method, with the bar for each number of landmarks."""

    data: str
    kernel: dict[str, Any]
    embedding: str
    bars: dict[int, float]
    n_components: int = 1000
    max_iter: int = 100
    options: dict[str, Any] = field(default_factory=dict)


CASES = [
    Case("usps", NEURAL, "nystroem", {50: 56.5, 100: 58, 300: 58.5}),
    Case("usps", NEURAL, "stable", {50: 56.5, 100: 58, 300: 58}),
    Case("mnist", POLYNOMIAL, "nystroem", {50: 19.5, 100: 20.3, 300: 21.5}),
    Case("mnist", POLYNOMIAL, "stable", {50: 21.5, 100: 22, 300: 22.3}),
    Case("mnist", POLYNOMIAL | {"normalize_kernel": True}, "nystroem", {50: 48, 100: 50, 300: 52}),
    Case("covtype", {"kernel": "rbf", "gamma": None}, "nystroem", {500: 13.5}, n_components=500, max_iter=20),
    Case("covtype", {"kernel": "rbf", "gamma": None}, "stable", {500: 13.5}, n_components=500, max_iter=20),
]


def load(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Rows on the paper's scale, float32, and class labels."""
    data = SOURCES[name].load(None, fetch=False)
    assert data.y is not None
    return data.X, data.y


def run(case: Case, X: np.ndarray, y: np.ndarray, n_landmarks: int, seed: int) -> dict[str, Any]:
    """One fit as a row of results."""
    km = KernelKMeans(
        len(np.unique(y)),
        **case.kernel,
        embedding=case.embedding,
        n_landmarks=n_landmarks,
        n_components=case.n_components,
        init="random",
        n_init=1,
        max_iter=case.max_iter,
        random_state=seed,
    )
    begin = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        km.fit(X)
    seconds = time.perf_counter() - begin
    nmi = 100 * normalized_mutual_info_score(y, km.labels_, average_method="geometric")
    return {
        "data": case.data,
        **case.kernel,
        "embedding": case.embedding,
        "l": n_landmarks,
        "m": case.n_components,
        "m_kept": km.n_components_,
        "seed": seed,
        "nmi": round(nmi, 3),
        "bar": case.bars[n_landmarks],
        "seconds": round(seconds, 2),
        "n_iter": km.n_iter_,
        "residual": round(km.residual_, 5),
        "apnc": apnc.__version__,
        "numpy": np.__version__,
        "machine": platform.machine(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--only", default="usps,mnist,covtype")
    parser.add_argument("--out", type=Path, default=DEFAULT_OUT)
    options = parser.parse_args()
    wanted = options.only.split(",")
    options.out.parent.mkdir(parents=True, exist_ok=True)
    with options.out.open("w") as out:
        for name in wanted:
            if (missing := SOURCES[name].missing(fetch=False)) is not None:
                print(f"{name}: not found; {missing}")
                continue
            X, y = load(name)
            for case in (case for case in CASES if case.data == name):
                for n_landmarks in case.bars:
                    rows = [run(case, X, y, n_landmarks, seed) for seed in range(options.seeds)]
                    out.writelines(json.dumps(row) + "\n" for row in rows)
                    out.flush()
                    report(case, n_landmarks, rows)


def report(case: Case, n_landmarks: int, rows: list[dict[str, Any]]) -> None:
    scores = np.array([row["nmi"] for row in rows])
    verdict = "ok" if scores.mean() >= case.bars[n_landmarks] else "BELOW"
    print(
        f"{case.data:8} {case.kernel['kernel']:10} "
        f"{'normalized' if 'normalize_kernel' in case.kernel else '':10} "
        f"{case.embedding:9} l={n_landmarks:<4} NMI {scores.mean():5.2f} +- {scores.std(ddof=1):4.2f} "
        f"bar {case.bars[n_landmarks]:5.1f} {verdict}  {np.mean([row['seconds'] for row in rows]):.2f} s",
        flush=True,
    )


if __name__ == "__main__":
    main()
