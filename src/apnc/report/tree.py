"""The tree of clusters as lines of a picture."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from apnc.typing import Array

#: Width of the picture, where branches begin, and the height of a leaf.
WIDTH, LEFT, LEAF = 640, 42, 20


@dataclass(frozen=True)
class Leaf:
    """A cluster at the left edge."""

    number: int
    y: float
    color: str


@dataclass(frozen=True)
class Picture:
    """Branches as points of polylines, and leaves."""

    lines: list[str]
    leaves: list[Leaf]
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
            f"{LEFT + (WIDTH - LEFT - 10) * d / reach:.1f},{LEAF * i / 10:.1f}"
            for i, d in zip(across, along, strict=True)
        )
        for across, along in zip(found["icoord"], found["dcoord"], strict=True)
    ]
    leaves = [Leaf(leaf, LEAF * (j + 0.5), palette[leaf]) for j, leaf in enumerate(found["leaves"])]
    return Picture(lines, leaves, LEAF * len(leaves))
