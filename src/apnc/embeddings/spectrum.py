"""Eigendecomposition of the landmark kernel, without noise."""

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import linalg

from apnc.engines.blas import one_thread
from apnc.kernels import Kernel
from apnc.rows import compute_dtype
from apnc.typing import Array

#: What to do about kernel values that are too large.
SMALLER = "Scale the features (for example to [0, 1]), lower degree or gamma, or set normalize_kernel=True."
#: Differences between k(a, b) and k(b, a) up to this share of the largest value are rounding errors.
ASYMMETRY = 1e-4
#: Up to this size one thread is as fast as many, and does not compete with others for the cores.
SMALL = 512
#: Eigenvalues below this share of the largest are rounding errors of K, by the type of the rows.
FLOOR: dict[type, float] = {np.float32: 1e-8, np.float64: 1e-12}


@dataclass(frozen=True)
class Spectrum:
    """The kept part of a symmetric matrix's spectrum, in descending order.

    Attributes
    ----------
    values : array of shape (r,), positive.
    vectors : array of shape (l, r), columns.
    dropped : l - r.
    negative : sum |lambda < 0| / sum |lambda|; zero if they are negative only by rounding.

    """

    values: Array
    vectors: Array
    dropped: int
    negative: float

    def leading(self, n: int) -> "Spectrum":
        """The ``n`` largest eigenvalues, with their vectors."""
        return Spectrum(self.values[:n], self.vectors[:, :n], self.dropped, self.negative)

    @property
    def inverse_root(self) -> Array:
        """Lambda^(-1/2) V^T, shape (r, l)."""
        return (self.vectors / np.sqrt(self.values)).T


def landmark_kernel(landmarks: Any, kernel: Kernel) -> Array:
    """K_LL, float64 and symmetric."""
    K = kernel(landmarks, landmarks)
    if not np.isfinite(K).all():
        raise ValueError(f"The kernel is infinite for some landmarks. Look for outliers. {SMALLER}")
    uneven = np.abs(K - K.T)
    if uneven.max() > ASYMMETRY * np.abs(K).max():
        i, j = np.unravel_index(uneven.argmax(), K.shape)
        raise ValueError(
            f"The kernel is not symmetric: k(a, b) = {K[i, j]:.4g} but k(b, a) = {K[j, i]:.4g} for two landmarks. "
            "Use (k(a, b) + k(b, a)) / 2."
        )
    return (K + K.T) / 2


def decompose(K: Array, landmarks: Any) -> Spectrum:
    """Eigenvalues above the floor, with their vectors.

    The floor is the larger of the rounding level and the most negative eigenvalue: an indefinite
    kernel's positive eigenvalues of that size are noise too (docs/decisions/02-spectrum-floor.md).
    """
    with one_thread() if len(K) <= SMALL else nullcontext():
        values, vectors = linalg.eigh(K)
    values, vectors = values[::-1], vectors[:, ::-1]
    rounding = FLOOR[compute_dtype(landmarks)] * max(values[0], 0.0)
    kept = values > max(rounding, -values[-1], np.finfo(float).tiny)
    # Eigenvectors have arbitrary signs, which differ between LAPACK libraries: make the largest entry positive.
    signs = np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(values))])
    negative = -values[values < 0].sum() / np.abs(values).sum() if -values[-1] > rounding else 0.0
    return Spectrum(values[kept], (vectors * signs)[:, kept], int((~kept).sum()), float(negative))
