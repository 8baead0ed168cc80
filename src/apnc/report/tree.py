"""The tree of clusters as lines of a picture."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apnc.typing import Array

#: Width of the picture, which the page stretches, and the height of a leaf in pixels.
WIDTH, LEAF = 100, 20
#: Share of the width that branches take up.
REACH = 0.99


@dataclass(frozen=True)
class Leaf:
    """A cluster at the left edge."""

    number: int
    color: str


@dataclass(frozen=True)
class Picture:
    """Branches as points of polylines, and leaves from top to bottom, each ``LEAF`` high."""

    lines: list[str]
    leaves: list[Leaf]
    width: int
    height: int


def picture(linkage: Array, palette: Sequence[str]) -> Picture | None:
    """A drawing of a linkage matrix; None for a single cluster."""
    from scipy.cluster.hierarchy import dendrogram

    if not len(linkage):
        return None
    found = dendrogram(linkage, no_plot=True)
    reach = max(float(np.max(found["dcoord"])), 1e-300)
    # scipy places leaves at 5, 15, 25, ...
    lines = [
        " ".join(
            f"{REACH * WIDTH * d / reach:.2f},{LEAF * i / 10:.1f}" for i, d in zip(across, along, strict=True)
        )
        for across, along in zip(found["icoord"], found["dcoord"], strict=True)
    ]
    leaves = [Leaf(leaf, palette[leaf]) for leaf in found["leaves"]]
    return Picture(lines, leaves, WIDTH, LEAF * len(leaves))
