"""The user's settings of a fit, and the sizes and seeds derived from them."""

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from apnc.embeddings import Embedding, NystroemEmbedding
from apnc.kernels import KernelChoice
from apnc.sampling import Sample

BANDWIDTH_SAMPLE = 1000
#: Minimum size of the sample that landmarks are taken from, if their number is "auto".
LEAST_POOL = 2000
#: Minimum size of the sample from which the first centroids are chosen.
LEAST_SEEDING = 2048


@dataclass(frozen=True)
class Sizes:
    """Sizes of a fit: l, m, k, rows (0 if unknown), instances in all samples; the embedding, which knows costs; the
    number of kernels to choose from; and whether the kernel is linear.
    """

    n_landmarks: int
    n_components: int
    n_clusters: int
    n_rows: int
    sample_rows: int
    embedding: Embedding = NystroemEmbedding()  # noqa: RUF009
    n_candidates: int = 1
    linear: bool = True

    def shrunk(self, n_landmarks: int, n_components: int) -> "Sizes":
        """The sizes with fewer landmarks, and with fewer instances to make them from."""
        rows = self.sample_rows - (self.embedding.rows_each - 1) * (self.n_landmarks - n_landmarks)
        return replace(self, n_landmarks=n_landmarks, n_components=n_components, sample_rows=rows)


@dataclass(frozen=True)
class Settings:
    """The user's settings; sizes may be ``"auto"``.

    Attributes
    ----------
    kernel, embedding, scale : how rows are embedded.
    n_landmarks, n_components : l and m.
    most_landmarks, most_components : upper limits of l and m if they are "auto".
    n_clusters : k; 0 for an embedding alone, which ignores the settings of the clustering.
    init : a name, start labels, or k instances.
    least_seeding : minimum size of the seeding sample, if there are as many distinct instances.

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
    least_seeding: int = LEAST_SEEDING

    @property
    def needs_all_rows(self) -> bool:
        """Whether the first centroids are the means of a partition of all rows."""
        return not isinstance(self.init, Sample) and (
            not isinstance(self.init, str) or self.init == "random-partition"
        )

    @property
    def n_candidates(self) -> int:
        """Number of kernels to choose from: one, unless gamma is chosen by the clusters that landmarks alone find."""
        several = self.n_clusters > 1 and not self.embedding.compares_rows
        return max(1, len(self.kernel.lengths)) if several else 1

    def landmarks(self, n_distinct: float) -> int:
        """Expected l for ``n_distinct`` distinct instances."""
        if self.n_landmarks != "auto":
            return int(min(n_distinct, int(self.n_landmarks)))
        return int(min(auto_landmarks(n_distinct, self.n_clusters, self.embedding), self.most_landmarks))

    def pool_size(self, n_distinct: float) -> int:
        """Number of sampled instances that the landmarks are made from."""
        return self.embedding.rows_each * self.landmarks(n_distinct)

    def sizes(self, n_distinct: float) -> tuple[int, int]:
        """Expected l for ``n_distinct`` distinct instances, and the maximum m."""
        l = self.landmarks(n_distinct)  # noqa: E741
        if self.n_components != "auto":
            return l, int(self.n_components)
        return l, int(min(self.embedding.most_components(l, self.n_clusters), self.most_components))

    def at(self, n_landmarks: int, n_components: int, n_rows: int, sample_rows: int) -> Sizes:
        """The sizes of a fit with these settings."""
        own = self.n_clusters, n_rows, sample_rows, self.embedding, self.n_candidates, self.kernel.linear
        return Sizes(n_landmarks, n_components, *own)

    def at_most(self, n_distinct: float, n_rows: int) -> Sizes:
        """Upper bounds of the sizes, before any row is read."""
        return self.at(*self.sizes(n_distinct), n_rows, sum(self.sample_sizes().values()))

    def sample_sizes(self) -> dict[str, int]:
        """Maximum number of instances in each sample."""
        asked, rule, k = self.n_landmarks, self.embedding, self.n_clusters
        most = min(max(rule.most_landmarks, 4 * k), self.most_landmarks) if asked == "auto" else asked
        # The number of distinct instances, which "auto" depends on, is estimated from this sample.
        least = LEAST_POOL if asked == "auto" else 1
        sizes = {"landmarks": max(least, rule.rows_each * int(most))}
        if not rule.compares_rows:
            sizes["seeding"] = max(self.least_seeding, 32 * k)
        return sizes | ({"bandwidth": BANDWIDTH_SAMPLE} if self.kernel.wants_sample else {})


def auto_landmarks(n_distinct: float, n_clusters: int, embedding: Embedding | None = None) -> int:
    """``n_landmarks="auto"``: for Nystroem the square root of ``n_distinct``, in [300, 2000], at least 4 k."""
    rule = embedding or NystroemEmbedding()
    most = min(rule.most_landmarks, np.ceil(rule.roots * np.sqrt(n_distinct)), rule.share * n_distinct)
    return int(min(n_distinct, max(rule.least_landmarks, 4 * n_clusters, most)))


def derive(seed: int, purpose: str) -> int:
    """An independent 64-bit seed for one step."""
    return int.from_bytes(hashlib.blake2b(f"{seed}/{purpose}".encode(), digest_size=8).digest())
