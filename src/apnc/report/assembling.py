"""The material of a report, from a fitted model and its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from apnc.describing import describe, outliers, tree
from apnc.describing.description import names_of
from apnc.describing.examples import ids_of
from apnc.describing.merging import between
from apnc.describing.showing import row_names
from apnc.engines.contract import Chunk
from apnc.model import Model
from apnc.outputs import Placing
from apnc.report.map import Points, layout, placed
from apnc.report.page import Answer, Material
from apnc.report.sample import Sampled, sample_of
from apnc.run.job import Job
from apnc.version import __version__

#: Features and prototypes of each cluster, and farthest rows.
EXAMPLES, OUTLIERS = 5, 3
#: Measures from here on have three decimals, so that those in a column can be compared at a glance.
LEAST = 1e-3


@dataclass(frozen=True)
class Wanted:
    """What a report shall say besides what is in the clusters.

    Attributes
    ----------
    title : of the page; None: by the name of the data.
    feature_names : None: those of the fit.
    certificate, choice : results of ``certify`` and ``choose``; None: not there.
    estimator, parameters : class and parameters to fit the same model again.

    """

    title: str | None
    feature_names: Sequence[str] | None
    certificate: Any
    choice: Any
    estimator: str
    parameters: Mapping[str, Any]


def material(job: Job, model: Model, wanted: Wanted) -> Material:
    """Three passes over the rows: description, outliers, and a sample for the map."""
    assert model.clusters is not None
    n_pairs = model.embedding.n_pairs
    description = describe(job, model, wanted.feature_names, EXAMPLES)
    job.announce("outliers", n_pairs)
    far = outliers(job, model, OUTLIERS)
    job.announce("map", n_pairs)
    points = points_of(job, model, sample_of(job, model))
    name = data_name(job.source.paths)
    return Material(
        wanted.title or ("Clusters" if name is None else f"Clusters of {name}"),
        description,
        far,
        tree(model),
        points,
        names_of(model, description.kind, wanted.feature_names),
        [*of_certificate(wanted.certificate), *of_choice(wanted.choice)],
        settings(wanted),
        f"Written by apnc {__version__}" + ("." if name is None else f" from {name}."),
    )


def data_name(paths: Sequence[Any]) -> str | None:
    """The name of the file, folder or pattern that was read; None for rows in memory and frames."""
    if not paths:
        return None
    first, others = Path(paths[0]).name or str(paths[0]), len(paths) - 1
    return first if not others else f"{first} and {others:,} more"


def points_of(job: Job, model: Model, sampled: Sampled) -> Points:
    """The sampled rows on the map, and what identifies each."""
    assert model.clusters is not None
    Y, labels = sampled.Y, sampled.labels
    shares = Placing.of(model)(Chunk(0, Y, np.ones(len(Y)))).membership
    places = placed(Y, labels, shares, model.clusters.centers, layout(between(model)))
    numbers = None if job.source.remote else sampled.numbers
    ids = ids_of(sampled.numbers, sampled.ids, job.source)
    return Points(places, labels, row_names(numbers, ids, len(labels)))


def of_certificate(certificate: Any) -> list[Answer]:
    """The section about a certificate."""
    if certificate is None:
        return []
    lines = list(certificate.lines().items())
    return [Answer("How good is it?", (certificate.verdict,), ("", ""), tuple(lines))]


def of_choice(choice: Any) -> list[Answer]:
    """The section about the number of clusters."""
    if choice is None:
        return []
    columns = choice.columns
    rows = tuple(tuple(map(shown, row)) for row in zip(*columns.values(), strict=True))
    said = tuple(text for text in (choice.reason, choice.hint) if text)
    return [Answer("Why so many clusters?", said, tuple(name.replace("_", " ") for name in columns), rows)]


def shown(value: Any) -> str:
    """A measure as text."""
    if value is None or isinstance(value, int | str):
        return "" if value is None else str(value)
    return f"{value:.3f}" if abs(value) >= LEAST else f"{value:.3g}"


def settings(wanted: Wanted) -> str:
    """Code that makes the same estimator."""
    given = ",\n".join(f"    {name}={value!r}" for name, value in wanted.parameters.items())
    return f"from apnc import {wanted.estimator}\n\nkm = {wanted.estimator}(\n{given},\n)"
