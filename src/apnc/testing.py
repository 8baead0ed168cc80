"""Checks for extensions of apnc."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import block_diag
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist

from apnc.embeddings import Coefficients, Embedding
from apnc.embeddings.family import embed
from apnc.embeddings.neighbours.block import NeighbourBlock, Place
from apnc.embeddings.neighbours.links import SumGraph
from apnc.engines.contract import Chunk, SingleChunk
from apnc.kernels import Kernel, VectorKernel
from apnc.rows import concatenate
from apnc.typing import Array

_N_ROWS, _N_FEATURES, _N_LANDMARKS, _N_COMPONENTS = 300, 6, 120, 400


def check_embedding(embedding: Embedding, seed: int = 0) -> None:
    """Verify the paper's four properties of an embedding numerically.

    Parameters
    ----------
    embedding : an instance of a subclass of ``apnc.Embedding``.
    seed : for the generated data and the embedding's random choices.

    Raises
    ------
    AssertionError
        If a property does not hold; the message names it and gives the numbers.
    """
    X = _generated(seed)
    check_property_1_linear(embedding, X, seed)
    check_property_2_kernelized(embedding, X, seed)
    check_property_3_blocks(embedding, X, seed)
    check_property_4_discrepancy(embedding, X, seed)


@dataclass(frozen=True)
class Property:
    """One of the paper's properties of an embedding: whether it holds, in which space, and what that means."""

    number: int
    name: str
    holds: bool
    space: str
    note: str


def properties_of(embedding: Embedding, seed: int = 0) -> tuple[Property, ...]:
    """The properties that ``check_embedding`` verifies, each with whether it holds, in the kernel's space.

    For a neighbour graph they are those of distances, and two more are about the space of the graph's rows z(x).
    """
    X = _generated(seed)
    return tuple(
        Property(number, name, not (wrong := _failure(check, embedding, X, seed)), space, wrong or note)
        for number, name, space, note, check in (_OF_GRAPH if embedding.compares_rows else _OF_KERNEL)
    )


def _failure(check: "Check", embedding: Embedding, X: Array, seed: int) -> str:
    """What a check finds wrong; empty if nothing."""
    try:
        check(embedding, X, seed)
    except AssertionError as error:
        return str(error).partition("does not hold: ")[2] or str(error)
    return ""


def _generated(seed: int) -> Array:
    rng = np.random.default_rng(seed)
    rows: Array = rng.normal(size=(_N_ROWS, _N_FEATURES)) + 3 * rng.integers(0, 2, size=(_N_ROWS, 1))
    return rows


def fit_on(embedding: Embedding, X: Array, kernel: Kernel, seed: int) -> Coefficients:
    """Coefficients with the first rows of X as landmarks."""
    return embedding.coefficients(X[:_N_LANDMARKS], kernel, _N_COMPONENTS, np.random.default_rng(seed))


def embedded(X: Array, kernel: Kernel, coefficients: Coefficients) -> Array:
    """Y by Algorithm 1, float64."""
    chunks = SingleChunk.of(X, np.ones(len(X)))
    return next(iter(embed(chunks, kernel, coefficients, np.float64, np.float64))).rows


def check_property_1_linear(embedding: Embedding, X: Array, seed: int) -> None:
    """f(a phi + b psi) = a f(phi) + b f(psi), where the linear kernel makes phi = x."""
    kernel = VectorKernel("linear")
    coefficients = fit_on(embedding, X, kernel, seed)
    a, b = 0.3, -1.7
    mixed = embedded(a * X[:50] + b * X[50:100], kernel, coefficients)
    parts = embedded(X[:100], kernel, coefficients)
    _require_close(1, "linear", mixed, a * parts[:50] + b * parts[50:])


def check_property_2_kernelized(embedding: Embedding, X: Array, seed: int) -> None:
    """Y depends only on the kernel: coordinates with the same kernel have the same distances."""
    kernel = VectorKernel("rbf", gamma=0.05)
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(_N_FEATURES, _N_FEATURES)))[0]
    distances = []
    for rows in (X, X @ rotation + 5.0):
        coefficients = fit_on(embedding, rows, kernel, seed)
        Y = embedded(rows, kernel, coefficients)
        distances.append(coefficients.beta * coefficients.discrepancy.distances(Y[:100], Y[100:200]))
    _require_close(2, "kernelized", distances[0], distances[1], tolerance=1e-4)
    R, K = _dense_coefficients(coefficients), kernel(rows, _all_landmarks(coefficients))
    _require_close(2, "kernelized", Y, K @ R.T)


