"""The flow: chunks -> landmarks -> coefficients -> Y -> centroids -> labels."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np

from apnc import advice
from apnc.clustering.lloyd import Write, assign_all, label_into, lloyd
from apnc.clustering.seeding import centroids_of_partition, seed_centroids
from apnc.discrepancy import Euclidean
from apnc.embeddings import Coefficients, NystroemEmbedding
from apnc.embeddings.family import embed
from apnc.engines.contract import Array, Chunk, Chunks, SingleChunk
from apnc.kernels import Kernel, PrecomputedKernel
from apnc.model import ClusterModel, EmbeddingModel
from apnc.progress import SILENT, Progress
from apnc.sampling import (
    Census,
    Hash,
    OpaqueObjectError,
    Sample,
    content_hash,
    draw,
    keys_of,
    row_number_hash,
)
from apnc.scaling import Scaling
from apnc.settings import (
    ClusterSettings,
    EmbeddingSettings,
    auto_landmarks,
    derive,
    expected_sizes,
    sample_sizes,
)


@dataclass(frozen=True)
class Data:
    """Chunks of a source with what is known of it.

    Attributes
    ----------
    chunks : the engine's view of the rows.
    n_rows : how many there are; None while a file has not been counted.
    dtype : compute type, which follows the rows' own type.
    n_columns : features (or columns of a given kernel matrix); 0 for objects.
    by_number : rows have no content to sample by, only their number.
    spread : how a sample that the driver holds is given to the driver's cores.
    skipped : rows left out for missing values so far, by the number of a row nearby.
    source : what the rows are read from, where they are not in memory.
    here : chunks can be gone over on this machine, so that their labels are kept.

    """

    chunks: Chunks
    n_rows: int | None
    dtype: type
    n_columns: int
    by_number: bool = False
    spread: Callable[[Array, Array], Chunks] = SingleChunk.of
    skipped: dict[int, int] = field(default_factory=dict)
    source: Any = None
    here: bool = True


@dataclass(frozen=True)
class Drawn:
    """The samples of one fit, scaled as the rows will be, and the hash they were drawn by."""

    census: Census
    samples: dict[str, Sample]
    hashes: Hash
    scaling: Scaling | None = None

    def scaled(self, kind: str | None, dtype: type) -> "Drawn":
        """With features brought to comparable size."""
        if kind is None:
            return self
        columns = self.census.columns
        scaling = Scaling.unit() if columns is None else Scaling.learned(kind, columns)
        samples = {
            name: Sample(scaling(sample.rows, dtype), sample.weights) for name, sample in self.samples.items()
        }
        return Drawn(self.census, samples, self.hashes, scaling)


#: Told the samples, l and m before the coefficients are computed; raises if they cannot be.
Allow = Callable[[Drawn, int, int], None]


def fit_embedding(
    data: Data, settings: EmbeddingSettings, allow: Allow | None = None, progress: Progress = SILENT
) -> tuple[EmbeddingModel, Drawn]:
    """Algorithms 3 and 4: landmarks, kernel and coefficients of the data."""
    progress.stage("sampling", data.n_rows, passes=2)
    drawn = draw_samples(data, settings, progress.total).scaled(settings.scale, data.dtype)
    advice.refuse_too_few(settings.n_clusters, drawn.census)
    landmarks = choose_landmarks(drawn, settings)
    m = expected_sizes(settings, len(landmarks))[1]
    if allow is not None:
        allow(drawn, len(landmarks), m)
    progress.stage("coefficients", None)
    tuning = drawn.samples.get("bandwidth", landmarks)
    kernel = settings.kernel.resolve(tuning.rows, tuning.weights, data.n_columns)
    if isinstance(kernel, PrecomputedKernel):
        kernel = replace(kernel, landmark_numbers=tuple(landmarks.rows.numbers.tolist()))
    seeding = drawn.samples["seeding"]
    diagonal = kernel.diagonal(seeding.rows)
    advice.refuse_overflow(diagonal)
    rng = np.random.default_rng(derive(settings.seed, "coefficients"))
    coefficients = settings.embedding.coefficients(landmarks.rows, kernel, m, rng)
    advice.warn_if_indefinite(coefficients)
    norms = coefficients if isinstance(coefficients.discrepancy, Euclidean) else nystroem(landmarks, kernel)
    Y = embed_sample(seeding, kernel, norms, data.dtype, np.float64, raw=True)
    residual = measure_residual(Y, diagonal, seeding.weights)
    advice.advise_on_residual(residual, coefficients)
    return EmbeddingModel(kernel, _remember(coefficients, kernel), residual, drawn.scaling), drawn


def draw_samples(
    data: Data, settings: EmbeddingSettings, counted: Callable[[int], None] | None = None
) -> Drawn:
    """All samples of a fit; objects without canonical bytes are sampled by row number."""
    sizes = sample_sizes(settings)
    samples = {name: (derive(settings.seed, name), size) for name, size in sizes.items()}
    describe = settings.scale in ("minmax", "standard")
    if not data.by_number:
        try:
            return Drawn(*draw(data.chunks, content_hash, samples, counted, describe), content_hash)
        except OpaqueObjectError:
            pass
    return Drawn(*draw(data.chunks, row_number_hash, samples, counted), row_number_hash)


def choose_landmarks(drawn: Drawn, settings: EmbeddingSettings) -> Sample:
    """L: the l distinct instances of smallest key."""
    sample = drawn.samples["landmarks"]
    if settings.n_landmarks == "auto":
        n_distinct = drawn.census.sketches["landmarks"].n_distinct
        return sample.first(auto_landmarks(n_distinct, settings.n_clusters))
    advice.warn_if_capped(int(settings.n_landmarks), len(sample))
    return sample


def nystroem(landmarks: Sample, kernel: Kernel) -> Coefficients:
    """The untruncated Nystroem embedding, whose norms are the projections onto the landmarks' span."""
    return NystroemEmbedding().coefficients(landmarks.rows, kernel, len(landmarks), np.random.default_rng(0))


