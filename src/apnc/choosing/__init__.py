"""Choosing the number of clusters: several are compared on one embedded sample, and one is recommended, or none."""

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace
from typing import Any

from sklearn.base import clone

from apnc import checks
from apnc.choosing.measuring import Measures, measure, most_passes_over
from apnc.choosing.probe import Probe, probe
from apnc.choosing.result import Choice
from apnc.choosing.rule import hint, reason, recommended
from apnc.choosing.scorer import stability_scorer
from apnc.progress import Progress

__all__ = ["Choice", "Measures", "choose", "stability_scorer"]

#: Distinct instances needed for each cluster: two in each half of the sample.
EACH = 4


def choose(
    X: Any,
    estimator: Any,
    n_clusters: Iterable[int] = range(2, 21),
    *,
    sample_weight: Any = None,
    fit: bool = True,
    progress: Progress | None = None,
    checkpoint: Any = None,
) -> Choice:
    """Recommend a number of clusters, or say that there is no clear structure.

    All numbers are compared on one embedded sample of up to 8,192 distinct rows. The recommendation is the largest
    number of clusters that a fit to other rows finds again and that have gaps between them. Classes that overlap are
    not clusters in this sense, and are not counted.

    Parameters
    ----------
    X : rows in any form that ``estimator.fit`` takes.
    estimator : KernelKMeans, SpectralClustering, or another clusterer of this package
        Its parameters are used for every number of clusters; its own ``n_clusters`` is not. It is not changed, and need
        not be fitted.
    n_clusters : the numbers to try, each at least 2; ``range(2, 9)``, 2 to 8, is ``--k-max 8`` on the command line.
    sample_weight : array of shape (n,), default=None
    fit : bool, default=True
        Fit a copy of ``estimator`` with the recommended number to all rows. Nothing is fitted without a recommendation.
    progress : Progress, default=None
        Receives progress reports, instead of the display that ``verbose`` selects.
    checkpoint : path, default=None
        A folder that keeps what is done; the same call, made again, resumes from there. Removed at the end.

    Returns
    -------
    Choice
        With ``n_clusters``, ``reason``, ``hint``, ``table`` and the fitted ``estimator``.

    Examples
    --------
    >>> import apnc
    >>> from sklearn.datasets import make_blobs
    >>> X, y = make_blobs(1000, centers=4, cluster_std=0.5, random_state=1)
    >>> choice = apnc.choose(X, apnc.KernelKMeans(random_state=0), n_clusters=range(2, 8))
    >>> choice.n_clusters
    4

    """
    ks = checked(n_clusters, estimator)
    trial = clone(estimator).set_params(n_clusters=ks[-1])
    with nullcontext() if checkpoint is None else trial._opened(checkpoint) as kept:
        choice = compared(trial, X, sample_weight, ks, trial._progress(progress), kept)
        if not fit or choice.n_clusters is None:
            return choice
        fitted = clone(estimator).set_params(n_clusters=choice.n_clusters)
        part = None if kept is None else kept.part("fit")
        fitted.fit(X, sample_weight=sample_weight, progress=progress, checkpoint=part)
    return replace(choice, estimator=fitted)


def compared(trial: Any, X: Any, sample_weight: Any, ks: list[int], shown: Progress, kept: Any) -> Choice:
    """The choice between these numbers of clusters, without a fit; ``trial`` has the largest."""
    job = trial._job(X, sample_weight, reset=True, shown=shown)
    with job.running():
        settings = checks.settings_of(trial, job.source)
        if kept is not None:
            job, settings = trial._begun(job, settings, kept, n_clusters=ks)
        sample = probe(job, settings)
        refuse_few(sample, ks)
        job.progress.stage("choosing", len(sample), most_passes_over(sample, ks))
        measured = measure(sample, ks, job.progress.rows, job.records)
    chosen = recommended(measured)
    return Choice(
        None if chosen is None else chosen.n_clusters,
        reason(measured, chosen),
        hint(measured, chosen),
        measured,
        len(sample),
    )


def checked(n_clusters: Iterable[int], estimator: Any) -> list[int]:
    """The numbers to try in ascending order; an estimator that cannot be tried with them is refused."""
    if not hasattr(estimator, "n_clusters") or not hasattr(estimator, "_job"):
        raise TypeError(
            f"estimator must be a clusterer such as apnc.KernelKMeans(), got {type(estimator).__name__}"
            f"{', the class: add ()' if isinstance(estimator, type) else ''}."
        )
    if not isinstance(getattr(estimator, "init", ""), str):
        raise ValueError("init gives the start of one number of clusters; leave it out to compare several.")
    if not isinstance(n_clusters, Iterable):
        raise TypeError(
            f"n_clusters={n_clusters!r} must be several numbers to compare, such as range(2, 21)."
        )
    ks = sorted({checks.positive_integer("n_clusters", k) for k in n_clusters})
    if not ks:
        raise ValueError("n_clusters is empty: pass the numbers to try, such as range(2, 21).")
    if ks[0] < 2:
        raise ValueError(
            "n_clusters begins at 1, but a single cluster cannot be compared: begin at 2. If nothing is found, the "
            "answer is that there is no clear structure."
        )
    return ks


def refuse_few(sample: Probe, ks: list[int]) -> None:
    """Refuse a sample that is too small to be divided."""
    n, most = len(sample), len(sample) // EACH
    if ks[-1] > most:
        instead = f"pass n_clusters=range(2, {most + 1})" if most > 2 else "there are too few to choose"
        raise ValueError(
            f"Comparing up to {ks[-1]} clusters needs at least {EACH * ks[-1]} distinct rows, got {n}; {instead}."
        )