def check_property_3_blocks(embedding: Embedding, X: Array, seed: int) -> None:
    """R is block-diagonal over disjoint subsets of the landmarks."""
    kernel = VectorKernel("rbf", gamma=0.05)
    coefficients = fit_on(embedding, X, kernel, seed)
    _require(3, "block-diagonal", len(coefficients.blocks) >= 1, "there are no blocks")
    used = _all_landmarks(coefficients)
    _require(
        3, "block-diagonal", len(np.unique(used, axis=0)) == len(used), "a landmark is in more than one block"
    )
    known = {row.tobytes() for row in X[:_N_LANDMARKS]}
    _require(3, "block-diagonal", all(row.tobytes() in known for row in used), "a landmark is not one of L")
    for block in coefficients.blocks:
        fits = block.weights.ndim == 2 and block.weights.shape[1] == len(block.landmarks)
        _require(
            3, "block-diagonal", fits, f"weights of shape {block.weights.shape} do not fit the landmarks"
        )
    portions = [kernel(X, block.landmarks) @ block.weights.T for block in coefficients.blocks]
    _require_close(3, "block-diagonal", embedded(X, kernel, coefficients), np.concatenate(portions, axis=1))


def check_property_4_discrepancy(embedding: Embedding, X: Array, seed: int) -> None:
    """beta e(y, y-bar) approximates the kernel distance of Eq. 2 between rows and centroids."""
    kernel = VectorKernel("rbf", gamma=0.02)
    coefficients = fit_on(embedding, X, kernel, seed)
    Y = embedded(X, kernel, coefficients)
    labels = np.random.default_rng(seed).integers(0, 5, size=len(X))
    members = (labels == np.arange(5)[:, None]) / np.bincount(labels, minlength=5)[:, None]
    approximate = coefficients.beta * coefficients.discrepancy.distances(Y, members @ Y)
    K = kernel(X, X)
    squared = 1.0 - 2 * K @ members.T + np.einsum("ci,ij,cj->c", members, K, members)
    ratio = approximate / np.sqrt(squared)
    _require(
        4,
        "discrepancy",
        bool(abs(np.median(ratio) - 1) < 0.1 and np.std(ratio) < 0.25),
        f"beta * e over the kernel distance has median {np.median(ratio):.3f} and spread "
        f"{np.std(ratio):.3f}, expected about 1 and below 0.25",
    )


def check_graph_2_distances(embedding: Embedding, X: Array, seed: int) -> None:
    """Rows enter only through distances: rotated and shifted rows have the same embedding."""
    rotation = np.linalg.qr(np.random.default_rng(seed).normal(size=(_N_FEATURES, _N_FEATURES)))[0]
    found = []
    for rows in (X, X @ rotation + 5.0):
        coefficients, _ = _graph_of(embedding, rows, seed)
        Y = embedded(rows, VectorKernel("linear"), coefficients)
        found.append(coefficients.discrepancy.distances(Y[:100], Y[100:200]))
    # Similarities are rounded to whole units.
    _require_close(2, "kernelized", found[0], found[1], tolerance=1e-3)


def check_graph_3_blocks(embedding: Embedding, X: Array, seed: int) -> None:
    """Each row is embedded from its nearest landmarks alone."""
    coefficients, block = _graph_of(embedding, X, seed)
    kernel, r = VectorKernel("linear"), block.n_nearest
    Z, F = block.neighbours(X), block.weights.T
    expected = np.einsum("ij,ijc->ic", Z[:, r:], F[Z[:, :r]])
    split = block.n_between
    expected[:, :split] /= Z[:, r:].sum(axis=1, keepdims=True)
    expected[:, split:] /= np.linalg.norm(expected[:, split:], axis=1, keepdims=True)
    _require_close(3, "block-diagonal", embedded(X, kernel, coefficients), expected)


