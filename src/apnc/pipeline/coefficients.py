"""The second stage: resolve the kernel and compute the coefficients from the landmarks."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from apnc.checks import fit as checks
from apnc.embeddings import Coefficients, NystroemEmbedding
from apnc.embeddings.components import LEAST_COMPONENTS, needed_components
from apnc.embeddings.family import Comparison, Join, Portions, block_steps, join_of
from apnc.engines.contract import SingleChunk
from apnc.kernels import Kernel
from apnc.kernels.remembering import RememberingKernel
from apnc.model import EmbeddingModel
from apnc.pipeline.alignment import alignment, enough_rows, sample_labels
from apnc.pipeline.state import Fit, choose_landmarks
from apnc.sampling import Sample
from apnc.settings import derive
from apnc.typing import Array

#: Alignments that differ by less are equal.
EQUAL = 1e-6
#: Residuals below this are rounding errors.
ROUNDING = 1e-12


@dataclass(frozen=True)
class Candidate:
    """A kernel, its coefficients, and the seeding sample embedded with them.

    Attributes
    ----------
    kernel : with every parameter resolved.
    coefficients : R and e.
    Y : array of shape (n, m), R K_L(x) of the sample.
    spanned : array of shape (n, <= l), whose inner products approximate the kernel; Y itself if its own do.

    """

    kernel: Kernel
    coefficients: Coefficients
    Y: Array
    spanned: Array


@np.errstate(over="ignore", invalid="ignore")
def fit_coefficients(fit: Fit) -> Fit:
    """Algorithms 3 and 4, reduce: the kernel, the coefficients, and how much of the data the landmarks span."""
    if fit.comparison is not None:
        return graph_coefficients(fit, fit.comparison)
    seeding = fit.drawn.samples["seeding"]
    candidates = [candidate(fit, kernel) for kernel in candidate_kernels(fit)]
    chosen = candidates[0] if len(candidates) == 1 else best_aligned(fit, candidates)
    kernel, found = chosen.kernel, chosen.coefficients
    checks.warn_if_indefinite(found)
    spanned = chosen.spanned
    residual = measure_residual(spanned.astype(np.float64), kernel.diagonal(seeding.rows), seeding.weights)
    blocks = tuple(replace(block, landmarks=kernel.remember(block.landmarks)) for block in found.blocks)
    model = EmbeddingModel(kernel, replace(found, blocks=blocks), residual, fit.drawn.scaling)
    return replace(fit, embedding=model, sample=Sample(chosen.Y, seeding.weights))


def candidate(fit: Fit, kernel: Kernel) -> Candidate:
    """The coefficients with one kernel; every kernel value is computed once."""
    settings, dtype = fit.settings, fit.job.dtype
    landmarks, seeding = choose_landmarks(fit.drawn, settings), fit.drawn.samples["seeding"]
    kernel = kernel.of_landmarks(landmarks.rows)
    checks.refuse_range(kernel.diagonal(seeding.rows))
    rng = np.random.default_rng(derive(settings.seed, "coefficients"))
    known = RememberingKernel(kernel, lambda n: fit.job.progress.rows(n // len(landmarks)))
    found = settings.embedding.coefficients(landmarks.rows, known, fit.sizes.n_components, rng)
    Y = embed_sample(seeding, known, found, dtype)
    if settings.n_components == "auto" and settings.n_clusters and found.discrepancy.of_products:
        found = needed_components(found, Y, seeding.weights, max(LEAST_COMPONENTS, 2 * settings.n_clusters))
        Y = embed_sample(seeding, known, found, dtype)
    # The residual compares squared norms with k(x, x), which is meaningful only if inner products approximate k.
    norms = found if found.discrepancy.of_products else nystroem(landmarks, known)
    spanned = Y if norms is found else embed_sample(seeding, known, norms, dtype)
    return Candidate(kernel, found, Y, spanned)


def best_aligned(fit: Fit, candidates: list[Candidate]) -> Candidate:
    """The candidate whose kernel agrees best with the clusters that it finds in the sample; the first if in doubt."""
    job, k = fit.job, fit.settings.n_clusters
    weights = fit.drawn.samples["seeding"].weights[: enough_rows(k)]
    seed, spread = derive(fit.settings.seed, "alignment"), job.data(8 * job.source.held).spread
    on_pass = partial(job.progress.rows, len(weights))
    scores = []
    for one in candidates:
        Y, inner = one.Y[: len(weights)].copy(), one.spanned[: len(weights)].astype(np.float64)
        Y = join_of(one.kernel, one.coefficients).finished(Y)
        labels = sample_labels(Y, weights, k, one.coefficients.discrepancy, seed, spread, on_pass)
        scores.append(alignment(Join(np.float64, one.kernel.unit).finished(inner), labels, weights))
    # Equal up to rounding is equal: the choice must not depend on the order in which sums were added.
    best = next(i for i, score in enumerate(scores) if score > max(scores) - EQUAL)
    return candidates[best]


def graph_coefficients(fit: Fit, comparison: Comparison) -> Fit:
    """The coefficients from all compared rows; their embedding does not approximate the kernel, so has no residual."""
    found, sample = comparison.coefficients(fit.compared, fit.sizes.n_components)
    model = EmbeddingModel(comparison.kernel, found, None, fit.drawn.scaling)
    return replace(fit, embedding=model, sample=sample)


def resolved_kernel(fit: Fit) -> Kernel:
    """The kernel with every parameter resolved; rows and widths that cannot be computed with are refused."""
    return resolved_kernels(fit)[0]


def candidate_kernels(fit: Fit) -> list[Kernel]:
    """The kernels to choose from: only one, unless gamma is to be chosen by the clusters found with it."""
    return resolved_kernels(fit)[: fit.settings.n_candidates]


def resolved_kernels(fit: Fit) -> list[Kernel]:
    """The kernel with each gamma in question; all but the first are left out if they cannot be computed with."""
    settings, drawn, dtype = fit.settings, fit.drawn, fit.job.dtype
    tuning = drawn.samples.get("bandwidth", drawn.samples["landmarks"])
    checks.refuse_magnitude(settings.kernel, [sample.rows for sample in drawn.samples.values()], dtype)
    kernels = settings.kernel.candidates(tuning.rows, tuning.weights, fit.job.source.n_columns)
    checks.refuse_gamma(kernels[0].gamma, bool(settings.kernel.lengths), dtype)
    others = [kernel for kernel in kernels[1:] if kernel.gamma != kernels[0].gamma]
    return [kernels[0], *(kernel for kernel in others if checks.is_usable(kernel.gamma, dtype))]


def nystroem(landmarks: Sample, kernel: Kernel) -> Coefficients:
    """The untruncated Nystroem embedding, whose norms are the projections onto the landmarks' span."""
    return NystroemEmbedding().coefficients(landmarks.rows, kernel, len(landmarks), np.random.default_rng(0))


def measure_residual(Y: Array, diagonal: Array, weights: Array) -> float:
    """Weighted mean of 1 - |y|^2 / k(x, x) with the Nystroem norm |y|; rows with k(x, x) = 0 are left out."""
    known = diagonal > 0
    if not known.any():
        return 0.0
    share = np.einsum("ij,ij->i", Y[known], Y[known]) / diagonal[known]
    found = float(np.average(1.0 - share, weights=weights[known]))
    return found if abs(found) > ROUNDING else 0.0


def embed_sample(sample: Sample, kernel: Kernel, coefficients: Coefficients, dtype: type) -> Array:
    """R K_L(x) of a sample on the driver."""
    chunks = SingleChunk.of(sample.rows, sample.weights)
    for step in block_steps(kernel, coefficients, dtype):
        chunks = chunks.map(step)
    portions: Portions = chunks.chunk.rows
    return portions.joined