def measure_residual(Y: Array, diagonal: Array, weights: Array) -> float:
    """Weighted mean of 1 - |y|^2 / k(x, x), |y| by the Nystroem norm; rows with k(x, x) = 0 have none."""
    known = diagonal > 0
    if not known.any():
        return 0.0
    share = np.einsum("ij,ij->i", Y[known], Y[known]) / diagonal[known]
    return float(np.average(1.0 - share, weights=weights[known]))


def embed_sample(
    sample: Sample,
    kernel: Kernel,
    coefficients: Coefficients,
    dtype: type,
    out: type = np.float32,
    raw: bool = False,
) -> Array:
    """Y of a sample that the driver holds."""
    chunk = SingleChunk.of(sample.rows, sample.weights)
    embedded: Chunks = embed(chunk, kernel, coefficients, dtype, out, raw)
    return next(iter(embedded)).rows


def _remember(coefficients: Coefficients, kernel: Kernel) -> Coefficients:
    blocks = tuple(
        replace(block, landmarks=kernel.remember(block.landmarks)) for block in coefficients.blocks
    )
    return replace(coefficients, blocks=blocks)


@dataclass(frozen=True)
class ClusterFit:
    """Result of a fit: the model and what it did to the data; ``labels`` is None if they went elsewhere."""

    model: ClusterModel
    labels: Array | None
    inertia: float
    n_iter: int
    sizes: Array
    n_rows: int


