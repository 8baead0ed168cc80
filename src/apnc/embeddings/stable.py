"""APNC embedding via stable distributions."""

from typing import Any

import numpy as np

from apnc.discrepancy import Manhattan
from apnc.embeddings.family import Block, Coefficients, Embedding
from apnc.embeddings.spectrum import Spectrum, decompose, landmark_kernel
from apnc.kernels import Kernel
from apnc.typing import Array


class StableEmbedding(Embedding):
    """Algorithm 4: rows of R are sums of t random rows of E, the inverse root of the centered kernel; L1 distance.

    Parameters
    ----------
    subset_size : t. A float in (0, 1) is a share of the landmarks, an integer their number; at least 1 and less
        than the number of landmarks, since t = l gives Y = 0.

    """

    def __init__(self, subset_size: float = 0.4):
        self.subset_size = subset_size

    def most_components(self, n_landmarks: int, n_clusters: int) -> int:
        """Twice as many as others: the relative error of a distance is 0.76 / sqrt(m)."""
        return 2 * super().most_components(n_landmarks, n_clusters)

    def coefficients(
        self, landmarks: Any, kernel: Kernel, n_components: int, rng: np.random.Generator
    ) -> Coefficients:
        """Algorithm 4, lines 7 to 14, with the symmetric root for E."""
        K = landmark_kernel(landmarks, kernel)
        spectrum = decompose(center_kernel(K), landmarks)
        n_landmarks = len(K)
        if n_landmarks == 1:
            return Coefficients((Block(landmarks, np.zeros((1, 1))),), Manhattan())
        t = self.resolve_subset_size(n_landmarks)
        subsets = random_subsets(n_components, n_landmarks, t, rng)
        block = Block(landmarks, subsets @ inverse_sqrt(spectrum))
        beta = stable_beta(n_components, n_landmarks, t)
        return Coefficients((block,), Manhattan(), beta, spectrum.dropped, spectrum.negative)

    def resolve_subset_size(self, n_landmarks: int) -> int:
        """The number t for l landmarks."""
        size = self.subset_size
        if isinstance(size, (bool, str)) or size is None or not size > 0:
            raise ValueError(
                f"subset_size={size!r} must be a share of the landmarks in (0, 1) or a positive integer."
            )
        if size < 1:
            return min(max(1, round(size * n_landmarks)), n_landmarks - 1)
        if size != int(size) or size >= n_landmarks:
            raise ValueError(
                f"subset_size={size!r} must be a whole number below the number of landmarks, {n_landmarks} "
                "(t = l gives Y = 0). Use a share such as 0.4, or raise n_landmarks."
            )
        return int(size)


def center_kernel(K: Array) -> Array:
    """H K H with H = I - ee^T / l: the kernel of the centered landmarks."""
    means = K.mean(axis=0)
    return K - means - means[:, None] + means.mean()


def inverse_sqrt(spectrum: Spectrum) -> Array:
    """E = V Lambda^(-1/2) V^T, shape (l, l).

    The symmetric root rather than the published Lambda^(-1/2) V^T, whose row sums depend on the arbitrary signs of
    eigenvectors (docs/decisions/01-symmetric-root.md). In theory E e = 0, but rounding mixes e into eigenvectors of
    tiny eigenvalues, which E amplifies; so e is projected out.
    """
    E = spectrum.vectors @ spectrum.inverse_root
    return center_kernel(E)


def random_subsets(n_subsets: int, n_landmarks: int, t: int, rng: np.random.Generator) -> Array:
    """Indicators of random subsets of size t, shape (n_subsets, n_landmarks)."""
    members = rng.random((n_subsets, n_landmarks)).argpartition(t - 1, axis=1)[:, :t]
    indicators = np.zeros((n_subsets, n_landmarks))
    np.put_along_axis(indicators, members, 1.0, axis=1)
    return indicators


def stable_beta(n_components: int, n_landmarks: int, t: int) -> float:
    """Beta of Property 4: sqrt(pi/2) / (m sqrt(t (l - t) / (l (l - 1)))).

    A random t-subset has that variance along each whitened direction, and E|N(0, s)| = s sqrt(2/pi).
    """
    variance = t * (n_landmarks - t) / (n_landmarks * (n_landmarks - 1))
    return float(np.sqrt(np.pi / 2) / (n_components * np.sqrt(variance)))
