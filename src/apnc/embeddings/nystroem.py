"""APNC embedding via the Nystroem method."""

from typing import Any

import numpy as np
from scipy import linalg

from apnc.discrepancy import Euclidean
from apnc.embeddings.family import Block, Coefficients, Embedding
from apnc.embeddings.spectrum import decompose, landmark_kernel
from apnc.kernels import Kernel
from apnc.typing import Array


class NystroemEmbedding(Embedding):
    """Algorithm 3: R = Lambda^(-1/2) V^T of the leading m eigenpairs of K_LL, with the L2 distance.

    R is rotated to upper triangular form, which preserves distances and saves part of the products
    (docs/decisions/17-triangular-coefficients.md). m is at most the numerical rank of K_LL.
    """

    def coefficients(
        self, landmarks: Any, kernel: Kernel, n_components: int, rng: np.random.Generator
    ) -> Coefficients:
        """Algorithm 3, lines 7 to 9."""
        spectrum = decompose(landmark_kernel(landmarks, kernel), landmarks)
        weights = triangular(spectrum.leading(n_components).inverse_root)
        # A kernel that is zero on all landmarks still needs one component, in which all rows are equal.
        if not len(weights):
            weights = np.zeros((1, weights.shape[1]))
        block = Block(landmarks, weights)
        return Coefficients((block,), Euclidean(), 1.0, spectrum.dropped, spectrum.negative)


def triangular(R: Array) -> Array:
    """Q^T R for an orthogonal Q: upper triangular with a non-negative diagonal."""
    if not len(R):
        return R
    turned = linalg.qr(R, mode="r", check_finite=False)[0][: len(R)]
    # QR leaves the signs open; fixing them makes R the same for every LAPACK.
    signs = np.where(turned.diagonal() < 0, -1.0, 1.0)
    return np.asarray(np.triu(turned * signs[:, None]))
