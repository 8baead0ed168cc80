"""The second stage: kernel and coefficients of the landmarks."""

from dataclasses import replace

import numpy as np

from apnc.checks import fit as checks
from apnc.embeddings import Coefficients, NystroemEmbedding
from apnc.embeddings.family import embed
from apnc.engines.contract import Chunks, SingleChunk
from apnc.kernels import Kernel
from apnc.model import EmbeddingModel
from apnc.pipeline.state import Fit, choose_landmarks
from apnc.sampling import Sample
from apnc.settings import derive
from apnc.typing import Array


@np.errstate(over="ignore", invalid="ignore")
def fit_coefficients(fit: Fit) -> Fit:
    """Algorithms 3 and 4, reduce: kernel and coefficients of the landmarks, and how much of the data they span."""
    settings, drawn, dtype = fit.settings, fit.drawn, fit.job.dtype
    landmarks = choose_landmarks(drawn, settings)
    tuning = drawn.samples.get("bandwidth", landmarks)
    checks.refuse_magnitude(settings.kernel, [sample.rows for sample in drawn.samples.values()], dtype)
    kernel = settings.kernel.resolve(tuning.rows, tuning.weights, fit.job.source.n_columns)
    checks.refuse_gamma(kernel.gamma, settings.kernel.self_tuned, dtype)
    kernel = kernel.of_landmarks(landmarks.rows)
    seeding = drawn.samples["seeding"]
    diagonal = kernel.diagonal(seeding.rows)
    checks.refuse_overflow(diagonal)
    rng = np.random.default_rng(derive(settings.seed, "coefficients"))
    found = settings.embedding.coefficients(landmarks.rows, kernel, fit.sizes.n_components, rng)
    checks.warn_if_indefinite(found)
    norms = found if found.discrepancy.of_products else nystroem(landmarks, kernel)
    Y = embed_sample(seeding, kernel, norms, dtype, np.float64, raw=True)
    residual = measure_residual(Y, diagonal, seeding.weights)
    checks.advise_on_residual(residual, found)
    blocks = tuple(replace(block, landmarks=kernel.remember(block.landmarks)) for block in found.blocks)
    model = EmbeddingModel(kernel, replace(found, blocks=blocks), residual, drawn.scaling)
    return replace(fit, embedding=model)


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
