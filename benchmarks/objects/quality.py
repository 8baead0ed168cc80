"""Clusters of strings, sessions, records and graphs beside exact kernel k-means and what one would do without kernels.

python -m benchmarks.objects.quality [--only DATA]    measure what is missing; data in APNC_DATA, or generated
python -m benchmarks.objects.quality --show           the rows as a table
"""

import argparse
import gzip
import json
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean, stdev
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.metrics import normalized_mutual_info_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer, OneHotEncoder, StandardScaler

import apnc
from apnc.baselines import ExactKernelKMeans
from apnc.kernels import Date, Number, Record, ShortestPath, Spectrum, WeisfeilerLehman
from benchmarks.objects.generated import FIELDS, mixed_records
from benchmarks.objects.sequences import clickstreams
from benchmarks.run import ROOT, machine
from tests.paper.data import data_folder

RESULTS = ROOT / "benchmarks" / "results" / "objects-quality.jsonl"
SEEDS, LANDMARKS = range(10), 500
KEYS = ("data", "method", "seed")
Labels = Callable[[Any, int, int], dict[str, Any]]


@dataclass(frozen=True)
class Set:
    """Objects, their classes, and the methods to compare by name."""

    read: Callable[[], tuple[list[Any], np.ndarray]]
    methods: dict[str, Labels]


def lines(name: str) -> tuple[list[Any], np.ndarray]:
    """A file of the data folder."""
    folder = data_folder()
    if folder is None:
        raise SystemExit(f"{name}.jsonl.gz is needed in the folder that APNC_DATA names.")
    with gzip.open(folder / f"{name}.jsonl.gz") as file:
        rows = [json.loads(line) for line in file]
    return [row["object"] for row in rows], np.unique([row["label"] for row in rows], return_inverse=True)[1]


def ours(kernel: Any) -> Labels:
    def labels(objects: Any, k: int, seed: int) -> dict[str, Any]:
        l = min(LANDMARKS, len(objects))
        km = apnc.KernelKMeans(k, kernel=kernel, n_landmarks=l, random_state=seed).fit(objects)
        return {"labels": km.labels_, "residual": round(float(km.residual_), 4)}

    return labels


def exact(kernel: Any) -> Labels:
    """Exact kernel k-means with the matrix of all pairs, and as many starts."""

    def labels(objects: Any, k: int, seed: int) -> dict[str, Any]:
        return {"labels": ExactKernelKMeans(k, kernel=kernel, random_state=seed).fit(objects).labels_}

    return labels


def plain(features: Callable[[Any], Any]) -> Labels:
    """k-means of scikit-learn on features made by hand."""

    def labels(objects: Any, k: int, seed: int) -> dict[str, Any]:
        return {"labels": KMeans(k, n_init=10, random_state=seed).fit(features(objects)).labels_}

    return labels


def letters(texts: list[str]) -> Any:
    return Normalizer().fit_transform(CountVectorizer(analyzer="char", lowercase=False).fit_transform(texts))


def runs_with_ends(texts: list[str]) -> Any:
    """Unit vectors of all runs of 2 and 3 letters: k-means on them is exact kernel k-means."""
    marked = [f"\x02{text}\x03" for text in texts]
    counts = CountVectorizer(analyzer="char", ngram_range=(2, 3), lowercase=False).fit_transform(marked)
    return Normalizer().fit_transform(counts.astype(float))


def bases(texts: list[str]) -> Any:
    """Every position of an aligned sequence as a category."""
    return OneHotEncoder().fit_transform([list(text) for text in texts])


def bag(sessions: list[list[str]]) -> Any:
    counts = CountVectorizer(analyzer=lambda pages: pages).fit_transform(sessions)
    return Normalizer().fit_transform(counts.astype(float))


def sizes(graphs: list[dict[str, Any]]) -> np.ndarray:
    return StandardScaler().fit_transform([[graph["n"], len(graph["edges"])] for graph in graphs])


def by_hand(records: list[dict[str, Any]]) -> Any:
    """What a practitioner writes: one-hot, scaling, tf-idf."""
    import pandas as pd
    from sklearn.impute import SimpleImputer

    frame = pd.DataFrame(records)
    frame["joined"] = pd.to_datetime(frame["joined"]).map(
        lambda day: day.timestamp() if pd.notna(day) else np.nan
    )
    frame["note"] = frame["note"].fillna("")
    frame["plan"] = frame["plan"].fillna("unknown")
    scaled = make_pipeline(SimpleImputer(), StandardScaler())
    numbers = [name for name, kind in FIELDS.items() if isinstance(kind, Number | Date)]
    made = make_column_transformer(
        (scaled, numbers), (OneHotEncoder(), ["plan"]), (TfidfVectorizer(), "note"), sparse_threshold=1.0
    )
    return sparse.csr_array(made.fit_transform(frame))


