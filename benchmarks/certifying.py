"""Certificates checked where exact kernel k-means can be run on all rows.

python -m benchmarks.certifying [--only tuning|reported] [--most-rows N] [--out FILE]    measure what is missing
python -m benchmarks.certifying --show                                                   the rows as tables

Intervals of the package were chosen on the rows called "tuning"; those called "reported" have other data, seeds and
numbers of landmarks. Samples hold a quarter of the rows.
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from sklearn.datasets import load_digits

from apnc import KernelKMeans
from apnc.certifying import exact_kmeans as numbers
from benchmarks.run import ROOT, machine

RESULTS = ROOT / "benchmarks" / "results" / "certifying.jsonl"
PLAIN = numbers.in_parts


def groups(n: int, d: int, k: int, spread: float) -> Any:
    """Gaussian groups of unequal size and spread."""

    def load(seed: int) -> np.ndarray:
        rng = np.random.default_rng([seed, n, d])
        centres, sizes = rng.normal(size=(k, d)), rng.dirichlet(np.full(k, 3.0))
        group = rng.choice(k, n, p=sizes)
        return (
            centres[group]
            + rng.normal(size=(n, d)) * (spread * rng.uniform(0.5, 1.5, size=k))[group][:, None]
        )

    return load


def folded(n: int, d: int) -> Any:
    """A folded sheet of three dimensions with noise: no groups at all."""

    def load(seed: int) -> np.ndarray:
        rng = np.random.default_rng([seed, n, d])
        place, fold = rng.uniform(0, 3, size=(n, 3)), rng.normal(size=(3, d))
        return np.sin(1.5 * place @ fold) + 0.2 * rng.normal(size=(n, d))

    return load


def usps(seed: int) -> np.ndarray:
    with np.load(Path(os.environ["APNC_DATA"]) / "usps.npz") as file:
        return file["X"].reshape(len(file["y"]), -1).astype(np.float64)


def digits(seed: int) -> np.ndarray:
    return np.asarray(load_digits().data, dtype=np.float64)


#: Kernels; "times" multiplies the gamma that the data suggests.
KERNELS: dict[str, dict[str, Any]] = {
    "rbf": {},
    "rbf, gamma x 4": {"times": 4},
    "rbf, gamma x 16": {"times": 16},
    "laplacian": {"kernel": "laplacian"},
    "polynomial": {"kernel": "polynomial", "normalize_kernel": True},
    "cosine": {"kernel": "cosine"},
}
SOME = ("rbf, gamma x 4", "rbf, gamma x 16", "laplacian")
#: Purpose: name: rows by seed, k, kernels, numbers of landmarks, seeds.
CASES: dict[str, dict[str, tuple[Any, int, tuple[str, ...], tuple[int, ...], tuple[int, ...]]]] = {
    "tuning": {
        "digits": (digits, 10, tuple(KERNELS), (30, 100, 300), (100,)),
        "groups, 4,000 x 5": (groups(4000, 5, 8, 0.6), 8, tuple(KERNELS), (30, 100, 300), (100, 101)),
        "groups, 6,000 x 20": (groups(6000, 20, 12, 0.9), 12, tuple(KERNELS), (30, 100, 300), (100,)),
        "folded, 3,000 x 30": (folded(3000, 30), 6, tuple(KERNELS), (30, 100, 300), (100, 101)),
        "folded, 8,000 x 10": (folded(8000, 10), 15, tuple(KERNELS), (30, 100, 300), (100,)),
    },
    "reported": {
        "digits": (digits, 10, tuple(KERNELS), (20, 60, 200), (0, 1)),
        "groups, 5,000 x 10": (groups(5000, 10, 8, 0.7), 8, SOME, (20, 60, 200, 600), (0,)),
        "folded, 6,000 x 20": (folded(6000, 20), 10, SOME, (20, 60, 200, 600), (0,)),
        "USPS": (usps, 10, tuple(KERNELS), (40, 150, 500, 1000), (0,)),
        "groups, 12,000 x 30": (groups(12000, 30, 20, 1.0), 20, SOME, (40, 150, 500), (0,)),
        "folded, 20,000 x 15": (folded(20000, 15), 12, SOME, (40, 150, 500), (0,)),
        "groups, 20,000 x 8": (groups(20000, 8, 15, 0.6), 15, SOME, (40, 150, 500), (0,)),
    },
}
KEYS = ("purpose", "data", "kernel", "l", "seed")


def runs() -> Iterator[dict[str, Any]]:
    for purpose, cases in CASES.items():
        for data, (_, _, kernels, sizes, seeds) in cases.items():
            for seed in seeds:
                for kernel in kernels:
                    for l in sizes:
                        yield dict(zip(KEYS, (purpose, data, kernel, l, seed), strict=True))


def measured(run: dict[str, Any], most_rows: float) -> dict[str, Any] | None:
    load, k, *_ = CASES[run["purpose"]][run["data"]]
    X, seed = load(run["seed"]), run["seed"]
    if len(X) > most_rows:
        return None
    options = dict(KERNELS[run["kernel"]])
    if "times" in options:
        usual = KernelKMeans(k, n_landmarks=50, random_state=seed).fit(X).gamma_
        options["gamma"] = options.pop("times") * usual
    parts: list[Any] = []

    def recorded(*given: Any) -> list[Any]:
        parts.extend(PLAIN(*given))
        return parts

    begin = time.perf_counter()
    with warnings.catch_warnings(action="ignore"), mock.patch.object(numbers, "in_parts", recorded):
        km = KernelKMeans(k, n_landmarks=run["l"], random_state=seed, **options).fit(X)
        fitted = time.perf_counter()
        found = km.certify(X, n_rows=len(X) // 4, random_state=seed)
    seconds = {"fit_seconds": fitted - begin, "seconds": time.perf_counter() - fitted}
    gap, changed = exactly(km, X)
    return {
        "n": len(X),
        "k": k,
        "residual": round(km.residual_, 4),
        "gap": round(gap, 4),
        "changed": round(changed, 5),
        "found": round(found.gap, 4),
        "found_changed": round(found.changed, 5),
        "parts": [round(part.gap, 4) for part in parts],
        "parts_changed": [round(part.changed, 5) for part in parts],
        "by_landmarks": round(found.changed_by_landmarks, 5),
        "agreement": round(found.agreement, 4),
        "n_rows": found.n_rows,
        "share": round(found.share, 4),
        **{name: round(value, 2) for name, value in seconds.items()},
    }


def exactly(km: KernelKMeans, X: np.ndarray) -> tuple[float, float]:
    """Exact kernel k-means on all rows from the labels of a fit: gap in percent, and share of labels changed."""
    kernel, k, n = km._model.embedding.kernel, km.n_clusters, len(X)
    K = np.empty((n, n), np.float32)
    for first in range(0, n, 1000):
        K[first : first + 1000] = kernel(X[first : first + 1000], X)
    labels, total = km.labels_, float(K.diagonal().sum(dtype=np.float64))
    explained = []
    for _ in range(300):
        members = np.eye(k)[labels]
        members /= np.maximum(members.sum(axis=0), 1)
        products = (K @ members.astype(np.float32)).astype(np.float64)
        squares = (members * products).sum(axis=0)
        explained.append(float((squares * np.bincount(labels, minlength=k)).sum()))
        moved = np.where(np.bincount(labels, minlength=k) > 0, squares - 2 * products, np.inf).argmin(axis=1)
        if (moved == labels).all():
            break
        labels = moved
    alone = float(K.sum(dtype=np.float64)) / n
    assert alone <= total
    gap = 100 * (explained[-1] - explained[0]) / (explained[-1] - alone)
    return gap, float((labels != km.labels_).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--only", choices=tuple(CASES))
    parser.add_argument("--most-rows", type=float, default=np.inf)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.exists() else []
    if given.show:
        show(rows)
        return
    done = {tuple(row[key] for key in KEYS) for row in rows}
    context = {"when": time.strftime("%Y-%m-%d"), **machine()}
    with given.out.open("a") as file:
        for run in runs():
            if tuple(run.values()) in done or given.only not in (None, run["purpose"]):
                continue
            found = measured(run, given.most_rows)
            if found is not None:
                row = {**run, **found, **context}
                print({name: row[name] for name in (*KEYS, "gap", "found", "parts", "seconds")}, flush=True)
                file.write(json.dumps(row) + "\n")
                file.flush()


def show(rows: list[dict[str, Any]]) -> None:
    for purpose in CASES:
        mine = [row for row in rows if row["purpose"] == purpose]
        print(f"\n{purpose}: {len(mine)} cases\n")
        print(
            "| gap (%) | cases | interval holds it | width, median | width over 1 or gap / 2, median | error, median |"
        )
        print("| --- | --- | --- | --- | --- | --- |")
        for low, high in ((0, np.inf), (0, 0.1), (0.1, 0.5), (0.5, 2), (2, 5), (5, 100)):
            some = [row for row in mine if low <= row["gap"] < high]
            if some:
                print(f"| {'all' if high == np.inf else f'{low} to {high}'} | {len(some)} | {line(some)} |")
        held, width, _ = intervals(mine, "changed", numbers.CHANGED_HALF_WIDTH)
        print(f"\nchanged: the interval holds it in {np.mean(held):.0%}, median width {np.median(width):.3f}")


def line(rows: list[dict[str, Any]]) -> str:
    held, width, error = intervals(rows, "gap", numbers.GAP_HALF_WIDTH)
    relative = width / np.maximum(1, np.array([row["gap"] for row in rows]) / 2)
    return (
        f"{np.mean(held):.0%} | {np.median(width):.2f} | {np.median(relative):.2f} | {np.median(error):.2f}"
    )


def intervals(rows: list[dict[str, Any]], what: str, half_width: Any) -> tuple[Any, Any, Any]:
    """Whether the intervals hold the truth, up to the rounding of the rows; their widths; errors of the estimates."""
    found, parts = ("found", "parts") if what == "gap" else ("found_changed", "parts_changed")
    low, high = np.array(
        [numbers.interval(row[found], row[parts], row["share"], half_width) for row in rows]
    ).T
    truth = np.array([row[what] for row in rows])
    error = np.abs(np.array([row[found] for row in rows]) - truth)
    return (low - 1e-4 <= truth) & (truth <= high + 1e-4), high - low, error


if __name__ == "__main__":
    main()
