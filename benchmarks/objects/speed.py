"""Kernel rows of strings and graphs beside other ways to compute them, and whole fits of files of objects.

python -m benchmarks.objects.speed [--only CASE] [--repetitions N]    measure and append rows; a quiet machine, please
python -m benchmarks.objects.speed --show                             the rows as a table

Kernel rows are computed on one core, by everybody. A double loop in Python is timed on a few objects and landmarks, and
so is everybody who would take minutes: ``share`` says which part of all pairs was computed.
"""

import argparse
import gzip
import json
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from apnc.kernels import ShortestPath, Spectrum, WeisfeilerLehman
from benchmarks.run import ROOT, machine
from tests.paper.data import data_folder

RESULTS = ROOT / "benchmarks" / "results" / "objects-speed.jsonl"
OBJECTS, LANDMARKS = 20_000, 2_000
#: Objects and landmarks of a double loop.
FEW = 60
Timed = Callable[[list[Any], list[Any]], None]


def strings(n: int, length: int = 60, seed: int = 0) -> list[str]:
    """Random DNA."""
    codes = np.frombuffer(b"ACGT", np.uint8)[np.random.default_rng(seed).integers(0, 4, (n, length))]
    return [row.tobytes().decode() for row in codes]


def graphs(n: int) -> list[dict[str, Any]]:
    """The molecules of NCI1, repeated."""
    folder = data_folder()
    if folder is None:
        raise SystemExit("graphs_nci1.jsonl.gz is needed in the folder that APNC_DATA names.")
    with gzip.open(folder / "graphs_nci1.jsonl.gz") as file:
        known = [json.loads(line)["object"] for line in file]
    return [known[i % len(known)] for i in range(n)]


def ours(kernel: Any) -> Timed:
    def rows(objects: list[Any], landmarks: list[Any]) -> None:
        prepared = kernel.against(kernel.read(landmarks), np.float64)
        for start in range(0, len(objects), 1000):
            prepared(kernel.read(objects[start : start + 1000]))

    return rows


def loop_of_runs(objects: list[str], landmarks: list[str]) -> None:
    """A double loop over strings, with the runs counted once for each pair."""

    def runs(text: str) -> Counter[str]:
        return Counter(text[i : i + n] for n in (3, 4, 5) for i in range(len(text) - n + 1))

    for one in objects:
        for two in landmarks:
            x, y = runs(one), runs(two)
            sum(count * y[run] for run, count in x.items())


def hashed(objects: list[str], landmarks: list[str]) -> None:
    """scikit-learn's HashingVectorizer and scipy's sparse product."""
    from sklearn.feature_extraction.text import HashingVectorizer

    vectorizer = HashingVectorizer(analyzer="char", ngram_range=(3, 5), lowercase=False, alternate_sign=False)
    L = vectorizer.transform(landmarks).T.tocsr()
    for start in range(0, len(objects), 1000):
        (vectorizer.transform(objects[start : start + 1000]) @ L).toarray()


def loop_of_graphs(objects: list[Any], landmarks: list[Any]) -> None:
    """A double loop over graphs, with the labels of each refined for each pair."""

    def labels(graph: dict[str, Any]) -> Counter[Any]:
        near: list[list[int]] = [[] for _ in range(graph["n"])]
        for u, v in graph["edges"]:
            near[u].append(v)
            near[v].append(u)
        now: list[Any] = list(graph["node_labels"])
        found = Counter((0, label) for label in now)
        for h in range(1, 4):
            now = [hash((now[u], *sorted(now[v] for v in near[u]))) for u in range(graph["n"])]
            found.update((h, label) for label in now)
        return found

    for one in objects:
        for two in landmarks:
            x, y = labels(one), labels(two)
            sum(count * y[label] for label, count in x.items())


def grakel_rows(make: Callable[[Any], Any]) -> Timed:
    """GraKeL, fitted to the landmarks."""

    def rows(objects: list[Any], landmarks: list[Any]) -> None:
        import grakel

        def as_graph(graph: dict[str, Any]) -> Any:
            edges = [tuple(edge) for edge in graph["edges"]]
            both = {edge: 1 for u, v in edges for edge in ((u, v), (v, u))}
            return grakel.Graph(both, node_labels=dict(enumerate(graph["node_labels"])))

        kernel = make(grakel)
        kernel.fit([as_graph(graph) for graph in landmarks])
        kernel.transform([as_graph(graph) for graph in objects])

    return rows


def weisfeiler_lehman(grakel: Any) -> Any:
    return grakel.WeisfeilerLehman(n_iter=3, base_graph_kernel=grakel.VertexHistogram, normalize=True)


def shortest_path(grakel: Any) -> Any:
    return grakel.ShortestPath(normalize=True, with_labels=True)


