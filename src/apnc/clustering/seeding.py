"""Initial centroids, from a sample of embedded rows or from a start partition."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from apnc.clustering.lloyd import OnPass, SumStacked, add_stacked, refine_stacked
from apnc.discrepancy import Discrepancy
from apnc.discrepancy.nearest import PartialSums
from apnc.engines.contract import Chunk, Chunks, SingleChunk
from apnc.typing import Array

#: Iterations of each restart on the sample; the full run refines the best.
SAMPLE_ITERATIONS = 30


def seed_centroids(
    Y: Array,
    weights: Array,
    k: int,
    discrepancy: Discrepancy,
    init: str,
    n_init: int,
    seed: int,
    spread: Callable[[Array, Array], Chunks] = SingleChunk.of,
    on_pass: OnPass | None = None,
) -> Array:
    """The best of ``n_init`` starts on a sample of embedded rows, shape (k, m).

    A single start is used as is; several are refined together by Lloyd's iterations on the sample and compared by
    the weighted sum of squared discrepancies. ``spread`` distributes the sample over the cores; ``on_pass`` is called
    after each pass over it.
    """
    choose = partial(greedy_k_means_plus_plus, on_pass=on_pass) if init == "k-means++" else random_rows
    rngs = [np.random.default_rng([seed, r]) for r in range(n_init)]
    starts = choose(Y, weights, k, discrepancy, rngs)
    if n_init == 1:
        return starts[0]
    with spread(Y, weights).cached() as sample:
        refined = refine_stacked(sample, starts, discrepancy, SAMPLE_ITERATIONS, 1e-4, on_pass)
        nearest = {restart: discrepancy.against(centroids) for restart, centroids in enumerate(refined)}
        last = sample.reduce(SumStacked(nearest), add_stacked)
    return refined[min(last, key=lambda restart: last[restart].inertia)]


def most_passes(k: int, init: str, n_init: int) -> int:
    """Maximum number of passes over the sample: one for each centroid but the first, and those of the restarts."""
    return max(1, (k - 1) * (init == "k-means++") + SAMPLE_ITERATIONS * (n_init > 1))


def random_rows(
    Y: Array, weights: Array, k: int, discrepancy: Discrepancy, rngs: list[np.random.Generator]
) -> list[Array]:
    """For each generator, k distinct instances drawn by weight; if there are fewer, the first is repeated."""
    shares, size = weights / weights.sum(), min(k, len(Y))
    chosen = [rng.choice(len(Y), size=size, replace=False, p=shares) for rng in rngs]
    return [_filled(Y[rows].astype(np.float64), k) for rows in chosen]


def greedy_k_means_plus_plus(
    Y: Array,
    weights: Array,
    k: int,
    discrepancy: Discrepancy,
    rngs: list[np.random.Generator],
    on_pass: OnPass | None = None,
) -> list[Array]:
    """Greedy k-means++ for each generator: each centroid is the best of a few rows drawn with probability ~ w e^2.

    All restarts advance together, so that each step is one product. Once every row coincides with a centroid, the
    remaining centroids are copies of the first.
    """
    # As many as scikit-learn tries.
    n_candidates = 2 + int(np.log(k))
    squared = discrepancy.squared_to(Y)
    chosen = np.zeros((len(rngs), k), dtype=np.int64)
    chosen[:, 0] = [rng.choice(len(Y), p=weights / weights.sum()) for rng in rngs]
    nearest = squared(Y[chosen[:, 0]]).T
    for step in range(1, k):
        mass = np.cumsum(weights * nearest, axis=1)
        candidates = np.array([_draw(m, n_candidates, rng) for m, rng in zip(mass, rngs, strict=True)])
        reached = squared(Y[candidates.ravel()]).T.reshape(*candidates.shape, len(Y))
        np.minimum(reached, nearest[:, None], out=reached)
        best = (reached @ weights).argmin(axis=1)
        every = np.arange(len(rngs))
        chosen[:, step] = np.where(mass[:, -1] > 0, candidates[every, best], chosen[:, 0])
        nearest = reached[every, best]
        if on_pass is not None:
            on_pass()
    return list(Y[chosen].astype(np.float64))


def _draw(mass: Array, size: int, rng: np.random.Generator) -> Array:
    """Rows drawn with probability proportional to the increments of the cumulative sum ``mass``."""
    rows = np.searchsorted(mass, rng.random(size) * mass[-1], side="right")
    # The product can round up to mass[-1], which would be one past the last row.
    return np.minimum(rows, len(mass) - 1)


def _filled(centroids: Array, k: int) -> Array:
    """Surplus clusters get copies of the first centroid; ties go to the lowest number, so they stay empty."""
    return np.concatenate([centroids, np.repeat(centroids[:1], k - len(centroids), axis=0)])


@dataclass(frozen=True)
class SumByLabel:
    """Sums of a chunk's embedded rows by given labels."""

    n_clusters: int

    def __call__(self, chunk: Chunk) -> PartialSums:
        from apnc.loops.nearest import accumulate

        Y, labels = chunk.rows
        sums, counts = np.zeros((self.n_clusters, Y.shape[1])), np.zeros(self.n_clusters)
        accumulate(Y, chunk.weights, labels, sums, counts)
        return PartialSums(sums, counts, 0.0, 0.0)


def centroids_of_partition(labelled: Chunks, k: int) -> Array:
    """Means of a start partition from chunks whose rows are (Y, labels); empty clusters get the overall mean."""
    partial = labelled.reduce(SumByLabel(k), PartialSums.__add__)
    overall = partial.sums.sum(axis=0) / partial.counts.sum()
    # The tiny divisor only avoids a warning: np.where discards the means of empty clusters.
    return np.where(
        partial.counts[:, None] > 0, partial.sums / np.maximum(partial.counts, 1e-300)[:, None], overall
    )
