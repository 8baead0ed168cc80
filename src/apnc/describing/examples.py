"""Rows that stand for a cluster: those nearest to its centroid, or those nearest to the border with another."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeVar

import numpy as np

from apnc.checks.fit import warn_if_skipped
from apnc.engines.contract import MOST_CHUNKS, Chunk, Data
from apnc.engines.local import row_ids, row_numbers
from apnc.model import Model, Step
from apnc.outputs import Ids, Placed, Placing
from apnc.parameters.rules import Rule
from apnc.rows import concatenate, take
from apnc.run import costs
from apnc.run.job import Job
from apnc.sampling import Hash, OpaqueObjectError, content_hash
from apnc.sources import Source
from apnc.typing import Array

T = TypeVar("T")
#: Rows of id columns read at a time.
ID_ROWS = 65_536
AT_LEAST_ONE = Rule("a whole number of at least 1", number=int, low=1)
#: What is known about a nominated row. It is ranked in float32, so that rounding does not decide between equal ones.
FACTS = np.dtype(
    [
        ("cluster", np.int32),
        ("rank", np.float32),
        ("hash", np.uint64),
        ("number", np.int64),
        ("distance", np.float64),
        ("other", np.int32),
        ("margin", np.float64),
    ]
)


@dataclass(frozen=True)
class Examples:
    """Distinct rows of one cluster, best first.

    Attributes
    ----------
    rows : the rows, in the container of the source (array, CSR matrix, list of objects).
    distances : distance of each to its centroid, in the kernel's space.
    numbers : lowest row number of each in the source, int64; None on Spark, where rows have no numbers: name
        ``id_columns`` in ``apnc.open`` to know them.
    ids : values of the id columns by name; None if the source has none. Of equal rows, those of one are given.
    others, margins : at a border, the other cluster, and by how much its centroid is farther away, as a share of that
        distance; else None.

    """

    rows: Any
    distances: Array
    numbers: Array | None = None
    ids: dict[str, list[Any]] | None = None
    others: Array | None = None
    margins: Array | None = None

    def __len__(self) -> int:
        return len(self.distances)


@dataclass(frozen=True)
class Prototypes:
    """Rows that stand for each cluster.

    Attributes
    ----------
    clusters : ``Examples`` of each cluster.
    boundary : whether these are rows at the border with another cluster, instead of those nearest to the centroid.

    """

    clusters: tuple[Examples, ...]
    boundary: bool = False

    def __len__(self) -> int:
        return len(self.clusters)

    def __getitem__(self, cluster: int) -> Examples:
        return self.clusters[cluster]

    def __iter__(self) -> Iterator[Examples]:
        return iter(self.clusters)


@dataclass(frozen=True)
class Nominees:
    """The best ``size`` distinct rows of each cluster so far: facts (of type ``FACTS``), by cluster and rank.

    ``ids`` are those that came along with the rows, shape (n, columns).
    """

    facts: Array
    rows: Any
    ids: Array
    size: int

    def __add__(self, other: "Nominees") -> "Nominees":
        facts = np.concatenate([self.facts, other.facts])
        kept, ids = best(facts, self.size), np.concatenate([self.ids, other.ids])
        return Nominees(facts[kept], take(concatenate([self.rows, other.rows]), kept), ids[kept], self.size)


def best(facts: Array, size: int) -> Array:
    """Positions of the best rows of each cluster, each instance once; ties are ordered by content."""
    once = np.lexsort((facts["number"], facts["hash"], facts["cluster"]))
    same = (np.diff(facts["cluster"][once]) == 0) & (np.diff(facts["hash"][once]) == 0)
    once = once[np.concatenate([[True], ~same])] if len(once) else once
    order = once[np.lexsort((facts["hash"][once], facts["rank"][once], facts["cluster"][once]))]
    clusters = facts["cluster"][order]
    return order[np.arange(len(order)) - np.searchsorted(clusters, clusters) < size]


@dataclass(frozen=True)
class Nominate:
    """Map: the best rows of a chunk.

    Attributes
    ----------
    size : rows of each cluster.
    hashes : the content of each row as 64 bits.
    boundary : rank by the margin to the second nearest cluster, instead of the distance.
    farthest : those that outlier scores put farthest from their centroid are best.

    """

    size: int
    hashes: Hash
    boundary: bool = False
    farthest: bool = False

    def __call__(self, chunk: Chunk, placed: Placed) -> Nominees:
        facts = np.zeros(len(chunk.weights), FACTS)
        facts["cluster"], facts["distance"] = placed.labels, placed.distance
        facts["hash"], facts["number"] = self.hashes(chunk), row_numbers(chunk.carry)
        facts["rank"] = -placed.remoteness if self.farthest else facts["distance"]
        if self.boundary:
            facts["other"], facts["margin"] = second_nearest(placed.distances, placed.labels)
            facts["rank"] = facts["margin"]
        present = np.flatnonzero(chunk.weights > 0)
        kept = present[best(facts[present], self.size)]
        return Nominees(facts[kept], take(chunk.rows, kept), row_ids(chunk.carry, kept), self.size)


def second_nearest(distances: Array, labels: Array) -> tuple[Array, Array]:
    """The nearest other cluster of each row, and by what share of its distance the own one is nearer."""
    rows = np.arange(len(labels))
    elsewhere = distances.copy()
    elsewhere[rows, labels] = np.inf
    others = elsewhere.argmin(axis=1)
    far = elsewhere[rows, others]
    gaps = np.maximum(0.0, far - distances[rows, labels])
    return others, np.divide(gaps, far, out=np.zeros(len(far)), where=far > 0)


def number_hash(chunk: Chunk) -> Array:
    """A number for each row without content to hash: on remote engines, row numbers begin anew in every partition."""
    partition = np.uint64(chunk.index // MOST_CHUNKS) << np.uint64(40)
    return partition + row_numbers(chunk.carry).astype(np.uint64)


@dataclass(frozen=True)
class Examine:
    """Map: embeds the rows of a chunk, finds their place among the clusters, and nominates the best."""

    steps: tuple[Step, ...]
    placing: Placing
    nominate: Nominate

    def placed(self, chunk: Chunk) -> Placed:
        """The place of the rows among the clusters."""
        for step in self.steps:
            chunk = step(chunk)
        return self.placing(chunk)

    def __call__(self, chunk: Chunk) -> Nominees:
        return self.nominate(chunk, self.placed(chunk))


def prototypes(job: Job, model: Model, n: int = 5, boundary: bool = False) -> Prototypes:
    """The ``n`` rows of each cluster that are nearest to its centroid, or to the border; one pass."""
    n_clusters = clusters_of(model)
    if boundary and n_clusters < 2:
        raise ValueError("boundary=True needs at least 2 clusters; this model has one.")
    cost = partial(costs.describing, n_clusters=n_clusters, n_examples=AT_LEAST_ONE("n", n))
    data = data_of(job, model, cost)
    found = reduced(data, examining(job, data, model, n, boundary), Nominees.__add__)
    warn_if_skipped(job.source.name, sum(data.skipped.values()))
    return Prototypes(by_cluster(found, n_clusters, job.source, boundary), boundary)


def outliers(job: Job, model: Model, n: int = 5) -> tuple[Examples, ...]:
    """The ``n`` rows of each cluster that are farthest from its centroid, farthest first; one pass."""
    data = data_of(job, model, partial(costs.describing, n_clusters=clusters_of(model), n_examples=n))
    found = reduced(data, examining(job, data, model, n, farthest=True), Nominees.__add__)
    return by_cluster(found, clusters_of(model), job.source)


def clusters_of(model: Model) -> int:
    """Number of clusters of a model."""
    assert model.clusters is not None
    return model.clusters.n_clusters


def data_of(job: Job, model: Model, cost: costs.Cost = costs.applying, work_bytes: int = 0) -> Data:
    """The rows in chunks sized for the embedding, or for ``work_bytes`` of each row if that is more.

    A memory limit that is too small for what it costs is refused.
    """
    coefficients = model.embedding.coefficients
    job.require_to_apply(coefficients.n_landmarks, coefficients.n_components, cost)
    work = max(work_bytes, model.embedding.work_bytes(job.source.held, job.dtype))
    return job.data(work, ids=True)


def examining(
    job: Job, data: Data, model: Model, n: int, boundary: bool = False, farthest: bool = False
) -> Examine:
    """How a chunk is examined."""
    hashes = number_hash if data.by_number else content_hash
    nominate = Nominate(n, hashes, boundary, farthest)
    return Examine(tuple(model.embedding.steps(job.dtype)), Placing.of(model), nominate)


def reduced(data: Data, examine: Any, combine: Callable[[T, T], T]) -> T:
    """Examine all chunks; objects without canonical bytes are told apart by row number."""
    try:
        found: T = data.chunks.reduce(examine, combine)
    except OpaqueObjectError:
        # Only reading the rows shows whether they have canonical bytes.
        by_number = replace(examine, nominate=replace(examine.nominate, hashes=number_hash))
        found = data.chunks.reduce(by_number, combine)
    return found


def by_cluster(
    found: Nominees, n_clusters: int, source: Source, boundary: bool = False
) -> tuple[Examples, ...]:
    """The nominated rows of each cluster, with their ids."""
    facts, ids = found.facts, ids_of(found.facts["number"], found.ids, source)
    examples = []
    for cluster in range(n_clusters):
        where = np.flatnonzero(facts["cluster"] == cluster)
        these = facts[where]
        examples.append(
            Examples(
                take(found.rows, where),
                these["distance"],
                None if source.remote else these["number"],
                {name: [values[i] for i in where] for name, values in ids.items()} or None,
                these["other"] if boundary else None,
                these["margin"] if boundary else None,
            )
        )
    return tuple(examples)


def ids_of(numbers: Array, along: Array, source: Source) -> dict[str, list[Any]]:
    """Values of the id columns of rows, by name: as they came along, else read by number; {} without such columns."""
    if not source.id_columns or not len(numbers):
        return {}
    if along.shape[1]:
        return {name: along[:, j].tolist() for j, name in enumerate(source.id_columns)}
    ascending, places = np.unique(numbers, return_inverse=True)
    columns = Ids(source.id_columns, source.ids(ID_ROWS), lambda: 0).take(ascending)
    found = {name: column.to_pylist() for name, column in columns.items()}
    return {name: [values[place] for place in places.ravel()] for name, values in found.items()}