def fit_clusters(
    data: Data,
    embedding: EmbeddingModel,
    drawn: Drawn,
    settings: ClusterSettings,
    write: Write | None = None,
    progress: Progress = SILENT,
) -> ClusterFit:
    """Algorithms 1 and 2: embed everything once, then Lloyd's iterations on Y."""
    e, n = embedding.coefficients.discrepancy, drawn.census.n_rows
    progress.stage("starting", n if settings.needs_all_rows else None)
    start = start_centroids(data, embedding, drawn, settings)
    progress.stage("embedding", n)
    with embedding.embed(data.chunks, data.dtype).cached() as Y:
        progress.stage("clustering", n, max_iter=settings.max_iter)
        found = lloyd(
            Y, start, e, settings.max_iter, settings.tol, partial(tell, progress, settings.max_iter)
        )
        progress.stage("labels", n)
        if write is None:
            last = assign_all(Y, found.centroids, e, keep=data.here)
            advice.refuse_changed(n, last.n_rows)
        else:
            last = label_into(partial(write_all, write, n), Y, found.centroids, e)
    advice.warn_if_not_converged(found.converged, settings.max_iter)
    advice.warn_if_empty(last.sums.counts)
    model = ClusterModel(embedding, found.centroids)
    inertia = last.sums.inertia * model.scale**2
    labels = last.labels if last.parts else None
    return ClusterFit(model, labels, inertia, found.n_iter, last.sums.counts, last.n_rows)


def write_all(write: Write, n_rows: int, stream: Iterator[tuple[Array, Any]]) -> None:
    """Write labels if they are as many as rows were counted."""

    def counted() -> Iterator[tuple[Array, Any]]:
        n = 0
        for labels, carry in stream:
            n += len(labels)
            yield labels, carry
        advice.refuse_changed(n_rows, n)

    write(counted())


def tell(
    progress: Progress, max_iter: int, n_iter: int, shift: float, inertia: float, centroids: Array
) -> bool:
    """An iteration of at most ``max_iter`` is done."""
    return progress.iteration(n_iter, max_iter, shift, inertia, centroids)


def start_centroids(data: Data, embedding: EmbeddingModel, drawn: Drawn, settings: ClusterSettings) -> Array:
    """The first centroids by any of the ways of ``init``."""
    init, k = settings.init, settings.n_clusters
    coefficients = embedding.coefficients
    if isinstance(init, Sample):
        init = init if drawn.scaling is None else Sample(drawn.scaling(init.rows, data.dtype), init.weights)
        return embed_sample(init, embedding.kernel, coefficients, data.dtype).astype(np.float64)
    if not settings.needs_all_rows:
        sample = drawn.samples["seeding"]
        Y = embed_sample(sample, embedding.kernel, coefficients, data.dtype)
        seed, e = derive(settings.seed, "seeds"), coefficients.discrepancy
        return seed_centroids(Y, sample.weights, k, e, init, settings.n_init, seed, data.spread)
    label = (
        PartitionByKey(drawn.hashes, derive(settings.seed, "partition"), k)
        if isinstance(init, str)
        else Given(init)
    )
    steps = embedding.steps(data.dtype)
    return centroids_of_partition(data.chunks.map(EmbedAndLabel(steps, label)), k)


@dataclass(frozen=True)
class PartitionByKey:
    """Start labels that depend on content alone: key modulo k."""

    hashes: Hash
    seed: int
    n_clusters: int

    def __call__(self, chunk: Chunk) -> Array:
        return (keys_of(self.hashes(chunk), self.seed) % np.uint64(self.n_clusters)).astype(np.int32)


@dataclass(frozen=True)
class Given:
    """Start labels given by the user, in row order."""

    labels: Array

    def __call__(self, chunk: Chunk) -> Array:
        return self.labels[chunk.carry.start : chunk.carry.stop]


@dataclass(frozen=True)
class EmbedAndLabel:
    """Map: a chunk's rows to (Y, start labels)."""

    steps: list[Callable[[Chunk], Chunk]]
    label: PartitionByKey | Given

    def __call__(self, chunk: Chunk) -> Chunk:
        labels = self.label(chunk)
        for step in self.steps:
            chunk = step(chunk)
        return chunk.with_rows((chunk.rows, labels))
