"""How often the right number of clusters is recommended: groups with gaps, noise, shapes, real data; and the time.

python -m benchmarks.choosing [--only PART] [--out FILE]    measure what is missing (minutes; real data from APNC_DATA)
python -m benchmarks.choosing --show                        the rows as tables
"""

import argparse
import json
import os
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.datasets import load_digits, make_circles, make_moons
from sklearn.metrics import calinski_harabasz_score, pairwise_distances, silhouette_score

from apnc import KernelKMeans, SpectralClustering, choose
from benchmarks.run import ROOT, machine

RESULTS = ROOT / "benchmarks" / "results" / "choosing.jsonl"
KS = range(2, 21)
#: The rule was found on other seeds, from 100 on, of a generator with fewer kinds.
SEEDS = range(42)
#: Distance between the centres of two groups, in units of the sum of their spreads; the closest two have exactly this.
GAP = 3.0
#: The same for groups that touch: two equal normal ones have a quarter as many rows between them as at their centres.
CLOSER = 2.0
#: Rows that the other rules see, and reference sets of the gap statistic.
ROWS, REFERENCES = 1000, 10

Set = tuple[Any, int | None, str]


def groups(seed: int, gap: float = GAP) -> Set:
    """3 to 15 groups in 2 to 30 dimensions, of unequal sizes (up to 5 times) and spreads (up to twice)."""
    rng = np.random.default_rng([seed, 11])
    k, kind = 3 + seed % 13, ("normal", "ball", "box")[seed % 3]
    d, n = int(rng.choice([2, 3, 5, 10, 20, 30])), int(rng.choice([1000, 2000, 5000]))
    spreads, sizes = rng.uniform(0.5, 1, k), rng.uniform(1, 5, k)
    y = rng.choice(k, n, p=sizes / sizes.sum())
    X = centres(k, d, spreads, gap, rng)[y] + spreads[y, None] * around(kind, n, d, rng)
    return X, k, f"{k} groups, {kind}, {d} dimensions, {n} rows"


def centres(k: int, d: int, spreads: np.ndarray, gap: float, rng: np.random.Generator) -> np.ndarray:
    """Places at random in a box, as close as the gap allows: the box grows only if there is no room."""
    side, found, tries = 2 * gap * k ** (1 / d), [], 0
    while len(found) < k:
        place = rng.uniform(0, side, d)
        needed = gap * (spreads[: len(found)] + spreads[len(found)])
        if all(np.linalg.norm(place - other) >= least for other, least in zip(found, needed, strict=True)):
            found.append(place)
        tries += 1
        side *= 1.1 if tries % 200 == 0 else 1.0
    places = np.array(found)
    apart = np.linalg.norm(places[:, None] - places[None], axis=2) / np.add.outer(spreads, spreads)
    return places * gap / apart[np.triu_indices(k, 1)].min()


