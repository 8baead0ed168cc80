"""The second stage: resolve the kernel and compute the coefficients from the landmarks."""

from dataclasses import replace

import numpy as np

from apnc.checks import fit as checks
from apnc.embeddings import Coefficients, NystroemEmbedding
from apnc.embeddings.components import LEAST_COMPONENTS, needed_components
from apnc.embeddings.family import Comparison, Portions, block_steps
from apnc.engines.contract import SingleChunk
from apnc.kernels import Kernel
from apnc.kernels.remembering import RememberingKernel
from apnc.model import EmbeddingModel
from apnc.pipeline.advice import Spans
from apnc.pipeline.state import Fit, choose_landmarks
from apnc.sampling import Sample
from apnc.settings import derive
from apnc.typing import Array


@np.errstate(over="ignore", invalid="ignore")
def fit_coefficients(fit: Fit) -> Fit:
    """Algorithms 3 and 4, reduce: the kernel, the coefficients, and how much of the data the landmarks span."""
    if fit.comparison is not None:
        return graph_coefficients(fit, fit.comparison)
    settings, drawn, dtype = fit.settings, fit.drawn, fit.job.dtype
    landmarks = choose_landmarks(drawn, settings)
    kernel = resolved_kernel(fit).of_landmarks(landmarks.rows)
    seeding = drawn.samples["seeding"]
    diagonal = kernel.diagonal(seeding.rows)
    checks.refuse_overflow(diagonal)
    rng = np.random.default_rng(derive(settings.seed, "coefficients"))
    known = RememberingKernel(kernel, lambda n: fit.job.progress.rows(n // len(landmarks)))
    found = settings.embedding.coefficients(landmarks.rows, known, fit.sizes.n_components, rng)
    checks.warn_if_indefinite(found)
    Y = embed_sample(seeding, known, found, dtype)
    if settings.n_components == "auto" and settings.n_clusters and found.discrepancy.of_products:
        found = needed_components(found, Y, seeding.weights, max(LEAST_COMPONENTS, 2 * settings.n_clusters))
        Y = embed_sample(seeding, known, found, dtype)
    # The residual compares squared norms with k(x, x), which is meaningful only if inner products approximate k.
    norms = found if found.discrepancy.of_products else nystroem(landmarks, known)
    spanned = Y if norms is found else embed_sample(seeding, known, norms, dtype)
    residual = measure_residual(spanned.astype(np.float64), diagonal, seeding.weights)
    spans = Spans.of(seeding, known, found, spanned, dtype) if residual > checks.HIGH_RESIDUAL else None
    blocks = tuple(replace(block, landmarks=kernel.remember(block.landmarks)) for block in found.blocks)
    model = EmbeddingModel(kernel, replace(found, blocks=blocks), residual, drawn.scaling)
    if not settings.n_clusters:
        checks.advise_on_residual(model)
    return replace(fit, embedding=model, sample=Sample(Y, seeding.weights), spans=spans)


def graph_coefficients(fit: Fit, comparison: Comparison) -> Fit:
    """The coefficients from all compared rows; their embedding does not approximate the kernel, so has no residual."""
    found, sample = comparison.coefficients(fit.compared, fit.sizes.n_components)
    model = EmbeddingModel(comparison.kernel, found, None, fit.drawn.scaling)
    return replace(fit, embedding=model, sample=sample)


def resolved_kernel(fit: Fit) -> Kernel:
    """The kernel with every parameter resolved; rows and widths that cannot be computed with are refused."""
    settings, drawn, dtype = fit.settings, fit.drawn, fit.job.dtype
    tuning = drawn.samples.get("bandwidth", drawn.samples["landmarks"])
    checks.refuse_magnitude(settings.kernel, [sample.rows for sample in drawn.samples.values()], dtype)
    kernel = settings.kernel.resolve(tuning.rows, tuning.weights, fit.job.source.n_columns)
    checks.refuse_gamma(kernel.gamma, settings.kernel.self_tuned, dtype)
    return kernel


def nystroem(landmarks: Sample, kernel: Kernel) -> Coefficients:
    """The untruncated Nystroem embedding, whose norms are the projections onto the landmarks' span."""
    return NystroemEmbedding().coefficients(landmarks.rows, kernel, len(landmarks), np.random.default_rng(0))


def measure_residual(Y: Array, diagonal: Array, weights: Array) -> float:
    """Weighted mean of 1 - |y|^2 / k(x, x) with the Nystroem norm |y|; rows with k(x, x) = 0 are left out."""
    known = diagonal > 0
    if not known.any():
        return 0.0
    share = np.einsum("ij,ij->i", Y[known], Y[known]) / diagonal[known]
    return float(np.average(1.0 - share, weights=weights[known]))


def embed_sample(sample: Sample, kernel: Kernel, coefficients: Coefficients, dtype: type) -> Array:
    """R K_L(x) of a sample on the driver."""
    chunks = SingleChunk.of(sample.rows, sample.weights)
    for step in block_steps(kernel, coefficients, dtype):
        chunks = chunks.map(step)
    portions: Portions = chunks.chunk.rows
    return portions.joined
