"""2-Stage: exact kernel k-means on a sample, whose centroids label all rows."""

from dataclasses import replace
from typing import Any, Self

from apnc import checks
from apnc.baselines.approx import SampledKernelKMeans
from apnc.baselines.exact import exact_space
from apnc.baselines.kernel_space import Problem, best_run, pose
from apnc.baselines.posing import INITS, warn_of
from apnc.pipeline.state import choose_landmarks
from apnc.rows import GivenRows, n_rows

#: Maximum size of a sample's kernel matrix to be kept in memory.
MEMORY_BYTES = 1 << 30


class TwoStageKernelKMeans(SampledKernelKMeans):
    """2-Stage: exact kernel k-means on l sampled rows; all others are assigned to the nearest of its centroids.

    Parameters
    ----------
    n_clusters : int, default=8
    kernel, gamma, coef0, degree, kernel_params, normalize_kernel
        As in ``KernelKMeans``; the same ``random_state`` tunes the same gamma. "auto" is None.
    n_landmarks : int or "auto", default="auto"
        l. The samples are the landmarks of ``KernelKMeans`` with the same ``random_state``.
    init : {"random", "random-partition"}, default="random"
        How the clustering of the sample starts; "random": from k of its rows, drawn by weight.
    n_init : int, default=1
        Number of starts; the one with the lowest inertia is kept.
    max_iter : int, default=300
        Iterations on the sample.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : array of shape (n,), int32.
    inertia_ : weighted sum of squared distances to the nearest centroid, over the sample.
    n_iter_ : iterations of the best start.
    gamma_ : gamma as used, None if the kernel has none.
    landmarks_ : the l samples (``landmark_indices_`` for precomputed kernels).
    n_landmarks_ : l as used.

    """

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Cluster a sample of X and label all of X; parameters as in ``ExactKernelKMeans.fit``."""
        if not isinstance(self.init, str):
            raise ValueError(
                f"init must be one of {', '.join(INITS)}: start labels would be those of a sample not yet drawn."
            )
        rows = checks.read_rows(self, X, reset=True)
        weights = checks.check_weights(sample_weight, n_rows(rows))
        sampled = first_stage(self._pose(rows, weights))
        with exact_space(sampled, MEMORY_BYTES) as space:
            best = best_run(space, sampled)
        warn_of(best.converged, best.last.labels, sampled.settings)
        self._store(sampled, space, best)
        self.n_landmarks_ = len(sampled.weights)
        if isinstance(sampled.rows, GivenRows):
            self.landmark_indices_ = sampled.rows.numbers
        else:
            self.landmarks_ = sampled.rows
        self.labels_ = self._labels(rows)
        return self


def first_stage(problem: Problem) -> Problem:
    """The problem restricted to the sample, with the kernel tuned on all rows."""
    k, asked = problem.settings.n_clusters, problem.settings.n_landmarks
    if asked != "auto" and int(asked) < k:
        raise ValueError(
            f"n_landmarks={asked} must be at least n_clusters={k}: only the sample is clustered."
        )
    sample = choose_landmarks(problem.drawn, problem.settings)
    return replace(pose(sample.rows, sample.weights, problem.settings), kernel=problem.kernel)
