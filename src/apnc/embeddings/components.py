"""``n_components="auto"``: choose the number of components by variance (docs/decisions/19-components.md)."""

from dataclasses import replace

import numpy as np
from scipy import linalg

from apnc.embeddings.family import Block, Coefficients
from apnc.embeddings.nystroem import triangular
from apnc.embeddings.spectrum import SMALLER
from apnc.engines.blas import one_thread
from apnc.typing import Array

#: Share of the variance of Y that the kept directions explain.
SHARE = 0.99
#: Directions kept in any case: fewer save little, and thin shapes in the plane live in the last percent.
LEAST_COMPONENTS = 100
#: Rows of Y that are converted to float64 at once.
PIECE = 8192


def needed_components(coefficients: Coefficients, Y: Array, weights: Array, least: int) -> Coefficients:
    """Keep the fewest directions of all blocks that explain ``SHARE`` of the variance of Y, but at least ``least``.

    Rotating a block preserves its inner products, so that only the directions cut off are lost. The directions are
    those of the second moment rather than of the covariance, so that inner products and norms of Y still approximate
    those of the kernel.

    Parameters
    ----------
    coefficients : of an embedding with the Euclidean discrepancy.
    Y : array of shape (n, m), R K_L(x) of a sample.
    weights : array of shape (n,), of the sample.
    least : minimum number of components to keep, if there are as many.

    """
    if not np.isfinite(Y).all():
        raise ValueError(f"The kernel is infinite for some rows of the sample. Look for outliers. {SMALLER}")
    shares = weights / weights.sum()
    edges = np.cumsum([len(block.weights) for block in coefficients.blocks])[:-1]
    with one_thread():
        found = [_directions(part, shares) for part in np.split(Y, edges, axis=1)]
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
    moment, mean = np.zeros((Y.shape[1], Y.shape[1])), np.zeros(Y.shape[1])
    for start in range(0, len(Y), PIECE):
        part, share = Y[start : start + PIECE].astype(np.float64), shares[start : start + PIECE]
        moment += (part * share[:, None]).T @ part
        mean += share @ part
    moments, directions = linalg.eigh(moment)
    moments, directions = moments[::-1], directions[:, ::-1]
    means = mean @ directions
    # Rounding can make the variance of a constant direction negative.
    return directions, moments, np.maximum(moments - means**2, 0.0)


def _any(kept: Array) -> Array:
    """The kept directions of a block, or the first if there are none: no block may be empty."""
    return kept if kept.any() else np.arange(len(kept)) == 0


def _turned(block: Block, directions: Array) -> Block:
    return replace(block, weights=triangular(directions.T @ block.weights))
