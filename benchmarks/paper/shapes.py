"""Shapes in the plane as data sets with classes: the same rows for the same seed, a smaller set begins a larger one."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

#: Rows that are drawn at once, each time from a seed of their own.
AT_ONCE = 1_000_000

Draw = Callable[[np.random.Generator, int], np.ndarray]


@dataclass(frozen=True)
class Piece:
    """One class: rows, shape (n, 2), and how many of them there are in proportion to other pieces."""

    draw: Draw
    share: float = 1.0


def shape(pieces: Sequence[Piece], noise: float, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """``n`` rows in random order, float32, and the number of each one's piece, int8.

    ``noise`` is the standard deviation of what is added to both coordinates.
    """
    X, y = np.empty((n, 2), np.float32), np.empty(n, np.int8)
    shares = np.array([piece.share for piece in pieces])
    for start in range(0, n, AT_ONCE):
        rng = np.random.default_rng([seed, start])
        which = rng.choice(len(pieces), AT_ONCE, p=shares / shares.sum())
        rows = noise * rng.standard_normal((AT_ONCE, 2))
        for number, piece in enumerate(pieces):
            rows[which == number] += piece.draw(rng, int((which == number).sum()))
        stop = min(n, start + AT_ONCE)
        X[start:stop], y[start:stop] = rows[: stop - start], which[: stop - start]
    return X, y


def polar(radius: np.ndarray | float, angle: np.ndarray) -> np.ndarray:
    return np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])


def arc(
    radius: float, x: float = 0.0, y: float = 0.0, begin: float = 0.0, end: float = 360.0, share: float = 1.0
) -> Piece:
    """Part of a circle around (x, y), by degrees."""
    begin, end = np.radians([begin, end])
    center = np.array([x, y])
    return Piece(lambda rng, n: center + polar(radius, rng.uniform(begin, end, n)), share)


def gaussian(x: float, y: float, deviation: float, share: float = 1.0) -> Piece:
    center = np.array([x, y])
    return Piece(lambda rng, n: center + deviation * rng.standard_normal((n, 2)), share)


def ellipse(
    along: float, across: float, away: float = 0.0, degrees: float = 0.0, share: float = 1.0
) -> Piece:
    """A filled ellipse of these half-axes, ``away`` from the origin in the direction of ``along``."""
    cos, sin = np.cos(np.radians(degrees)), np.sin(np.radians(degrees))

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        disc = polar(np.sqrt(rng.random(n)), rng.uniform(0, 2 * np.pi, n))
        return (disc * (along, across) + (away, 0)) @ np.array([[cos, sin], [-sin, cos]])

    return Piece(draw, share)


def spiral(turns: float, degrees: float) -> Piece:
    """From near the origin to radius 1, about as dense everywhere."""

    def draw(rng: np.random.Generator, n: int) -> np.ndarray:
        radius = np.sqrt(rng.uniform(SPIRAL_BEGINS**2, 1, n))
        return polar(radius, 2 * np.pi * turns * radius + np.radians(degrees))

    return Piece(draw)


#: Radius at which spirals begin, so that they do not meet.
SPIRAL_BEGINS = 0.1
MOONS = (arc(1, end=180), arc(1, 1, 0.5, 180, 360))
RINGS = (arc(1), arc(0.5))
SPIRALS = (spiral(1.5, 0), spiral(1.5, 180))
FACE = (
    arc(1, share=5),
    ellipse(0.12, 0.12, 0.5, 45, share=1.5),
    ellipse(0.12, 0.12, 0.5, 135, share=1.5),
    arc(0.55, begin=205, end=335, share=2),
)
CIRCLES = (arc(1, share=3), arc(2 / 3, share=2), arc(1 / 3))
CIRCLES_AND_GAUSSIANS = (
    *(arc(1, x, share=2) for x in (-2.5, 0, 2.5)),
    *(gaussian(x + side, 0, 0.08) for x in (-2.5, 0, 2.5) for side in (-0.4, 0.4)),
    *(gaussian(x, 1.7, 0.15) for x in (-1.25, 1.25)),
)
FLOWER = (ellipse(0.5, 0.5), *(ellipse(0.5, 0.2, 1.3, degrees) for degrees in range(0, 360, 30)))
