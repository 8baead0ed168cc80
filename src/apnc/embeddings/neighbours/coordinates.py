"""Coordinates of the landmarks: eigenvectors of the graph, weighted by commute times.

The graph's pieces (connected components) are solved one by one, and placed relative to each other by their distances,
so that no eigenvalue is repeated. See docs/decisions/21-neighbour-graph.md.
"""

from dataclasses import dataclass

import numpy as np
from scipy import linalg, sparse
from scipy.sparse.linalg import ArpackNoConvergence, LinearOperator, eigsh, splu
from scipy.spatial.distance import pdist

from apnc.embeddings.neighbours.landmarks import pieces_of
from apnc.embeddings.neighbours.links import Graph
from apnc.embeddings.neighbours.search import Search
from apnc.engines.blas import one_thread
from apnc.typing import Array

#: Added to 1 - mu, the squared inverse weight of a coordinate.
EPSILON = 1e-6
#: Up to this many landmarks a dense solver is as fast as an iterative one.
FEW = 1000
#: Vectors and restarts of the Lanczos method; if they do not suffice, the graph is factorised instead.
VECTORS, RESTARTS = 80, 15
#: Least distance between two pieces, whose rows have norm 1 within; and how much farther than the nearest pieces, at
#: most, others are taken to be.
APART, FARTHEST = 8.0, 10.0
#: More pieces than this are dust.
MOST_PIECES = 500


@dataclass(frozen=True)
class Coordinates:
    """Where the landmarks are in the embedding.

    Attributes
    ----------
    places : array of shape (l, m), F; the first columns, ``n_between``, place the pieces relative to each other.
    eigenvalues : array of shape (m,), mu of each coordinate, largest first; 1 between pieces.
    n_between : number of coordinates between pieces.
    n_pieces : number of connected components, dust included.

    """

    places: Array
    eigenvalues: Array
    n_between: int
    n_pieces: int


def coordinates_of(graph: Graph, search: Search, m: int, n_clusters: int) -> Coordinates:
    """F = Lambda^-1/2 V diag(1 / sqrt(1 - mu + eps)), from the m largest mu of Lambda^-1/2 G Lambda^-1/2.

    The trivial eigenvector of each piece is left out; instead, pieces have coordinates of their own. Landmarks in dust
    are where the nearest other landmark is.
    """
    piece, kept = pieces_of(graph, n_clusters)
    kept = kept[:MOST_PIECES]
    members = [np.flatnonzero(piece == number) for number in kept]
    with one_thread():
        between = between_pieces(members, search)[:m]
        left = m - len(between)
        within = [part for rows in members for part in within_piece(graph.links, rows, left)]
        parts = between + sorted(within, key=lambda part: -part[0])[:left]
    # A single landmark has no coordinate but its own place.
    parts = parts or [(0.0, np.arange(len(piece)), np.zeros(len(piece)))]
    places = np.zeros((len(piece), len(parts)))
    for column, (_, rows, values) in enumerate(parts):
        places[rows, column] = values
    dust = np.flatnonzero(~np.isin(piece, kept))
    if len(dust):
        there = np.concatenate(members)
        others = Search(search.landmarks[there], search.basis)
        places[dust] = places[there[others.nearest(search.landmarks[dust], 1)[0][:, 0]]]
    eigenvalues = np.array([mu for mu, *_ in parts])
    return Coordinates(places, eigenvalues, len(between), int(piece.max()) + 1)


Part = tuple[float, Array, Array]


def within_piece(links: sparse.csr_array, rows: Array, m: int) -> list[Part]:
    """Up to m coordinates of a piece: eigenvalue, landmarks, values."""
    m = min(m, len(rows) - 1)
    if m < 1:
        return []
    inside = links[rows][:, rows]
    degrees = np.asarray(inside.sum(axis=1)).ravel()
    roots = 1 / np.sqrt(degrees)
    scaled = (sparse.diags_array(roots) @ inside @ sparse.diags_array(roots)).tocsr()
    values, vectors = leading(scaled, np.sqrt(degrees / degrees.sum()), m)
    weighted = roots[:, None] * vectors / np.sqrt(np.maximum(1 - values, 0) + EPSILON)
    return [(float(mu), rows, column) for mu, column in zip(values, signed(weighted).T, strict=True)]


