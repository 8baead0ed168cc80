"""The ensemble Nystroem method as an APNC embedding of q blocks."""

from collections.abc import Sequence
from numbers import Integral
from typing import Any

import numpy as np

from apnc.discrepancy import Euclidean
from apnc.embeddings.family import Block, Coefficients, Embedding
from apnc.embeddings.nystroem import NystroemEmbedding
from apnc.kernels import Kernel
from apnc.typing import Array


class EnsembleEmbedding(Embedding):
    """Kumar, Mohri and Talwalkar's ensemble: the mixture of q Nystroem approximations.

    R is block-diagonal (Property 3); block b is the Nystroem block of its own landmarks times the root of its
    mixture weight, so inner products of Y are the ensemble kernel sum_b mu_b K~_b. Instead of one eigendecomposition
    of size l, with time l^3 and memory l^2, there are q of size l / q.

    Parameters
    ----------
    n_blocks : q. The numbers of landmarks and components are totals, split evenly over the blocks.
    mixture_weights : array of shape (n_blocks,), non-negative, scaled to sum to one; None: uniform.

    """

    def __init__(self, n_blocks: int = 4, mixture_weights: Sequence[float] | None = None):
        self.n_blocks = n_blocks
        self.mixture_weights = mixture_weights

    def coefficients(
        self, landmarks: Any, kernel: Kernel, n_components: int, rng: np.random.Generator
    ) -> Coefficients:
        """Algorithm 3 on each of q disjoint subsets, in key order."""
        n_landmarks = landmarks.shape[0] if hasattr(landmarks, "shape") else len(landmarks)
        q = self._resolve_blocks(n_landmarks)
        mixture = self._resolve_mixture(q)
        edges = np.linspace(0, n_landmarks, q + 1).astype(int)
        sizes = np.diff(np.linspace(0, max(n_components, q), q + 1).astype(int))
        members = [
            NystroemEmbedding().coefficients(landmarks[start:stop], kernel, int(size), rng)
            for start, stop, size in zip(edges[:-1], edges[1:], sizes, strict=True)
        ]
        blocks = tuple(
            Block(block.landmarks, np.sqrt(mu) * block.weights)
            for mu, member in zip(mixture, members, strict=True)
            for block in member.blocks
        )
        dropped = sum(member.dropped for member in members)
        negative = float(np.mean([member.negative for member in members]))
        return Coefficients(blocks, Euclidean(), 1.0, dropped, negative)

    def _resolve_blocks(self, n_landmarks: int) -> int:
        if isinstance(self.n_blocks, bool) or not isinstance(self.n_blocks, Integral) or self.n_blocks < 1:
            raise ValueError(f"n_blocks={self.n_blocks!r} must be a positive integer.")
        if self.mixture_weights is not None and self.n_blocks > n_landmarks:
            raise ValueError(
                f"n_blocks={self.n_blocks} needs at least as many landmarks, got {n_landmarks}. "
                "Lower n_blocks or raise n_landmarks."
            )
        return min(int(self.n_blocks), n_landmarks)

    def _resolve_mixture(self, q: int) -> Array:
        if self.mixture_weights is None:
            return np.full(q, 1.0 / q)
        mixture = np.asarray(self.mixture_weights, dtype=np.float64)
        if (
            mixture.shape != (q,)
            or not np.isfinite(mixture).all()
            or (mixture < 0).any()
            or mixture.sum() <= 0
        ):
            raise ValueError(
                f"mixture_weights must be {q} non-negative numbers with a positive sum, got {mixture}."
            )
        return mixture / mixture.sum()
