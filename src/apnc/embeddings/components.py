"""``n_components="auto"``: as many directions as the rows need (docs/decisions/19-components.md)."""

from dataclasses import replace

import numpy as np
from scipy import linalg

from apnc.embeddings.family import Block, Coefficients
from apnc.embeddings.nystroem import triangular
from apnc.engines.blas import one_thread
from apnc.typing import Array

#: Share of the variance of Y that the kept directions hold.
SHARE = 0.99


def needed_components(coefficients: Coefficients, Y: Array, weights: Array, least: int) -> Coefficients:
    """The fewest directions of each block that together hold ``SHARE`` of the variance of Y, at least ``least``.

    Turning a block leaves all its inner products as they are, so that only what is cut off is lost. Directions are
    those of the second moment, not of the variance alone: inner products and norms of Y stay those of the kernel.

    Parameters
    ----------
    coefficients : of an embedding with the Euclidean discrepancy.
    Y : array of shape (n, m), R K_L(x) of a sample.
    weights : array of shape (n,), of the sample.
    least : components that are kept in any case, as far as there are so many.

    """
    shares = weights / weights.sum()
    edges = np.cumsum([len(block.weights) for block in coefficients.blocks])[:-1]
    with one_thread():
        found = [_directions(part, shares) for part in np.split(Y.astype(np.float64), edges, axis=1)]
    moments = np.concatenate([moments for _, moments, _ in found])
    variances = np.concatenate([variances for _, _, variances in found])
    order = np.argsort(-moments, kind="stable")
    held = np.cumsum(variances[order])
    m = max(least, int(np.searchsorted(held, SHARE * held[-1])) + 1)
    kept = np.zeros(len(order), dtype=bool)
    kept[order[:m]] = True
    parts = zip(coefficients.blocks, found, np.split(kept, edges), strict=True)
    blocks = (_turned(block, directions[:, _any(some)]) for block, (directions, *_), some in parts)
    return replace(coefficients, blocks=tuple(blocks))


def _directions(Y: Array, shares: Array) -> tuple[Array, Array, Array]:
    """Principal directions of the second moment, largest first, with moment and variance along each."""
    moments, directions = linalg.eigh((Y * shares[:, None]).T @ Y)
    moments, directions = moments[::-1], directions[:, ::-1]
    means = (shares @ Y) @ directions
    return directions, moments, np.maximum(moments - means**2, 0.0)


def _any(kept: Array) -> Array:
    """At least the first direction of a block."""
    return kept if kept.any() else np.arange(len(kept)) == 0


def _turned(block: Block, directions: Array) -> Block:
    return replace(block, weights=triangular(directions.T @ block.weights))
