"""One entry for each output of a model, and one function that computes any of them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from apnc import sources
from apnc.checks.fit import warn_if_skipped
from apnc.clustering.lloyd import Write, assign_all
from apnc.engines.contract import Chunk, Chunks
from apnc.engines.local import row_numbers
from apnc.model import Model, Step
from apnc.outputs.arrow import Ids
from apnc.outputs.placing import OLD_MODEL, VALUES, Find, Placing, Together
from apnc.outputs.writing import ARRAY_KINDS, TABLE_KINDS, check_names, check_target, write
from apnc.run.job import Job
from apnc.sources import Source
from apnc.typing import Array

#: Rows of id columns read at a time.
ID_ROWS = 65_536


@dataclass(frozen=True)
class Output:
    """An output of a model for each row.

    Attributes
    ----------
    name : of the column of a remote frame.
    stage : its name in progress reports.
    steps : from model and compute type to the maps of a chunk.
    dtype : of the values; None: that of the rows; structured for several outputs at once.
    width : from model to the number of values per row; 0: a single value, not a list.
    prefix : of the columns of a table, if there are several values.

    """

    name: str
    stage: str
    steps: Callable[[Model, type], list[Step]]
    dtype: Any
    width: Callable[[Model], int] = lambda model: 0
    prefix: str = ""

    def columns(self, model: Model) -> str | list[str]:
        """Columns of a table."""
        width = self.width(model)
        return [f"{self.prefix}{j}" for j in range(width)] if width else self.name

    def kinds(self) -> tuple[str, ...]:
        """Extensions of the files it can be written to."""
        return ARRAY_KINDS if self.prefix else TABLE_KINDS


def _placed(name: str, model: Model, dtype: type) -> list[Step]:
    return [*model.embedding.steps(dtype), Find(Placing.of(model), VALUES[name])]


def _outlier(model: Model, dtype: type) -> list[Step]:
    refuse_old(model)
    return _placed("outlier", model, dtype)


def _embedded(model: Model, dtype: type) -> list[Step]:
    return model.embedding.steps(dtype)


def _embedded_as_rows(model: Model, dtype: type) -> list[Step]:
    return model.embedding.steps(dtype, dtype)


def _n_clusters(model: Model) -> int:
    assert model.clusters is not None
    return model.clusters.n_clusters


LABEL = Output("label", "labels", partial(_placed, "label"), np.int32)
DISTANCE = Output("distance", "distances", partial(_placed, "distance"), np.float64)
DISTANCES = Output("distances", "distances", partial(_placed, "distances"), np.float64, _n_clusters, "d")
MEMBERSHIP = Output(
    "membership", "membership", partial(_placed, "membership"), np.float64, _n_clusters, "membership"
)
OUTLIER = Output("outlier", "outlier scores", _outlier, np.float64)
EMBEDDING = Output(
    "embedding",
    "embedding",
    _embedded,
    np.float32,
    lambda model: model.embedding.coefficients.n_components,
    "y",
)
#: The embedding in the type of the rows, for local rows.
EMBEDDING_AS_ROWS = replace(EMBEDDING, steps=_embedded_as_rows, dtype=None)
OUTPUTS = {output.name: output for output in (LABEL, DISTANCE, DISTANCES, MEMBERSHIP, OUTLIER, EMBEDDING)}
#: Outputs that can be computed beside the label, in one pass.
BESIDE = (DISTANCE.name, MEMBERSHIP.name, OUTLIER.name)


@dataclass(frozen=True)
class Several(Output):
    """Several outputs in one pass: a structured array, the columns of one table, or columns of a remote frame."""

    def columns(self, model: Model) -> list[str]:
        """Columns of a table: those of all outputs."""
        found = [OUTPUTS[name].columns(model) for name in np.dtype(self.dtype).names or ()]
        return [name for names in found for name in ([names] if isinstance(names, str) else names)]


def several(beside: Sequence[str], model: Model) -> Several:
    """The label and ``beside`` it the outputs of these names."""
    unknown = [name for name in beside if name not in BESIDE]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is not an output; there are {', '.join(BESIDE)}.")
    if OUTLIER.name in beside:
        refuse_old(model)
    fields: list[Any] = []
    for name in (LABEL.name, *(name for name in BESIDE if name in beside)):
        width = OUTPUTS[name].width(model)
        fields.append((name, OUTPUTS[name].dtype, (width,)) if width else (name, OUTPUTS[name].dtype))
    dtype = np.dtype(fields)
    return Several("explained", "labels", partial(_together, dtype), dtype)


def _together(together: np.dtype[Any], model: Model, dtype: type) -> list[Step]:
    return [*model.embedding.steps(dtype), Find(Placing.of(model), Together(together))]


def refuse_old(model: Model) -> None:
    """Refuse a model without the distances of its fit."""
    if model.clusters is None or model.clusters.quantiles is None:
        raise ValueError(OLD_MODEL)


def checked(output: Output, to: Any, data: Any) -> Path:
    """A path that an output can be written to without overwriting the data."""
    check_target(to, output.kinds())
    sources.refuse_overwriting(data, to)
    return Path(to)


def apply(job: Job, model: Model, output: Output, to: Path | None = None) -> Any:
    """Apply a model: returns an array, the path ``to`` after writing it, or a remote frame with a new column."""
    source, work = job.source, model.embedding.work_bytes(job.source.held, job.dtype)
    if source.remote:
        refuse_writing(to, source)
        return source.with_column(output, model, job.layout(work))
    coefficients = model.embedding.coefficients
    job.require_to_apply(coefficients.n_landmarks, coefficients.n_components)
    data = job.data(work)
    output, chunks = replace(output, dtype=output.dtype or job.dtype), data.chunks
    for step in output.steps(model, job.dtype):
        chunks = chunks.map(step)
    if to is None:
        result: Any = collect(chunks, data.n_rows, output.width(model), output.dtype)
    else:
        result = to
        # Closing the generator stops the workers if writing fails.
        with closing((chunk.rows, chunk.carry) for chunk in chunks) as stream:
            writer(to, output, model, source)(stream)
    warn_if_skipped(source.name, sum(data.skipped.values()))
    return result


def inertia(job: Job, model: Model) -> float:
    """Weighted sum of squared distances of the rows to the nearest centroid, in the kernel's space."""
    coefficients = model.embedding.coefficients
    job.require_to_apply(coefficients.n_landmarks, coefficients.n_components)
    data = job.data(model.embedding.work_bytes(job.source.held, job.dtype))
    embedded = model.embedding.embed(data.chunks, job.dtype)
    last = assign_all(embedded, model.centroids, model.discrepancy, keep=False)
    warn_if_skipped(job.source.name, sum(data.skipped.values()))
    return last.sums.inertia * model.beta**2


