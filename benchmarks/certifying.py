"""Certificates checked where exact kernel k-means can be run on all rows.

python -m benchmarks.certifying [--only PURPOSE] [--most-rows N] [--out FILE]    measure what is missing
python -m benchmarks.certifying --show                                          the rows as tables

Intervals of the package were chosen on the rows called "tuning"; those called "reported" have other data, seeds and
numbers of landmarks. Samples hold a quarter of the rows, those called "few of many" 1,000 or 2,000 of about 20,000.
Rows called "graph" are about SpectralClustering (``benchmarks.certifying_graphs``).
"""

import argparse
import json
import time
import warnings
from functools import lru_cache
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from apnc import KernelKMeans
from apnc.certifying import exact_kmeans as numbers
from benchmarks import certifying_graphs as graphs
from benchmarks.certifying_sets import CASES, KERNELS, KEYS, runs
from benchmarks.run import ROOT, machine

RESULTS = ROOT / "benchmarks" / "results" / "certifying.jsonl"
PLAIN = numbers.in_parts


@lru_cache(maxsize=1)
def rows_of(purpose: str, data: str, seed: int) -> Any:
    return CASES[purpose][data].load(seed)


@lru_cache(maxsize=1)
def fitted(purpose: str, data: str, kernel: str, l: int, seed: int) -> tuple[KernelKMeans, float, float]:
    """A fit, and what exact kernel k-means on all rows makes of it."""
    X, k, options = rows_of(purpose, data, seed), CASES[purpose][data].k, dict(KERNELS[kernel])
    with warnings.catch_warnings(action="ignore"):
        if "times" in options:
            usual = KernelKMeans(k, n_landmarks=50, random_state=seed).fit(X).gamma_
            options["gamma"] = options.pop("times") * usual
        km = KernelKMeans(k, n_landmarks=l, random_state=seed, **options).fit(X)
    return km, *exactly(km, X)


def measured(run: dict[str, Any]) -> dict[str, Any]:
    """The certificate of a fit beside the truth."""
    purpose, data, kernel, l, seed, sample = run.values()
    X = rows_of(purpose, data, seed)
    km, gap, changed = fitted(purpose, data, kernel, l, seed)
    parts: list[Any] = []

    def recorded(*given: Any) -> list[Any]:
        parts.extend(PLAIN(*given))
        return parts

    with warnings.catch_warnings(action="ignore"), mock.patch.object(numbers, "in_parts", recorded):
        found = km.certify(X, n_rows=sample or X.shape[0] // 4, random_state=seed)
    return {
        "n": X.shape[0],
        "k": km.n_clusters,
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
    }


def exactly(km: KernelKMeans, X: Any) -> tuple[float, float]:
    """Exact kernel k-means on all rows from the labels of a fit: gap in percent, and share of labels changed."""
    kernel, k, n = km._model.embedding.kernel, km.n_clusters, X.shape[0]
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
    parser.add_argument("--only", choices=(*CASES, graphs.PURPOSE))
    parser.add_argument("--most-rows", type=float, default=np.inf)
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.exists() else []
    if given.show:
        show(rows)
        graphs.show(rows)
        return
    done = {tuple(row.get(key) for key in KEYS) for row in rows}
    context = {"when": time.strftime("%Y-%m-%d"), **machine()}
    missing = (
        run
        for run in (*runs(), *graphs.runs())
        if tuple(run.values()) not in done and given.only in (None, run["purpose"])
    )
    with given.out.open("a") as file:
        for run in missing:
            found = found_in(run, given.most_rows)
            if found is not None:
                print({**run, **found}, flush=True)
                file.write(json.dumps({**run, **found, **context}) + "\n")
                file.flush()


def found_in(run: dict[str, Any], most_rows: float) -> dict[str, Any] | None:
    """The measurements of a run; None if it has too many rows."""
    if run["purpose"] == graphs.PURPOSE:
        return graphs.measured(run)
    if rows_of(run["purpose"], run["data"], run["seed"]).shape[0] > most_rows:
        return None
    return measured(run)


def show(rows: list[dict[str, Any]]) -> None:
    for purpose in CASES:
        if not (mine := [row for row in rows if row["purpose"] == purpose]):
            continue
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
