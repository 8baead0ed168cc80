"""A description of every cluster: size, cohesion, nearest cluster, contrasting features, prototypes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from apnc.checks.fit import warn_if_skipped
from apnc.checks.frames import as_frame
from apnc.describing import showing
from apnc.describing.contrasts import Contrast, VectorTotals, WordTotals
from apnc.describing.examples import (
    AT_LEAST_ONE,
    Examine,
    Examples,
    Nominees,
    by_cluster,
    data_of,
    examining,
    reduced,
)
from apnc.describing.merging import between
from apnc.engines.contract import Chunk, Data
from apnc.kernels.family import ANYTHING, Kernel
from apnc.model import Model
from apnc.rows import take
from apnc.run import costs
from apnc.run.job import Job
from apnc.typing import Array

#: What features are called, by kind of rows.
FEATURES, WORDS, OBJECTS = "features", "words", "objects"
#: Working memory of one value of a dense row: itself, in float64, and what its square is computed from.
WORK_BYTES = 40


@dataclass(frozen=True)
class ClusterDescription:
    """What is in one cluster.

    Attributes
    ----------
    number : of the cluster.
    size, share : weight of its rows, and as a share of all.
    cohesion : mean squared distance to its centroid, in the kernel's space; NaN if it is empty.
    relative_cohesion : the same, divided by the mean over all rows; below 1, it is tighter than most.
    nearest, nearest_distance : the cluster of the nearest other centroid, and the distance between the two; None if
        there is no other.
    contrasts : features that set it apart, the strongest first; none for objects.
    prototypes : rows nearest to the centroid.

    """

    number: int
    size: float
    share: float
    cohesion: float
    relative_cohesion: float
    nearest: int | None
    nearest_distance: float | None
    contrasts: tuple[Contrast, ...]
    prototypes: Examples


@dataclass(frozen=True)
class Description:
    """What is in each cluster; ``print`` it, or show it in a notebook.

    Attributes
    ----------
    clusters : one ``ClusterDescription`` each.
    weight : of all rows.
    kind : "features" (dense rows), "words" (sparse rows) or "objects", which have no features.
    shown : returns an object as text.

    """

    clusters: tuple[ClusterDescription, ...]
    weight: float
    kind: str
    shown: Callable[[Any], str] = field(default=str, repr=False, compare=False)

    def __len__(self) -> int:
        return len(self.clusters)

    def __getitem__(self, cluster: int) -> ClusterDescription:
        return self.clusters[cluster]

    def __str__(self) -> str:
        return showing.text(self)

    def _repr_html_(self) -> str:
        return showing.html(self)

    def to_dict(self) -> dict[str, Any]:
        """Everything as JSON values; of rows only those that are objects."""
        return showing.plain(self)

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row for each cluster."""
        return as_frame(showing.columns(self))


@dataclass(frozen=True)
class Totals:
    """Sums over rows.

    Attributes
    ----------
    nominees : the rows nearest to their centroids.
    sizes, squares : arrays of shape (k,), weight and weighted sum of squared distances.
    features : statistics of the features; None for objects.

    """

    nominees: Nominees
    sizes: Array
    squares: Array
    features: VectorTotals | WordTotals | None

    def __add__(self, other: "Totals") -> "Totals":
        features: Any = None if self.features is None else self.features + other.features  # type: ignore[operator]
        return Totals(
            self.nominees + other.nominees, self.sizes + other.sizes, self.squares + other.squares, features
        )


@dataclass(frozen=True)
class TakeTotals(Examine):
    """Map: the sums of a chunk; ``kind`` is that of its rows."""

    n_clusters: int
    kind: str

    def __call__(self, chunk: Chunk) -> Any:
        placed = self.placed(chunk)
        nominees = self.nominate(chunk, placed)
        present = np.flatnonzero(chunk.weights > 0)
        labels, weights, k = placed.labels[present], chunk.weights[present], self.n_clusters
        sizes = np.bincount(labels, weights, k)
        squares = np.bincount(labels, weights * placed.distance[present] ** 2, k)
        features: VectorTotals | WordTotals | None = None
        if self.kind != OBJECTS:
            kind = WordTotals if self.kind == WORDS else VectorTotals
            features = kind.of(take(chunk.rows, present), labels, weights, k)
        return Totals(nominees, sizes, squares, features)


def describe(job: Job, model: Model, feature_names: Sequence[str] | None = None, n: int = 5) -> Description:
    """Describe every cluster with up to ``n`` features and ``n`` prototypes, in one pass over the rows."""
    assert model.clusters is not None
    k, d, words = model.clusters.n_clusters, job.source.n_columns, job.source.is_sparse
    cost = partial(costs.describing, n_clusters=k, n_examples=AT_LEAST_ONE("n", n), n_features=d, words=words)
    data = data_of(job, model, cost, 0 if words else WORK_BYTES * d)
    kind = kind_of(job, data)
    names = names_of(model, kind, feature_names)
    examine = examining(job, data, model, n)
    totals: Totals = reduced(
        data, TakeTotals(examine.steps, examine.placing, examine.nominate, k, kind), Totals.__add__
    )
    warn_if_skipped(job.source.name, sum(data.skipped.values()))
    prototypes = by_cluster(totals.nominees, k, job.source)
    contrasts = [()] * k if totals.features is None else totals.features.contrasts(totals.sizes, names, n)
    facts = zip(*cohesions(totals), *neighbours(model), contrasts, prototypes, strict=True)
    return Description(
        tuple(ClusterDescription(number, *found) for number, found in enumerate(facts)),
        float(totals.sizes.sum()),
        kind,
        shown_by(model.embedding.kernel),
    )


def shown_by(kernel: Kernel) -> Callable[[Any], str]:
    """How objects are shown: as the kernel says if they are its own kind, else as they are."""
    return str if kernel.takes == ANYTHING else kernel.shown


def kind_of(job: Job, data: Data) -> str:
    """What the rows are."""
    if not job.source.n_columns or data.by_number:
        return OBJECTS
    return WORDS if job.source.is_sparse else FEATURES


def names_of(model: Model, kind: str, given: Sequence[str] | None) -> Sequence[str]:
    """Names of the features: as given, else those of the fit, else x0, x1, ..."""
    number = model.features.number
    if given is None:
        return model.features.names or [f"x{j}" for j in range(number)]
    if kind == OBJECTS:
        raise ValueError("feature_names are for vectors; these rows are objects, which have no features.")
    if len(given) != number:
        raise ValueError(f"feature_names has {len(given)} names, but the model has {number} features.")
    return given


def cohesions(totals: Totals) -> tuple[list[float], ...]:
    """Sizes, shares, mean squared distances, and these relative to the mean of all rows."""
    sizes, total = totals.sizes, totals.sizes.sum()
    everywhere = totals.squares.sum() / total
    with np.errstate(invalid="ignore"):
        cohesion = totals.squares / sizes
    # If all rows lie on their centroids, each cluster is as tight as the mean.
    relative = cohesion / everywhere if everywhere else cohesion + 1
    return sizes.tolist(), (sizes / total).tolist(), cohesion.tolist(), relative.tolist()


def neighbours(model: Model) -> tuple[list[int | None], list[float | None]]:
    """The nearest other cluster of each, by the centroids, and its distance."""
    squares = between(model)
    if len(squares) < 2:
        return [None], [None]
    np.fill_diagonal(squares, np.inf)
    return list(map(int, squares.argmin(axis=1))), np.sqrt(squares.min(axis=1)).tolist()