def check_graph_1_linear(embedding: Embedding, X: Array, seed: int) -> None:
    """Before it is scaled to norm 1, the embedding of 2 z(x) + 3 z(x') is 2 y + 3 y'."""
    _, block = _graph_of(embedding, X, seed)
    r, F = block.n_nearest, np.ascontiguousarray(block.weights[block.n_between :])
    one, two = block.neighbours(X[:50]), block.neighbours(X[50:100])
    y = [np.einsum("ij,ijc->ic", rows[:, r:], F.T[rows[:, :r]]) for rows in (one, two)]
    expected = 2 * y[0] + 3 * y[1]
    mixed = np.column_stack([one[:, :r], two[:, :r], 2 * one[:, r:], 3 * two[:, r:]]).astype(np.int32)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    _require_close(1, "linear", Place(F, 0, np.float64).placed(mixed), expected)


def check_graph_4_discrepancy(embedding: Embedding, X: Array, seed: int) -> None:
    """Distances between landmarks, before scaling, are the roots of commute times in each piece of the graph."""
    _, block = _graph_of(embedding, X, seed)
    rows = block.neighbours(block.vectors)
    links = SumGraph(len(rows))(Chunk(0, rows, np.ones(len(rows)))).links
    piece = connected_components(links, directed=False)[1]
    inside = piece == np.bincount(piece).argmax()
    G, F = links.toarray()[np.ix_(inside, inside)], block.weights[block.n_between :, inside].T
    inverse = np.linalg.pinv(np.diag(G.sum(axis=1)) - G)
    diagonal = np.diag(inverse)
    squared = diagonal[:, None] + diagonal - 2 * inverse
    _require_close(4, "discrepancy", cdist(F, F, "sqeuclidean"), squared, tolerance=1e-2)


def _graph_of(embedding: Embedding, X: Array, seed: int) -> tuple[Coefficients, NeighbourBlock]:
    coefficients = fit_on(embedding, X, VectorKernel("linear"), seed)
    (block,) = coefficients.blocks
    assert isinstance(block, NeighbourBlock), "not the coefficients of a neighbour graph"
    return coefficients, block


Check = Callable[[Embedding, Array, int], None]
#: Number, name, space, what it means, check.
_OF_KERNEL: tuple[tuple[int, str, str, str, Check], ...] = (
    (1, "linear", "kernel", "the mean of embeddings is the embedding of the mean", check_property_1_linear),
    (2, "kernelized", "kernel", "y = R K_L(x)", check_property_2_kernelized),
    (3, "block-diagonal", "kernel", "each block has its own landmarks", check_property_3_blocks),
    (4, "discrepancy", "kernel", "beta e is the distance in kernel space", check_property_4_discrepancy),
)
_OF_GRAPH: tuple[tuple[int, str, str, str, Check], ...] = (
    _OF_KERNEL[0],
    (2, "kernelized", "kernel", "rows enter only through distances", check_graph_2_distances),
    (3, "block-diagonal", "kernel", "a row needs its nearest landmarks alone", check_graph_3_blocks),
    _OF_KERNEL[3],
    (1, "linear", "graph", "y is linear in z(x) before it is scaled to norm 1", check_graph_1_linear),
    (
        4,
        "discrepancy",
        "graph",
        "e is the distance of scaled commute-time coordinates",
        check_graph_4_discrepancy,
    ),
)


def _all_landmarks(coefficients: Coefficients) -> Array:
    return concatenate([block.landmarks for block in coefficients.blocks])


def _dense_coefficients(coefficients: Coefficients) -> Array:
    return block_diag(*(block.weights for block in coefficients.blocks))


def _require(number: int, name: str, holds: bool, found: str) -> None:
    if not holds:
        raise AssertionError(f"Property {number} ({name}) does not hold: {found}.")


def _require_close(number: int, name: str, found: Array, expected: Array, tolerance: float = 1e-6) -> None:
    same = found.shape == expected.shape
    error = float(np.abs(found - expected).max()) if same else np.inf
    size = float(np.abs(expected).max())
    _require(
        number,
        name,
        same and error <= tolerance * max(size, 1e-300),
        f"largest difference {error:.3g} at size {size:.3g}",
    )