SPLICE, SURNAMES, SESSIONS = Spectrum(2, 2, positional=True), Spectrum(2, 3, ends=True), Spectrum(2, 2)


def of_graphs(name: str) -> Set:
    methods: dict[str, Labels] = {"k-means on sizes": plain(sizes)}
    for kernel in (WeisfeilerLehman(3), ShortestPath()):
        called = type(kernel).__name__
        methods |= {called: ours(kernel), f"exact {called}": exact(kernel)}
    return Set(lambda: lines(name), methods)


SETS = {
    "splice junctions": Set(
        lambda: lines("dna_splice"),
        {
            "Spectrum(2, 2, positional=True)": ours(SPLICE),
            "exact": exact(SPLICE),
            "k-means on single bases": plain(bases),
        },
    ),
    "surnames": Set(
        lambda: lines("strings_surnames"),
        {
            "Spectrum(2, 3, ends=True)": ours(SURNAMES),
            "exact": plain(runs_with_ends),
            "k-means on letters": plain(letters),
        },
    ),
    "clickstreams": Set(
        lambda: clickstreams(5000),
        {
            "Spectrum(2, 2) on tokens": ours(SESSIONS),
            "exact": exact(SESSIONS),
            "k-means on bags of pages": plain(bag),
        },
    ),
    "mixed records": Set(
        lambda: mixed_records(5000, 0),
        {
            "Record": ours(Record(FIELDS)),
            "Record, radial": ours(Record(FIELDS).rbf()),
            "one-hot, scaling, tf-idf, k-means": plain(by_hand),
        },
    ),
    "MUTAG": of_graphs("graphs_mutag"),
    "NCI1": of_graphs("graphs_nci1"),
}


@cache
def data(name: str) -> tuple[list[Any], np.ndarray]:
    return SETS[name].read()


def measured(name: str, method: str, seed: int) -> dict[str, Any]:
    objects, truth = data(name)
    begin = time.perf_counter()
    with warnings.catch_warnings(action="ignore"):
        found = SETS[name].methods[method](objects, len(np.unique(truth)), seed)
    seconds = time.perf_counter() - begin
    nmi = normalized_mutual_info_score(truth, found.pop("labels"), average_method="geometric")
    return {"data": name, "method": method, "seed": seed, "nmi": round(float(nmi), 4), "n": len(objects), **found,
            "seconds": round(seconds, 2)}  # fmt: skip


def missing(rows: list[dict[str, Any]], only: str | None) -> list[tuple[str, str, int]]:
    there = {tuple(row[key] for key in KEYS) for row in rows}
    wanted = [
        (name, method, seed)
        for name, one in SETS.items()
        if only in (None, name)
        for method in one.methods
        for seed in SEEDS
    ]
    return [cell for cell in wanted if cell not in there]


def table(rows: list[dict[str, Any]]) -> str:
    """NMI over seeds, and the mean residual."""
    found = ["| data | method | NMI | residual |", "| --- | --- | --- | --- |"]
    for name, one in SETS.items():
        for method in one.methods:
            cell = [row for row in rows if row["data"] == name and row["method"] == method]
            if not cell:
                continue
            nmi = [row["nmi"] for row in cell]
            spread = f" ± {stdev(nmi):.3f}" if len(nmi) > 1 else ""
            known = [row["residual"] for row in cell if "residual" in row]
            residual = f"{fmean(known):.2f}" if known else ""
            found.append(f"| {name} | {method} | {fmean(nmi):.3f}{spread} | {residual} |")
    return "\n".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--only", choices=SETS)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    for cell in [] if options.show else missing(rows, options.only):
        row = {**measured(*cell), "when": time.strftime("%Y-%m-%d"), **machine()}
        rows.append(row)
        with open(options.out, "a") as file:
            file.write(json.dumps(row) + "\n")
        print(row["data"], row["method"], row["seed"], row["nmi"], row["seconds"], flush=True)
    print(table(rows))


if __name__ == "__main__":
    main()