def around(kind: str, n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    """Rows around 0 with a standard deviation of at most 1 along each axis; a ball ends at 2, a box at 1.7."""
    if kind == "normal":
        return rng.normal(size=(n, d)) * rng.uniform(0.5, 1, d)
    if kind == "box":
        return rng.uniform(-1, 1, (n, d)) * np.sqrt(3) * rng.uniform(0.5, 1, d)
    return 2 * ball(n, d, rng)


def ball(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    X = rng.normal(size=(n, d))
    return X * rng.uniform(size=(n, 1)) ** (1 / d) / np.linalg.norm(X, axis=1, keepdims=True)


def crescent(n: int, d: int, rng: np.random.Generator) -> np.ndarray:
    X = rng.normal(0, 0.1, (n, d))
    angle = rng.uniform(0, np.pi, n)
    X[:, :2] += np.column_stack([np.cos(angle), np.sin(angle)])
    return X


NOISE: dict[str, Callable[[int, int, np.random.Generator], np.ndarray]] = {
    "uniform": lambda n, d, rng: rng.uniform(size=(n, d)),
    "normal": lambda n, d, rng: rng.normal(size=(n, d)),
    "unequal normal": lambda n, d, rng: rng.normal(size=(n, d)) * np.arange(1, d + 1) ** -rng.uniform(0.5, 2),
    "t with 3 degrees": lambda n, d, rng: rng.standard_t(3, (n, d)),
    "t in all directions": lambda n, d, rng: rng.normal(size=(n, d)) / np.sqrt(rng.chisquare(3, (n, 1)) / 3),
    "lognormal": lambda n, d, rng: np.exp(0.7 * rng.normal(size=(n, d))),
    "Laplace": lambda n, d, rng: rng.laplace(size=(n, d)),
    "exponential": lambda n, d, rng: rng.exponential(size=(n, d)),
    "bar": lambda n, d, rng: rng.uniform(size=(n, d)) * np.r_[rng.uniform(2, 12), np.ones(d - 1)],
    "ball": ball,
    "shell": lambda n, d, rng: (
        (lambda X: X / np.linalg.norm(X, axis=1, keepdims=True))(rng.normal(size=(n, d)))
        * (1 + 0.05 * rng.normal(size=(n, 1)))
    ),
    "simplex": lambda n, d, rng: rng.dirichlet(np.ones(d + 1), n),
    "crescent": crescent,
}


def noise(seed: int) -> Set:
    """One of the kinds of noise in 2 to 20 dimensions."""
    rng = np.random.default_rng([seed, 12])
    kind = tuple(NOISE)[seed % len(NOISE)]
    d, n = int(rng.choice([2, 2, 3, 5, 10, 20])), int(rng.choice([1000, 2000, 5000]))
    return NOISE[kind](n, d, rng), None, f"{kind}, {d} dimensions, {n} rows"


def spirals(n: int, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    t, arm = 3 * np.pi * np.sqrt(rng.uniform(0.1, 1, n)), rng.integers(0, 2, n)
    angle = t + np.pi * arm
    return np.column_stack([t * np.cos(angle), t * np.sin(angle)]) + 0.25 * rng.normal(size=(n, 2))


def shapes(seed: int) -> Set:
    """Two connected shapes, for ``SpectralClustering``."""
    kind = ("half-moons", "rings", "spirals")[seed % 3]
    if kind == "half-moons":
        return make_moons(3000, noise=0.08, random_state=seed)[0], 2, kind
    if kind == "rings":
        return make_circles(3000, factor=0.5, noise=0.06, random_state=seed)[0], 2, kind
    return spirals(3000, seed), 2, kind


def real(seed: int) -> Set:
    """Classes are not clusters: what is said is only reported."""
    folder = Path(os.environ["APNC_DATA"])
    if seed == 0:
        return load_digits(return_X_y=True)[0], 10, "digits"
    if seed == 1:
        with np.load(folder / "usps.npz") as file:
            return file["X"].astype(np.float64), 10, "USPS"
    return sparse.load_npz(folder / "20newsgroups_X.npz").tocsr(), 20, "20 Newsgroups, cosine"


def by_others(X: np.ndarray) -> dict[str, int | None]:
    """What silhouette, Calinski-Harabasz and gap choose, with scikit-learn's KMeans; None: one cluster."""
    X = X[:ROWS]
    fits = {k: KMeans(k, n_init=5, random_state=0).fit(X) for k in range(1, KS[-1] + 1)}
    distances = pairwise_distances(X)
    silhouette = {k: silhouette_score(distances, fits[k].labels_, metric="precomputed") for k in KS}
    ratio = {k: calinski_harabasz_score(X, fits[k].labels_) for k in KS}
    return {
        "silhouette": max(silhouette, key=silhouette.get),
        "calinski_harabasz": max(ratio, key=ratio.get),
        "gap": gap(X, {k: found.inertia_ for k, found in fits.items()}),
    }


def gap(X: np.ndarray, inertias: dict[int, float]) -> int | None:
    """Tibshirani, Walther and Hastie's rule; references are uniform in the box of the principal components."""
    rng = np.random.default_rng(0)
    Z = (X - X.mean(axis=0)) @ np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2].T
    logs = []
    for _ in range(REFERENCES):
        U = rng.uniform(Z.min(axis=0), Z.max(axis=0), Z.shape)
        logs.append([np.log(KMeans(k, n_init=1, random_state=0).fit(U).inertia_) for k in inertias])
    gaps = np.mean(logs, axis=0) - np.log(list(inertias.values()))
    errors = np.std(logs, axis=0) * np.sqrt(1 + 1 / REFERENCES)
    first = next((i for i in range(len(gaps) - 1) if gaps[i] >= gaps[i + 1] - errors[i + 1]), len(gaps) - 1)
    return None if first == 0 else first + 1


#: Name of a part: sets by seed, seeds, whether the other rules are tried, estimators by name.
KMEANS = {"KernelKMeans": lambda name: KernelKMeans(random_state=0, **cosine(name))}
GRAPH = {"SpectralClustering": lambda name: SpectralClustering(random_state=0, **cosine(name))}
PARTS: dict[str, tuple[Callable[[int], Set], range, bool, dict[str, Any]]] = {
    "groups": (groups, SEEDS, True, KMEANS),
    "noise": (noise, SEEDS, True, KMEANS),
    "closer groups": (partial(groups, gap=CLOSER), range(100, 126), True, KMEANS),
    "shapes": (shapes, range(12), False, GRAPH),
    "real": (real, range(3), False, KMEANS | GRAPH),
}


def cosine(name: str) -> dict[str, str]:
    return {"kernel": "cosine"} if name.endswith("cosine") else {}


def runs() -> Iterator[dict[str, Any]]:
    for part, (_, seeds, _, estimators) in PARTS.items():
        for seed in seeds:
            yield from ({"part": part, "seed": seed, "estimator": name} for name in estimators)
    yield {"part": "time", "seed": 0, "estimator": "KernelKMeans"}


def measured(run: dict[str, Any]) -> dict[str, Any]:
    if run["part"] == "time":
        return timed()
    load, _, others, estimators = PARTS[run["part"]]
    X, truth, name = load(run["seed"])
    begin = time.perf_counter()
    found = choose(X, estimators[run["estimator"]](name), KS, fit=False)
    seconds = round(time.perf_counter() - begin, 2)
    at = {one.n_clusters: one for one in found.measures}
    shown = {} if truth is None else {"strength": at[truth].prediction_strength, "valley": at[truth].valley}
    return {
        **{"name": name, "truth": truth, "found": found.n_clusters, "hint": found.hint, "seconds": seconds},
        **{key: round(value, 3) for key, value in shown.items()},
        **(by_others(X) if others else {}),
    }


def timed() -> dict[str, Any]:
    """All of ``choose``, the last fit included, beside one fit with k = 20."""
    rng = np.random.default_rng(0)
    n, d, k = 1_000_000, 10, 8
    X = (8 * rng.normal(size=(k, d)))[rng.integers(0, k, n)] + rng.normal(size=(n, d))
    KernelKMeans(2, random_state=0).fit(X[:5000])
    one, one_cpu = clocked(lambda: KernelKMeans(20, random_state=0).fit(X))
    seconds, cpu = clocked(lambda: choose(X, KernelKMeans(random_state=0), KS))
    return {
        "name": f"{k} groups, {d} dimensions, {n:,} rows",
        **{"truth": k, "seconds": seconds, "one_fit": one, "cpu": cpu, "one_fit_cpu": one_cpu},
    }


def clocked(work: Callable[[], Any]) -> tuple[float, float]:
    """Seconds that have passed, and seconds of all processors that this process used."""
    begin, used = time.perf_counter(), time.process_time()
    work()
    return round(time.perf_counter() - begin, 2), round(time.process_time() - used, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--only", choices=[*PARTS, "time"])
    parser.add_argument("--show", action="store_true")
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.out.read_text().splitlines()] if given.out.exists() else []
    if given.show:
        show(rows)
        return
    keys = ("part", "seed", "estimator")
    done = {tuple(row[key] for key in keys) for row in rows}
    context = {"when": time.strftime("%Y-%m-%d"), **machine()}
    with given.out.open("a") as file, warnings.catch_warnings(action="ignore"):
        for run in runs():
            if tuple(run.values()) not in done and given.only in (None, run["part"]):
                row = {**run, **measured(run), **context}
                print({name: value for name, value in row.items() if name not in context}, flush=True)
                file.write(json.dumps(row) + "\n")
                file.flush()


RULES = {
    "found": "apnc.choose",
    "silhouette": "silhouette",
    "calinski_harabasz": "Calinski-Harabasz",
    "gap": "gap",
}


def show(rows: list[dict[str, Any]]) -> None:
    print(f"| right | {' | '.join(RULES.values())} |\n| --- |{' --- |' * len(RULES)}")
    compared = [row for row in rows if row["part"] in ("groups", "noise")]
    for part in ("groups", "noise", "both", "closer groups"):
        mine = [row for row in (rows if "closer" in part else compared) if part in (row["part"], "both")]
        right = [sum(row[name] == row["truth"] for row in mine) for name in RULES]
        print(f"| {part} | {' | '.join(f'{n} of {len(mine)}' for n in right)} |")
    print("\n| | classes | estimator | found | hint |\n| --- | --- | --- | --- | --- |")
    for row in rows:
        if row["part"] in ("shapes", "real"):
            cells = (row["name"], row["truth"], row["estimator"], row["found"] or "none", row["hint"] or "")
            print(f"| {' | '.join(map(str, cells))} |")
    for row in rows:
        if row["part"] == "time":
            fit, cpu = row["one_fit"], (row["cpu"], row["one_fit_cpu"])
            print(f"\n{row['name']}: {row['seconds']} s; one fit with k = 20: {fit} s (processor: {cpu}).")
    wrong = [row for row in compared if row["found"] != row["truth"]]
    print("\nWrong:", *(f"{row['name']}: {row['found']}" for row in wrong), sep="\n- ")


if __name__ == "__main__":
    main()
