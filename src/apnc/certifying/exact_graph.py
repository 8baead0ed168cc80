"""Numbers for a neighbour graph: spectral clustering of the graph of all rows of a sample."""

import numpy as np
from scipy import sparse
from scipy.sparse import linalg

from apnc.clustering.lloyd import assign_all, lloyd
from apnc.clustering.seeding import seed_centroids
from apnc.discrepancy import Euclidean
from apnc.engines.contract import SingleChunk
from apnc.typing import Array

#: Neighbours of a row in the exact graph; starts of k-means on its eigenvectors.
NEIGHBOURS, STARTS = 10, 20
#: Added to the Laplacian, so that it can be inverted.
SHIFT = 1e-3


def exact_labels(K: Array, weights: Array, k: int, seed: int) -> Array:
    """Normalised spectral clustering of the nearest-neighbour graph in d^2 = k(x, x) + k(y, y) - 2 k(x, y)."""
    Y = eigenvectors(neighbour_graph(K, min(NEIGHBOURS, len(K) - 1)), min(k, len(K) - 1), seed)
    chunks, e = SingleChunk.of(Y, weights), Euclidean()
    start = seed_centroids(Y, weights, k, e, "k-means++", STARTS, seed)
    found = lloyd(chunks, start, e, 300, 1e-6)
    return assign_all(chunks, found.centroids, e).labels.astype(np.intp)


def neighbour_graph(K: Array, n_neighbours: int) -> sparse.csr_array:
    """Links of weight 1 to the nearest rows, 1/2 where only one of both is the other's neighbour."""
    n, own = len(K), K.diagonal()
    nearest = np.empty((n, n_neighbours), np.intp)
    for i in range(n):
        # k(x, x) is the same for all others.
        d = own - 2 * K[i]
        d[i] = np.inf
        nearest[i] = np.argpartition(d, n_neighbours - 1)[:n_neighbours]
    links = sparse.csr_array(
        (np.ones(nearest.size), nearest.ravel(), np.arange(n + 1) * n_neighbours), shape=(n, n)
    )
    return (links + links.T) / 2


def eigenvectors(graph: sparse.csr_array, k: int, seed: int) -> Array:
    """The k smoothest eigenvectors of the normalised Laplacian, rows scaled to norm 1, float32."""
    root = sparse.diags_array(1 / np.sqrt(graph.sum(axis=1)))
    laplacian = sparse.eye_array(graph.shape[0]) - root @ graph @ root
    first = np.random.default_rng(seed).uniform(0.5, 1.5, graph.shape[0])
    vectors = linalg.eigsh(laplacian.tocsc(), k, sigma=-SHIFT, v0=first)[1]
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.ascontiguousarray(vectors / np.where(norms > 0, norms, 1), dtype=np.float32)
