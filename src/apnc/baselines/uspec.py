"""U-SPEC: spectral clustering by a transfer cut between rows and landmarks (Huang et al. 2020)."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import euclidean_distances

from apnc.baselines.kernel_space import Problem
from apnc.baselines.landmark_graph import (
    LandmarkGraphClusterer,
    cross_affinity,
    few_iterations,
    landmarks_by_kmeans,
    nearest_landmarks,
)
from apnc.baselines.spectral import bipartite_vectors
from apnc.engines.blas import one_thread
from apnc.engines.local import CHUNK_BYTES, n_threads, split
from apnc.rows import numbers_held, take
from apnc.settings import derive
from apnc.typing import Array

#: Iterations of k-means for the landmarks and for coarse clusters of them, as in the authors' code.
LANDMARK_ITERATIONS, COARSE_ITERATIONS = 10, 20
#: Rows sampled for each landmark, and candidates for each neighbour.
SAMPLED, CANDIDATES = 10, 10


class UltraScalableSpectralClustering(LandmarkGraphClusterer):
    """U-SPEC: k-means on eigenvectors of the bipartite graph of rows and their nearest landmarks.

    D. Huang, C.-D. Wang, J.-S. Wu, J.-H. Lai and C.-K. Kwoh, "Ultra-scalable spectral clustering and ensemble
    clustering", IEEE Transactions on Knowledge and Data Engineering 32(6), 2020. The p landmarks (the authors'
    representatives) are centroids of k-means on 10 p sampled rows. The K nearest of a row are approximate: they are
    searched among the 10 K neighbours of one landmark, which is the nearest in the nearest of sqrt(p) clusters of
    landmarks. Similarities are exp(-d^2 / (2 sigma^2)), sigma the mean of these distances. The eigenproblem is solved
    on the landmarks and transferred to the rows, so that memory is proportional to n (K + k). Rows that were not part
    of the fit cannot be labelled.

    As in the authors' code, the constant eigenvector is kept and rows of the k eigenvectors are scaled to norm 1 before
    k-means; the factor 1 / (1 - gamma) of each eigenvector, which their code omits, is that of the publication. The
    sampled rows are distinct, each counted as often as it occurs.

    Parameters
    ----------
    n_clusters : int, default=8
    n_landmarks : int, default=1000
        p; fewer if there are not as many distinct rows. It should be much smaller than n: a graph with a landmark for
        every few rows falls into pieces.
    n_nearest : int, default=5
        Landmarks that a row is connected with, the authors' K.
    init : {"random", "random-partition"} or array of n start labels, default="random"
        Start of k-means on the eigenvectors. "random" starts from k rows, the same as in the other methods with this
        ``random_state``.
    n_init : int, default=10
        Number of starts (the authors use 3); the one with the lowest inertia is kept. Start labels need 1.
    max_iter : int, default=300
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : array of shape (n,), int32.
    landmarks_ : array of shape (p, d).
    n_landmarks_ : p as used.
    inertia_ : sum of squared distances to the nearest centroid, among the eigenvectors.
    n_iter_ : iterations of the best start.

    """

    _sampled_per_landmark = SAMPLED

    def _vectors(self, problem: Problem, rows: Any, n_landmarks: int, t: int) -> tuple[Array, Array]:
        settings, sample = problem.settings, problem.drawn.samples["landmarks"]
        start = sample.first(n_landmarks).rows
        landmarks = landmarks_by_kmeans(sample.rows, start, LANDMARK_ITERATIONS, sample.weights)
        found = approximate_nearest(rows, landmarks, t, derive(settings.seed, "coarse"))
        B = cross_affinity(*found, len(landmarks))
        return landmarks, bipartite_vectors(B, settings.n_clusters)


def approximate_nearest(rows: Any, landmarks: Array, t: int, seed: int) -> tuple[Array, Array]:
    """Distances to the t approximately nearest landmarks and their numbers, shape (n, t) each."""
    t = min(t, len(landmarks))
    centroids, members = coarse_clusters(landmarks, seed)
    coarse = nearest_landmarks(rows, centroids, 1)[1][:, 0]
    nearest = nearest_in_groups(rows, landmarks, coarse, members, 1)[1][:, 0]
    around = nearest_landmarks(landmarks, landmarks, CANDIDATES * t + 1)[1]
    return nearest_in_groups(rows, landmarks, nearest, list(around), t)


def coarse_clusters(landmarks: Array, seed: int) -> tuple[Array, list[Array]]:
    """Centroids of about sqrt(p) clusters of landmarks, and the numbers of the landmarks in each."""
    p = len(landmarks)
    first = np.random.default_rng(seed).choice(p, int(np.sqrt(p)), replace=False)
    km = few_iterations(landmarks, landmarks[first], COARSE_ITERATIONS)
    filled = np.unique(km.labels_)
    return km.cluster_centers_[filled], [np.flatnonzero(km.labels_ == cluster) for cluster in filled]


def nearest_in_groups(
    rows: Any, landmarks: Array, groups: Array, candidates: list[Array], t: int
) -> tuple[Array, Array]:
    """Distances to the t nearest of the landmarks that are candidates of each row's group, and their numbers.

    Parameters
    ----------
    rows : array or CSR matrix of shape (n, d).
    landmarks : array of shape (p, d).
    groups : array of shape (n,), the group of each row.
    candidates : for each group, the numbers of at least t landmarks.
    t : int

    """
    distances, numbers = np.empty((len(groups), t)), np.empty((len(groups), t), dtype=np.int32)

    def search(part: tuple[int, Array]) -> None:
        group, which = part
        squared = euclidean_distances(take(rows, which), landmarks[candidates[group]], squared=True)
        near = squared.argpartition(t - 1, axis=1)[:, :t]
        distances[which] = np.sqrt(np.take_along_axis(squared, near, axis=1))
        numbers[which] = candidates[group][near]

    work_bytes = 8 * (numbers_held(rows) + max(map(len, candidates)))
    with one_thread(), ThreadPoolExecutor(n_threads(None)) as pool:
        list(pool.map(search, parts_of(groups, CHUNK_BYTES // work_bytes)))
    return distances, numbers


def parts_of(groups: Array, most: int) -> Iterator[tuple[int, Array]]:
    """Every group with the numbers of its rows, at most ``most`` at a time."""
    order = np.argsort(groups, kind="stable")
    found, starts = np.unique(groups[order], return_index=True)
    for group, which in zip(found.tolist(), np.split(order, starts[1:]), strict=True):
        for start, stop in split(len(which), most):
            yield group, which[start:stop]
