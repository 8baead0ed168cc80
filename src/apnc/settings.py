"""What the user asked of a fit, and the sizes and seeds that follow from it."""

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np

from apnc.embeddings import Embedding
from apnc.kernels import KernelChoice
from apnc.sampling import Sample

BANDWIDTH_SAMPLE = 1000
#: ``n_landmarks="auto"`` lies between these.
FEW_LANDMARKS, MANY_LANDMARKS = 300, 2000


@dataclass(frozen=True)
class Settings:
    """What the user asked for; sizes may be ``"auto"``.

    Attributes
    ----------
    kernel, embedding, scale : what rows are made of.
    n_landmarks, n_components : l and m.
    most_landmarks, most_components : l and m at most, where they are "auto".
    n_clusters : k; 0 for an embedding alone, of which the rest has no meaning.
    init : a name, start labels, or k instances.

    """

    kernel: KernelChoice
    embedding: Embedding
    n_landmarks: int | str
    n_components: int | str
    seed: int
    scale: str | None = None
    n_clusters: int = 0
    init: Any = "k-means++"
    n_init: int = 1
    max_iter: int = 300
    tol: float = 1e-4
    most_landmarks: float = np.inf
    most_components: float = np.inf

    @property
    def needs_all_rows(self) -> bool:
        """Whether the start is the means of a partition of the data."""
        return not isinstance(self.init, Sample) and (
            not isinstance(self.init, str) or self.init == "random-partition"
        )

    def sizes(self, n_distinct: float) -> tuple[int, int]:
        """Expected l for so many distinct instances, and m at most."""
        asked = self.n_landmarks
        l = self.auto_landmarks(n_distinct) if asked == "auto" else int(min(n_distinct, int(asked)))  # noqa: E741
        if self.n_components != "auto":
            return l, int(self.n_components)
        return l, int(min(self.embedding.most_components(l, self.n_clusters), self.most_components))

    def auto_landmarks(self, n_distinct: float) -> int:
        """``n_landmarks="auto"``, as far as memory allows it."""
        return int(min(auto_landmarks(n_distinct, self.n_clusters), self.most_landmarks))

    def sample_sizes(self) -> dict[str, int]:
        """Instances in each sample, at most."""
        asked, k = self.n_landmarks, self.n_clusters
        sizes = {
            "landmarks": max(MANY_LANDMARKS, 4 * k) if asked == "auto" else int(asked),
            "seeding": max(2048, 32 * k),
        }
        return sizes | ({"bandwidth": BANDWIDTH_SAMPLE} if self.kernel.self_tuned else {})


def auto_landmarks(n_distinct: float, n_clusters: int) -> int:
    """``n_landmarks="auto"``: the root of the number of distinct instances, in [300, 2000], at least 4 k."""
    root = min(MANY_LANDMARKS, np.ceil(np.sqrt(n_distinct)))
    return int(min(n_distinct, max(FEW_LANDMARKS, 4 * n_clusters, root)))


def derive(seed: int, purpose: str) -> int:
    """An independent 64-bit seed for one step."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{purpose}".encode(), digest_size=8).digest())
