"""Would more landmarks give other clusters? Asked of a sample, where the landmarks span little of it.

docs/decisions/20-residual.md has the measurement.
"""

from dataclasses import dataclass

import numpy as np

from apnc.clustering.lloyd import assign_all, lloyd
from apnc.clustering.seeding import centroids_of_partition
from apnc.discrepancy import Euclidean
from apnc.embeddings import Coefficients
from apnc.embeddings.family import Join
from apnc.embeddings.spectrum import decompose, landmark_kernel
from apnc.engines.contract import SingleChunk
from apnc.kernels import Kernel
from apnc.rows import n_rows
from apnc.sampling import Sample
from apnc.typing import Array

#: Iterations on the sample.
ITERATIONS = 30


@dataclass(frozen=True)
class Spans:
    """The Nystroem embedding of a sample by all landmarks, and by half of them, each of shape (n, <= l)."""

    whole: Array
    half: Array

    @classmethod
    def of(
        cls, sample: Sample, kernel: Kernel, coefficients: Coefficients, spanned: Array, dtype: type
    ) -> "Spans":
        """Half of each block's landmarks, which are in random order; no kernel value is computed anew."""
        join, halves = Join(np.float32, kernel.unit), []
        for block in coefficients.blocks:
            first = slice(max(1, n_rows(block.landmarks) // 2))
            rows = kernel.against(block.landmarks, dtype)
            spectrum = decompose(landmark_kernel(block.landmarks, kernel)[first, first], block.landmarks)
            K = rows(sample.rows)[:, first] * np.float64(rows.factor)
            halves.append(K @ spectrum.inverse_root.T)
        return cls(join.finished(spanned.astype(np.float64)), join.finished(np.hstack(halves)))

    def loss(self, labels: Array, weights: Array, k: int) -> float:
        """Share of what the clusters explain that they would not if they were found with half of the landmarks."""
        found = _moved(self.whole, labels, weights, k)
        other = _moved(self.half, found, weights, k)
        left = _scatter(self.whole, found, weights, k)
        explained = _scatter(self.whole, np.zeros_like(labels), weights, 1) - left
        return (_scatter(self.whole, other, weights, k) - left) / explained if explained > 0 else 0.0


def _moved(Y: Array, labels: Array, weights: Array, k: int) -> Array:
    """Labels after Lloyd's iterations from a partition."""
    chunks, e = SingleChunk.of(Y, weights), Euclidean()
    found = lloyd(chunks, _means(Y, labels, weights, k), e, ITERATIONS, 1e-4)
    return assign_all(chunks, found.centroids, e).labels


def _means(Y: Array, labels: Array, weights: Array, k: int) -> Array:
    return centroids_of_partition(SingleChunk.of((Y, labels), weights), k)


def _scatter(Y: Array, labels: Array, weights: Array, k: int) -> float:
    """Weighted sum of squared distances to the means of a partition."""
    apart = Y - _means(Y, labels, weights, k)[labels]
    return float(weights @ np.einsum("ij,ij->i", apart, apart))