def leading(A: sparse.csr_array, trivial: Array, m: int) -> tuple[Array, Array]:
    """The m largest eigenvalues of A other than that of its ``trivial`` eigenvector, and their vectors."""
    l = A.shape[0]  # noqa: E741
    if l <= FEW or m > l // 4:
        values, vectors = linalg.eigh(
            A.toarray() - np.outer(trivial, trivial), subset_by_index=(l - m, l - 1)
        )
        return values[::-1], vectors[:, ::-1]
    start, size = np.random.default_rng(0).uniform(0.5, 1.5, l), max(VECTORS, 3 * m)
    deflated = LinearOperator((l, l), lambda v: A @ v - trivial * (trivial @ v), dtype=np.float64)
    try:
        values, vectors = eigsh(deflated, m, which="LA", v0=start, ncv=size, maxiter=RESTARTS)
    except ArpackNoConvergence:
        values, vectors = by_inverse(A, trivial, m, start)
    order = np.argsort(-values)
    return values[order], vectors[:, order]


def by_inverse(A: sparse.csr_array, trivial: Array, m: int, start: Array) -> tuple[Array, Array]:
    """The same for eigenvalues too close to 1 for the Lanczos method, by factorising (1 + eps) I - A."""
    l, shift = A.shape[0], 1 + EPSILON / 10  # noqa: E741
    options = {"SymmetricMode": True}
    factors = splu((shift * sparse.eye_array(l) - A).tocsc(), "MMD_AT_PLUS_A", 0.0, options=options)

    def solve(v: Array) -> Array:
        x = factors.solve(v - trivial * (trivial @ v))
        return x - trivial * (trivial @ x)

    inverses, vectors = eigsh(LinearOperator((l, l), solve, dtype=np.float64), m, which="LA", v0=start)
    return shift - 1 / inverses, vectors


def between_pieces(members: list[Array], search: Search) -> list[Part]:
    """Coordinates of the pieces themselves, at least ``APART`` from each other: resistances between them.

    The conductance between two pieces is the inverse squared distance between their nearest landmarks, so that pieces
    close to each other are the first to share a cluster if there are fewer clusters than pieces.
    """
    if len(members) == 1:
        return []
    links = 1 / squared_gaps(members, search)
    np.fill_diagonal(links, 0.0)
    values, vectors = linalg.eigh(np.diag(links.sum(axis=1)) - links)
    # The first eigenvector is trivial.
    placed = signed(vectors[:, 1:] / np.sqrt(values[1:]))
    placed *= APART / pdist(placed).min()
    rows, sizes = np.concatenate(members), [len(part) for part in members]
    return [(1.0, rows, np.repeat(column, sizes)) for column in placed.T]


def squared_gaps(members: list[Array], search: Search) -> Array:
    """Squared distances between the nearest landmarks of each two pieces, within a range, shape (c, c)."""
    starts = np.cumsum([0, *map(len, members[:-1])])
    ordered = search.landmarks[np.concatenate(members)].astype(np.float64)
    ordered -= ordered.mean(axis=0)
    squares = np.einsum("ij,ij->i", ordered, ordered)
    gaps = []
    for start, rows in zip(starts, members, strict=True):
        some = slice(start, start + len(rows))
        squared = squares - 2 * ordered[some] @ ordered.T + squares[some, None]
        gaps.append(np.minimum.reduceat(squared.min(axis=0), starts))
    np.fill_diagonal(found := np.array(gaps), np.max(gaps))
    least = np.maximum(found.min(), FARTHEST**-2 * np.median(found))
    if least <= 0:
        # Pieces in one place, as on two sides of a cosine's only direction: the farthest tell what is far, if any.
        least = FARTHEST**-2 * found.max() if found.max() > 0 else 1.0
    # Within a range, so that the coordinates of far pieces do not drown those inside the pieces.
    return np.clip(np.minimum(found, found.T), least, FARTHEST**2 * least)


def signed(columns: Array) -> Array:
    """Columns whose largest entry is positive: eigenvectors have arbitrary signs."""
    largest = columns[np.abs(columns).argmax(axis=0), np.arange(columns.shape[1])]
    return columns * np.where(largest < 0, -1.0, 1.0)