def refuse_writing(to: Any, source: Source) -> None:
    """Refuse a path for remote results, which have their own writers."""
    if to is not None:
        raise ValueError(f"On {source.engine} the result is {source.result} instead of naming a file here.")


@dataclass(frozen=True)
class WriteInto:
    """Map: write a local chunk's values to their place in one array."""

    out: Array

    def __call__(self, chunk: Chunk) -> Chunk:
        self.out[chunk.carry.start : chunk.carry.stop] = chunk.rows
        return chunk.with_rows(None)


def collect(chunks: Chunks, n_rows: int | None, width: int, dtype: Any) -> Array:
    """Values of local chunks as one array, filled by the workers if the number of rows is known."""
    if n_rows is None:
        return np.concatenate([chunk.rows for chunk in chunks])
    into = WriteInto(np.empty((n_rows, width) if width else n_rows, dtype=dtype))
    for _ in chunks.map(into):
        pass
    return into.out


def writer(to: Path, output: Output, model: Model | None, source: Source) -> Write:
    """A function that writes a stream of (values, carry) to a file, with the source's ids in front."""
    if source.remote:
        refuse_writing(to, source)
    columns, dtype = output.name if model is None else output.columns(model), output.dtype
    assert dtype is not None

    def write_all(stream: Iterator[tuple[Array, Any]]) -> None:
        seen = Seen(stream)
        ids = Ids(source.id_columns, source.ids(ID_ROWS), lambda: seen.n_rows) if source.id_columns else None
        write(to, seen, columns, dtype, ids)

    check_names(source.id_columns, [columns] if isinstance(columns, str) else columns)
    return write_all


class Seen:
    """Turns (values, carry) of chunks into (values, row numbers), and counts the rows of the source."""

    def __init__(self, stream: Iterable[tuple[Array, Any]]):
        self.stream = stream
        self.n_rows = 0

    def __iter__(self) -> Iterator[tuple[Array, Array]]:
        for values, carry in self.stream:
            self.n_rows = carry.stop
            yield values, row_numbers(carry)