#: Contestants by case: how, and how many objects and landmarks (None: all).
CASES: dict[str, tuple[Callable[[int], list[Any]], dict[str, tuple[Timed, int | None]]]] = {
    "strings": (
        strings,
        {
            "apnc": (ours(Spectrum(3, 5)), None),
            "HashingVectorizer and scipy": (hashed, None),
            "double loop": (loop_of_runs, FEW),
        },
    ),
    "graphs, Weisfeiler-Lehman": (
        graphs,
        {
            "apnc": (ours(WeisfeilerLehman(3)), None),
            "GraKeL": (grakel_rows(weisfeiler_lehman), None),
            "double loop": (loop_of_graphs, FEW),
        },
    ),
    "graphs, shortest path": (
        graphs,
        {"apnc": (ours(ShortestPath()), None), "GraKeL": (grakel_rows(shortest_path), None)},
    ),
}


def timed(case: str, contestant: str) -> dict[str, Any]:
    """Seconds for all pairs, extrapolated if only some were computed."""
    make, contestants = CASES[case]
    run, few = contestants[contestant]
    objects, landmarks = make(OBJECTS), make(OBJECTS + LANDMARKS)[OBJECTS:]
    if contestant == "apnc":
        run(objects[:100], landmarks[:100])
    some = (objects, landmarks) if few is None else (objects[:few], landmarks[:few])
    share = len(some[0]) * len(some[1]) / (OBJECTS * LANDMARKS)
    with threadpool_limits(1), warnings.catch_warnings(action="ignore"):
        begin = time.perf_counter()
        run(*some)
        seconds = time.perf_counter() - begin
    return {"seconds": round(seconds / share, 3), "share": share}


# Whole fits

FITS = {
    "1,000,000 strings of 60 letters": (
        lambda: (json.dumps(text) for part in range(10) for text in strings(100_000, seed=part)),
        ["--kernel", "spectrum(3,5)", "--n-landmarks", "500", "-k", "10", "--memory-limit", "4GB"],
    ),
    "100,000 graphs": (
        lambda: (json.dumps(graph) for graph in graphs(100_000)),
        ["--kernel", "weisfeiler_lehman(3)", "--n-landmarks", "500", "-k", "10"],
    ),
}


def fitted(case: str) -> dict[str, Any]:
    """One fit on the command line, from a file to a file of labels."""
    make, words = FITS[case]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "objects.jsonl"
        with open(path, "w") as file:
            file.writelines(f"{line}\n" for line in make())
        command = [
            sys.executable,
            "-m",
            "apnc.cli",
            "fit",
            str(path),
            *words,
            "--labels",
            f"{folder}/labels.parquet",
        ]
        begin = time.perf_counter()
        subprocess.run([*command, "--quiet"], check=True, cwd=folder)
        seconds = time.perf_counter() - begin
    peak = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    return {"seconds": round(seconds, 1), "peak": peak}


def cells(only: str | None) -> list[tuple[str, str, Callable[[], dict[str, Any]]]]:
    pairs = [
        (case, name, lambda c=case, n=name: timed(c, n)) for case, (_, all_) in CASES.items() for name in all_
    ]
    fits = [(case, "apnc fit", lambda c=case: fitted(c)) for case in FITS]
    return [cell for cell in (*pairs, *fits) if only in (None, cell[0])]


def table(rows: list[dict[str, Any]]) -> str:
    """Medians, and how many times as long as ours."""
    found = ["| case | contestant | seconds | ratio |", "| --- | --- | --- | --- |"]
    for case in dict.fromkeys(row["case"] for row in rows):
        here = [row for row in rows if row["case"] == case]
        names = list(dict.fromkeys(row["contestant"] for row in here))
        times = {name: median(row["seconds"] for row in here if row["contestant"] == name) for name in names}
        first = times[names[0]]
        found += [f"| {case} | {name} | {time:,.1f} | {time / first:.1f} |" for name, time in times.items()]
    return "\n".join(found)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--only", choices=[*CASES, *FITS])
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--show", action="store_true")
    options = parser.parse_args()
    rows = [json.loads(line) for line in options.out.read_text().splitlines()] if options.out.exists() else []
    for repetition in range(0 if options.show else options.repetitions):
        for case, contestant, measure in cells(options.only):
            row = {"case": case, "contestant": contestant, "repetition": repetition, **measure(),
                   "when": time.strftime("%Y-%m-%d"), **machine()}  # fmt: skip
            rows.append(row)
            with open(options.out, "a") as file:
                file.write(json.dumps(row) + "\n")
            print(case, contestant, row["seconds"], flush=True)
    print(table(rows))


if __name__ == "__main__":
    main()
