"""APNC embedding via the Nystroem method."""

from typing import Any

import numpy as np

from apnc.discrepancy import Euclidean
from apnc.embeddings.family import Block, Coefficients, Embedding
from apnc.embeddings.spectrum import decompose, landmark_kernel
from apnc.kernels import Kernel


class NystroemEmbedding(Embedding):
    """Algorithm 3: R = Lambda^(-1/2) V^T of the leading m eigenpairs of K_LL, with the L2 distance.

    m is at most the rank of K_LL that is not noise.
    """

    def coefficients(
        self, landmarks: Any, kernel: Kernel, n_components: int, rng: np.random.Generator
    ) -> Coefficients:
        """Algorithm 3, lines 7 to 9."""
        spectrum = decompose(landmark_kernel(landmarks, kernel), landmarks)
        weights = spectrum.leading(n_components).inverse_root
        if not len(weights):
            weights = np.zeros((1, weights.shape[1]))
        block = Block(landmarks, weights)
        return Coefficients((block,), Euclidean(), 1.0, spectrum.dropped, spectrum.negative)
