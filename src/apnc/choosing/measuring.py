"""Measures for each number of clusters: two halves of a sample are clustered, and each is judged by the other."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from scipy import linalg

from apnc.choosing.agreement import adjusted_rand, prediction_strength
from apnc.choosing.probe import Probe
from apnc.choosing.starts import Clustering
from apnc.choosing.valleys import means_of, worst_valley
from apnc.clustering.lloyd import OnPass
from apnc.clustering.seeding import SAMPLE_ITERATIONS
from apnc.engines.blas import one_thread
from apnc.run.records import NO_RECORDS, Records
from apnc.settings import derive
from apnc.stored import require
from apnc.typing import Array

#: A small sample is halved several times: as often as the rows add up to this, but at most so many times.
ROWS_HALVED, MOST_HALVINGS = 6000, 5
#: Added to 1 - mu before two are divided, as in the graph's coordinates.
EPSILON = 1e-6
#: What is kept of a halving, with its type.
MEASURED = {"prediction_strength", "stability", "valley", "smallest"}
HALVING = {"found": dict[str, dict[str, float]]}


@dataclass(frozen=True)
class Measures:
    """What was measured for one number of clusters.

    Attributes
    ----------
    n_clusters : k.
    prediction_strength : of the pairs of rows in one cluster, the share that a fit to other rows keeps together; of the
        worst cluster.
    stability : agreement of two fits to different rows (adjusted Rand index).
    stability_null : the same for a Gaussian of the same covariance, which has no clusters.
    valley : rows between two neighbouring clusters, compared with those at their centres: 0 for a gap, 1 for none; of
        the worst pair.
    smallest : the share of the smallest cluster.
    eigenvalue : for a graph, 1 - mu of the k-th eigenvector, the trivial one counted; near 0: groups with few links.
    eigengap : for a graph, how many times larger that of the next one is.

    """

    n_clusters: int
    prediction_strength: float
    stability: float
    stability_null: float
    valley: float
    smallest: float
    eigenvalue: float | None = None
    eigengap: float | None = None


def measure(
    probe: Probe, ks: Sequence[int], on_rows: Callable[[int], None], records: Records = NO_RECORDS
) -> tuple[Measures, ...]:
    """The measures of each k; each halving is kept in ``records``."""

    def check(kept: dict[str, Any]) -> None:
        found = kept["found"]
        whole = [*found] == [str(k) for k in ks] and all(one.keys() == MEASURED for one in found.values())
        require(whole, f"measures of {', '.join(found):.80} clusters")

    def halved(name: str, of: Callable[[], Probe], number: int) -> dict[int, dict[str, float]]:
        known = records.read(name, HALVING, check) or {
            "found": halving(of(), ks, derive(probe.seed, name), number, on_rows)
        }
        # JSON has no whole numbers as names.
        records.write(name, HALVING, {"found": {str(k): one for k, one in known["found"].items()}})
        return {int(k): one for k, one in known["found"].items()}

    halvings = [halved(f"halving {i}", lambda: probe, i) for i in range(n_halvings(probe))]
    null = halved("null", lambda: structureless(probe), 0)
    found = []
    for k in ks:
        mean = {name: float(np.mean([one[k][name] for one in halvings])) for name in halvings[0][k]}
        spectrum = eigengap(probe.eigenvalues, k)
        found.append(Measures(k, stability_null=null[k]["stability"], **mean, **spectrum))
    return tuple(found)


def n_halvings(probe: Probe) -> int:
    """How often the sample is divided into halves."""
    return int(np.clip(ROWS_HALVED // len(probe), 1, MOST_HALVINGS))


def most_passes_over(probe: Probe, ks: Sequence[int]) -> int:
    """The most passes over the sample that the measures take, the null's included."""
    starts = [np.empty((k, 0)) for k in ks for _ in range(probe.n_init)]
    groups = sum(1 for _ in clustering(probe).groups(starts, *probe.half))
    return (n_halvings(probe) + 1) * (max(ks) - 1 + 2 * groups * SAMPLE_ITERATIONS)


def clustering(probe: Probe, on_pass: OnPass | None = None) -> Clustering:
    """How halves of the sample are clustered."""
    return Clustering(probe.discrepancy, probe.n_init, probe.spread, on_pass, probe.room, probe.threads)


def halving(
    probe: Probe, ks: Sequence[int], seed: int, number: int, on_rows: Callable[[int], None]
) -> dict[int, dict[str, float]]:
    """Cluster both halves of the sample for every k, and compare them."""
    # Rows are in key order, which is random: the first halving needs no other.
    order = np.random.default_rng(seed).permutation(len(probe)) if number else np.arange(len(probe))
    halves = [np.sort(order[::2]), np.sort(order[1::2])]
    found = []
    for part, half in enumerate(halves):
        how = clustering(probe, partial(on_rows, len(half)))
        found.append(how.centroids(probe.Y[half], probe.weights[half], ks, seed + part))
    return {k: compared(probe, halves, [centroids[k] for centroids in found]) for k in ks}


def compared(probe: Probe, halves: list[Array], centroids: list[Array]) -> dict[str, float]:
    """The measures of two clusterings, one of each half."""
    weights, k = probe.weights, len(centroids[0])
    labels = [probe.discrepancy.against(c).labels(probe.Y).astype(np.int64) for c in centroids]
    strengths, depths = [], []
    for own, other in ((0, 1), (1, 0)):
        fitted, held = halves[own], halves[other]
        strengths.append(prediction_strength(labels[own][fitted], labels[other][fitted], weights[fitted], k))
        there = (probe.Y[held], weights[held], labels[own][held], centroids[own])
        if probe.rows is None:
            depths.append(worst_valley(*there))
            continue
        means = means_of(probe.rows[fitted], weights[fitted], labels[own][fitted], k)
        depths.append(worst_valley(*there, probe.rows[held], means))
    return {
        "prediction_strength": float(np.mean(strengths)),
        "stability": adjusted_rand(labels[0], labels[1], weights, k),
        "valley": float(np.mean(depths)),
        "smallest": min(float(np.bincount(one, weights, k).min()) for one in labels) / float(weights.sum()),
    }


def structureless(probe: Probe) -> Probe:
    """A Gaussian sample with the mean and covariance of Y, all of weight 1."""
    shares = probe.weights / probe.weights.sum()
    mean = shares @ probe.Y
    with one_thread():
        variances, directions = linalg.eigh(covariance(probe.Y, mean, shares))
        normal = np.random.default_rng(derive(probe.seed, "structureless")).normal(size=probe.Y.shape)
        normal *= np.sqrt(np.maximum(variances, 0.0))
        Y = normal @ directions.T
    Y += mean
    return replace(probe, Y=Y.astype(np.float32), weights=np.ones(len(probe)), rows=None)


def covariance(Y: Array, mean: Array, shares: Array) -> Array:
    """The weighted covariance of Y, shape (m, m)."""
    centred = Y - mean
    centred *= np.sqrt(shares)[:, None]
    return np.asarray(centred.T @ centred)


def eigengap(eigenvalues: Array | None, k: int) -> dict[str, float]:
    """1 - mu of the k-th eigenvector and the ratio of the next to it; the trivial one is not among the given ones."""
    if eigenvalues is None or k > len(eigenvalues):
        return {}
    this, following = np.maximum(1 - eigenvalues[k - 2 : k], 0.0)
    return {"eigenvalue": float(this), "eigengap": float((following + EPSILON) / (this + EPSILON))}
