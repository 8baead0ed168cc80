"""Certificates of neighbour graphs beside the truth: classes, and the exact graph of all rows."""

import warnings
from collections.abc import Iterator
from typing import Any
from unittest import mock

import numpy as np
from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

from apnc import SpectralClustering
from apnc.certifying import exact_graph, issuing
from benchmarks.certifying_sets import GRAPH_SEEDS, GRAPHS

PURPOSE = "graph"


def runs() -> Iterator[dict[str, Any]]:
    for data, (_, sizes) in GRAPHS.items():
        for seed in GRAPH_SEEDS:
            for l in sizes:
                yield {"purpose": PURPOSE, "data": data, "kernel": None, "l": l, "seed": seed, "sample": None}


def measured(run: dict[str, Any]) -> dict[str, Any]:
    """A fit, its certificate, and NMI in percent to the classes of the fit, and of the exact graphs."""
    X, y = GRAPHS[run["data"]][0](run["seed"])
    k, seed = len(np.unique(y)), run["seed"]
    drawn, found_exactly = [], []

    def recorded(known: Any, into: list[Any]) -> Any:
        def call(*given: Any) -> Any:
            into.append(known(*given))
            return into[-1]

        return call

    with (
        warnings.catch_warnings(action="ignore"),
        mock.patch.object(issuing, "draw", recorded(issuing.draw, drawn)),
        mock.patch.object(exact_graph, "exact_labels", recorded(exact_graph.exact_labels, found_exactly)),
    ):
        km = SpectralClustering(k, n_landmarks=run["l"], random_state=seed).fit(X)
        certificate = km.certify(X, n_rows=min(4000, len(X) // 2), random_state=seed)
    classes = classes_of(drawn[0].sample.rows, X, y)
    whole = exact_graph.exact_labels(distances_only(X), np.ones(len(X)), k, seed)
    return {
        "n": len(X),
        "k": k,
        "verdict": certificate.verdict.split(":")[0],
        "nmi": nmi(y, km.labels_),
        "nmi_sample": nmi(classes, drawn[0].labels),
        "nmi_exact_sample": nmi(classes, found_exactly[0]),
        "nmi_exact": nmi(y, whole),
        "true_agreement": round(float(adjusted_rand_score(km.labels_, whole)), 4),
        "exact_agreement": round(certificate.exact_agreement, 4),
        "by_landmarks": round(certificate.changed_by_landmarks, 5),
        "compared_landmarks": certificate.compared_landmarks,
        "agreement": round(certificate.agreement, 4),
        "n_rows": certificate.n_rows,
        "share": round(certificate.share, 4),
    }


def distances_only(X: np.ndarray) -> np.ndarray:
    """A kernel whose distances are those of the rows."""
    centred = X - X.mean(axis=0)
    return centred @ centred.T


def classes_of(rows: np.ndarray, X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Classes of some of the rows, found by content."""
    known = {row.tobytes(): label for row, label in zip(np.ascontiguousarray(X), y, strict=True)}
    return np.array([known[row.tobytes()] for row in np.ascontiguousarray(rows)])


def nmi(classes: np.ndarray, labels: np.ndarray) -> float:
    return round(100 * float(normalized_mutual_info_score(classes, labels, average_method="geometric")), 2)


def show(rows: list[dict[str, Any]]) -> None:
    mine = [row for row in rows if row["purpose"] == PURPOSE]
    print(f"\n{PURPOSE}: {len(mine)} cases, NMI in percent, means over seeds\n")
    print(
        "| data | landmarks | NMI | of the exact graph | of that of the sample | ARI to it | seeds | verdicts |"
    )
    print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for data, l in dict.fromkeys((row["data"], row["l"]) for row in mine):
        some = [row for row in mine if (row["data"], row["l"]) == (data, l)]
        names = ("nmi", "nmi_exact", "nmi_exact_sample")
        means = [f"{np.mean([row[name] for row in some]):.1f}" for name in names]
        means += [f"{np.mean([row[name] for row in some]):.2f}" for name in ("exact_agreement", "agreement")]
        said = [row["verdict"] for row in some]
        counted = ", ".join(f"{text} {said.count(text)}" for text in dict.fromkeys(said))
        print(f"| {data} | {l} | {' | '.join(means)} | {counted} |")
