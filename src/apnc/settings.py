"""What the user asked of a fit, and the sizes and seeds that follow from it."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from apnc.embeddings import Embedding
from apnc.kernels import KernelChoice
from apnc.sampling import Sample

BANDWIDTH_SAMPLE = 1000


def auto_landmarks(n_distinct: float, n_clusters: int) -> int:
    """``n_landmarks="auto"``: the root of the number of distinct instances, in [300, 2000], at least 4 k."""
    return int(min(n_distinct, max(300, 4 * n_clusters, min(2000, np.ceil(np.sqrt(n_distinct))))))


def auto_components(n_clusters: int) -> int:
    """``n_components="auto"``: 500, at least k. The Nystroem embeddings cap it at the kept rank."""
    return max(500, n_clusters)


def seeding_size(n_clusters: int) -> int:
    """Instances in the seeding sample."""
    return max(2048, 32 * n_clusters)


def derive(seed: int, purpose: str) -> int:
    """An independent 64-bit seed for one step."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{purpose}".encode(), digest_size=8).digest())


@dataclass(frozen=True)
class EmbeddingSettings:
    """What the user asked of the embedding; sizes may be ``"auto"``."""

    kernel: KernelChoice
    embedding: Embedding
    n_landmarks: int | str
    n_components: int | str
    seed: int
    n_clusters: int = 0
    scale: str | None = None


@dataclass(frozen=True)
class ClusterSettings:
    """What the user asked of the clustering; ``init`` is a name, start labels, or k instances."""

    n_clusters: int
    init: Any
    n_init: int
    max_iter: int
    tol: float
    seed: int

    @property
    def needs_all_rows(self) -> bool:
        """Whether the start is the means of a partition of the data."""
        return not isinstance(self.init, Sample) and (
            not isinstance(self.init, str) or self.init == "random-partition"
        )


def expected_sizes(settings: EmbeddingSettings, n_distinct: float) -> tuple[int, int]:
    """l and m for so many distinct instances; m before the rank caps it."""
    k, l, m = settings.n_clusters, settings.n_landmarks, settings.n_components  # noqa: E741
    return (
        auto_landmarks(n_distinct, k) if l == "auto" else int(min(n_distinct, int(l))),
        auto_components(k) if m == "auto" else int(m),
    )


def sample_sizes(settings: EmbeddingSettings) -> dict[str, int]:
    """Instances in each sample, at most."""
    k, asked = settings.n_clusters, settings.n_landmarks
    sizes = {
        "landmarks": max(2000, 4 * k) if asked == "auto" else int(asked),
        "seeding": seeding_size(k),
    }
    return sizes | ({"bandwidth": BANDWIDTH_SAMPLE} if settings.kernel.self_tuned else {})
