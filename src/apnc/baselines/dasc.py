"""DASC: spectral clustering within buckets of similar signatures (Gao, Abd-Almageed and Hefeeda 2012)."""

from collections.abc import Iterator
from typing import Any, Self

import numpy as np

from apnc import checks
from apnc.baselines.posing import INITS, warn_of
from apnc.baselines.signatures import at_most, buckets_of, shares, signatures
from apnc.baselines.spectral import SpectralClusterer, spectral_vectors
from apnc.baselines.vector_kmeans import VectorRun, best_of
from apnc.clustering.seeding import centroids_of_partition, random_rows
from apnc.discrepancy import Euclidean
from apnc.engines.contract import SingleChunk
from apnc.kernels import Kernel, KernelChoice
from apnc.rows import compute_dtype, n_rows, take
from apnc.settings import Settings, derive
from apnc.typing import Array


class BucketSpectralClustering(SpectralClusterer):
    """DASC: rows are grouped into buckets by a bit signature, and clustered within each by their dense kernel.

    A bit says on which side of a threshold the row lies along one dimension. Dimensions are drawn with
    probability proportional to their range; the threshold is the lower edge of the emptiest of 20 bins. The
    largest bucket absorbs all that differ from it by one bit, then the next remaining one does. While there are
    more buckets than half the clusters, the smallest is merged into the one with the nearest signature. Each bucket
    gets clusters in proportion to its rows, at least one. These rules are one reading of the method, not its
    authors' code. Rows that were not part of the fit cannot be labelled.

    Parameters
    ----------
    n_clusters : int, default=8
    gamma : float, "mean", "narrow", "local" or None, default=None
        Of the rbf kernel, as in ``KernelKMeans``; the same ``random_state`` tunes the same gamma. "auto" is None.
    n_bits : int or "auto", default="auto"
        Bits of a signature. "auto": half of log2 n, rounded up, minus one.
    init : {"random", "random-partition"}, default="random"
        How k-means starts within a bucket.
    n_init : int, default=1
        Number of starts in a bucket; the one with the lowest inertia is kept.
    max_iter : int, default=300
    memory_bytes : int, default=2**32
        Maximum size of a bucket's kernel matrix; a larger one is refused.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : array of shape (n,), int32.
    buckets_ : array of shape (n,), the bucket of each row.
    gamma_ : gamma as used.
    n_iter_ : largest number of iterations in a bucket.

    """

    def __init__(
        self,
        n_clusters: int = 8,
        *,
        gamma: Any = None,
        n_bits: int | str = "auto",
        init: str = "random",
        n_init: int = 1,
        max_iter: int = 300,
        memory_bytes: float = 1 << 32,
        random_state: Any = None,
    ):
        self.n_clusters = n_clusters
        self.gamma = gamma
        self.n_bits = n_bits
        self.init = init
        self.n_init = n_init
        self.max_iter = max_iter
        self.memory_bytes = memory_bytes
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Cluster X, an array, sparse matrix or data frame; y is ignored."""
        if not isinstance(self.init, str):
            raise ValueError(f"init must be one of {', '.join(INITS)}: each bucket starts separately.")
        checks.check_gamma("rbf", self.gamma)
        n_bits = checks.size_or_auto("n_bits", self.n_bits)
        memory = checks.non_negative("memory_bytes", self.memory_bytes)
        problem = self._problem(X, KernelChoice("rbf", self.gamma))
        settings, rows = problem.settings, problem.rows
        bits = signatures(rows, n_bits, np.random.default_rng(derive(settings.seed, "signatures")))
        self.buckets_ = at_most(max(1, settings.n_clusters // 2), *buckets_of(bits))
        sizes = np.bincount(self.buckets_)
        _refuse_large(int(sizes.max()), np.dtype(compute_dtype(rows)).itemsize, memory)
        runs = [
            cluster_bucket(take(rows, np.flatnonzero(self.buckets_ == b)), problem.kernel, k, settings, b)
            for b, k in enumerate(shares(sizes, settings.n_clusters))
        ]
        self.labels_ = numbered(self.buckets_, [run.labels for run in runs])
        self.gamma_, self.n_iter_ = problem.kernel.gamma, max(run.n_iter for run in runs)
        warn_of(all(run.converged for run in runs), self.labels_, settings)
        return self


def _refuse_large(n: int, itemsize: int, memory_bytes: float) -> None:
    if itemsize * n * n > memory_bytes:
        raise ValueError(
            f"The largest bucket holds {n:,} rows, whose kernel matrix takes {itemsize * n * n / 1e9:.1f} GB, more "
            f"than memory_bytes={memory_bytes:.4g}. Raise n_bits for smaller buckets, or memory_bytes."
        )


def cluster_bucket(rows: Any, kernel: Kernel, k: int, settings: Settings, bucket: int) -> VectorRun:
    """Spectral clustering of the rows of one bucket by their dense kernel, without its diagonal."""
    n = n_rows(rows)
    if k == 1:
        return VectorRun(np.zeros((1, 1)), np.zeros(n, dtype=np.int32), 0.0, 0, True)
    K = kernel.against(rows, compute_dtype(rows))(rows)
    np.fill_diagonal(K, 0)
    seed = derive(settings.seed, f"bucket/{bucket}")
    Y: Array = spectral_vectors(K, k, seed).astype(np.float32)
    return best_of(SingleChunk.of(Y, np.ones(n)), _starts(Y, k, settings, seed), settings.max_iter)


def _starts(Y: Array, k: int, settings: Settings, seed: int) -> Iterator[Array]:
    for restart in range(settings.n_init):
        rng = np.random.default_rng([seed, restart])
        if settings.init == "random":
            yield random_rows(Y, np.ones(len(Y)), k, Euclidean(), [rng])[0]
        else:
            labels = rng.permutation(np.arange(len(Y)) % k).astype(np.int32)
            yield centroids_of_partition(SingleChunk.of((Y, labels), np.ones(len(Y))), k)


def numbered(buckets: Array, labels: list[Array]) -> Array:
    """Labels of all rows, int32, from the labels within each bucket."""
    found = np.empty(len(buckets), dtype=np.int32)
    first = 0
    for bucket, within in enumerate(labels):
        found[buckets == bucket] = first + within
        first += int(within.max()) + 1
    return found
