"""Landmarks of a neighbour graph: means of rows, as many as leave the graph in few pieces."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.sparse.csgraph import connected_components

from apnc.embeddings.neighbours.links import Graph, Neighbours, SumGraph
from apnc.embeddings.neighbours.search import Search, subspace_for
from apnc.engines.contract import Chunk, Chunks, SingleChunk
from apnc.sampling import Sample
from apnc.typing import Array

Spread = Callable[[Array, Array], Chunks]

#: Sampled rows for each landmark, and Lloyd's iterations on them.
ROWS_EACH, ITERATIONS = 10, 5
#: Landmarks that a row is linked to at first and at most, if their number is "auto".
NEAREST, MOST_NEAREST = 3, 12
#: Landmarks of a mean cluster for each link of a row, at least, in a coarser graph.
LANDMARKS_A_LINK = 4
#: Landmarks that are not halved any further.
LEAST = 50
#: A piece of the graph with less than this share of the mean mass of a cluster is no cluster.
DUST = 0.05


def chosen(
    pool: Sample,
    l: int,  # noqa: E741
    n_nearest: int | str,
    n_clusters: int,
    fixed: bool,
    spread: Spread,
) -> Neighbours:
    """Landmarks from a sample of vectors, and how many of them a row is linked to.

    A graph in more pieces than clusters is coarsened, half the landmarks and twice the links, as long as that joins
    pieces; pieces that it does not join are groups of their own. ``fixed``: exactly l, as the user asked.
    """
    auto = n_nearest == "auto"
    r, search, best, fewest = NEAREST if auto else int(n_nearest), None, None, len(pool) + 1
    while True:
        sample = pool.first(ROWS_EACH * l)
        if search is None or not fixed:
            search = trained(sample, l, r, spread)
        indices, squared = Nearest(search, min(r, l)).of(sample, spread)
        found = Neighbours.learned(search, indices, squared, sample.weights)
        if (fixed and not auto) or not n_clusters:
            return found
        rows = SingleChunk.of(found.rows(indices, squared), sample.weights)
        n_pieces = len(pieces_of(rows.reduce(SumGraph(l), Graph.__add__), n_clusters)[1])
        if best is not None and n_pieces >= fewest:
            return best
        links = 2 * r if auto and r < MOST_NEAREST else r
        # Links can stay within a cluster only if it has far more landmarks than a row has links.
        enough = max(LEAST, LANDMARKS_A_LINK * n_clusters * links)
        half = l if fixed or l // 2 < enough else l // 2
        if n_pieces <= n_clusters or (half, links) == (l, r) or half < enough:
            return found
        best, fewest, l, r = found, n_pieces, half, links  # noqa: E741


def trained(sample: Sample, l: int, n_nearest: int, spread: Spread) -> Search:  # noqa: E741
    """l landmarks by Lloyd's iterations from the first l rows."""
    landmarks = np.ascontiguousarray(sample.rows[:l])
    basis = subspace_for(sample.rows, landmarks, min(n_nearest, l))
    for _ in range(ITERATIONS):
        landmarks = moved(landmarks, basis, sample, spread)
    return Search(landmarks, basis)


def moved(landmarks: Array, basis: Array | None, sample: Sample, spread: Spread) -> Array:
    """One of Lloyd's iterations: means of the rows that are nearest to each landmark; one without rows stays."""
    from apnc.loops.nearest import accumulate

    nearest = spread(sample.rows, sample.weights).map(NearestLandmark(Search(landmarks, basis)))
    # Labels are collected rather than sums, which would be large for every chunk.
    labels = np.concatenate([chunk.rows for chunk in nearest])
    sums, counts = np.zeros(landmarks.shape), np.zeros(len(landmarks))
    accumulate(sample.rows, sample.weights, labels, sums, counts)
    filled, means = counts > 0, landmarks.copy()
    means[filled] = sums[filled] / counts[filled, None]
    return means


@dataclass(frozen=True)
class NearestLandmark:
    """Algorithm 2, map, for many centroids: vectors to the number of the nearest landmark."""

    search: Search

    def __call__(self, chunk: Chunk) -> Chunk:
        return chunk.with_rows(self.search.assign(chunk.rows))


@dataclass(frozen=True)
class Nearest:
    """Map: vectors to their nearest landmarks and squared distances."""

    search: Search
    r: int

    def __call__(self, chunk: Chunk) -> Chunk:
        return chunk.with_rows(self.search.nearest(chunk.rows, self.r))

    def of(self, sample: Sample, spread: Spread) -> tuple[Array, Array]:
        """Those of a whole sample, spread over the cores."""
        found = [chunk.rows for chunk in spread(sample.rows, sample.weights).map(self)]
        return np.concatenate([one for one, _ in found]), np.concatenate([two for _, two in found])


def pieces_of(graph: Graph, n_clusters: int) -> tuple[Array, Array]:
    """The piece (connected component) of each landmark, and the pieces that are more than dust, heaviest first."""
    _, piece = connected_components(graph.links, directed=False)
    mass = np.bincount(piece, graph.mass)
    order = np.argsort(-mass, kind="stable")
    return piece, order[mass[order] >= DUST * mass.max() / max(1, n_clusters)]
