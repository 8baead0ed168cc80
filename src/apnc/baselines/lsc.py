"""LSC: spectral clustering of sparse codes over landmarks (Chen and Cai 2011; Cai and Chen 2015)."""

from typing import Any

from sklearn.preprocessing import normalize

from apnc.baselines.kernel_space import Problem
from apnc.baselines.landmark_graph import (
    LandmarkGraphClusterer,
    cross_affinity,
    landmarks_by_kmeans,
    nearest_landmarks,
)
from apnc.baselines.spectral import bipartite_vectors
from apnc.typing import Array

#: Iterations of the k-means that finds the landmarks, as in the authors' code.
LANDMARK_ITERATIONS = 5


class LandmarkSpectralClustering(LandmarkGraphClusterer):
    """LSC-K: k-means on singular vectors of sparse codes of the rows over landmarks.

    D. Cai and X. Chen, "Large scale spectral clustering via landmark-based sparse representation", IEEE Transactions
    on Cybernetics 45(8), 2015. The landmarks are centroids of k-means on all rows, five iterations from random rows.
    The code of a row is exp(-d^2 / (2 sigma^2)) for its nearest landmarks and zero for all others, scaled to sum 1: Z,
    shape (n, p). Clustered are the rows of the k left singular vectors of Z D^(-1/2) that follow the constant one,
    scaled to norm 1; D holds the column sums of Z. Rows that were not part of the fit cannot be labelled.

    sigma is the mean distance of rows to their nearest landmarks. The authors' code takes the mean of squared distances
    to all landmarks, by which codes depend on the unit of the features.

    Parameters
    ----------
    n_clusters : int, default=8
    n_landmarks : int, default=1000
        p; fewer if there are not as many distinct rows. It should be much smaller than n: a graph with a landmark for
        every few rows falls into pieces.
    n_nearest : int, default=5
        Landmarks that a row is connected with, the authors' r.
    init : {"random", "random-partition"} or array of n start labels, default="random"
        Start of k-means on the singular vectors. "random" starts from k rows, the same as in the other methods with
        this ``random_state``.
    n_init : int, default=10
        Number of starts, as in the authors' code; the one with the lowest inertia is kept. Start labels need 1.
    max_iter : int, default=300
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    labels_ : array of shape (n,), int32.
    landmarks_ : array of shape (p, d).
    n_landmarks_ : p as used.
    inertia_ : sum of squared distances to the nearest centroid, among the singular vectors.
    n_iter_ : iterations of the best start.

    """

    def _vectors(self, problem: Problem, rows: Any, n_landmarks: int, t: int) -> tuple[Array, Array]:
        landmarks = landmarks_by_kmeans(rows, problem.drawn.samples["landmarks"].rows, LANDMARK_ITERATIONS)
        B = cross_affinity(*nearest_landmarks(rows, landmarks, t), len(landmarks))
        Z = normalize(B, norm="l1", copy=False)
        return landmarks, bipartite_vectors(Z, problem.settings.n_clusters, trivial=False)
