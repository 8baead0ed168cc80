"""The map of a report: clusters by the distances of their centroids, and rows of a sample between them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from apnc.engines.blas import one_thread
from apnc.typing import Array

#: Spread of rows around their cluster on the map, as a share of the distance to the next cluster.
SPREAD = 0.12
#: Clicking a point calls the page's own function with the number of its cluster.
ON_TAP = """const i = points.selected.indices[0];
points.selected.indices = [];
if (i !== undefined) choose(points.data.cluster[i]);"""


@dataclass(frozen=True)
class Points:
    """Rows on the map.

    Attributes
    ----------
    places : array of shape (n, 2).
    labels : array of shape (n,).
    names : what identifies each row.

    """

    places: Array
    labels: Array
    names: Sequence[str]


def layout(squares: Array) -> Array:
    """Places of clusters in the plane, shape (k, 2), whose distances follow the roots of those of the centroids.

    Roots, so that one far cluster does not press all others together.
    """
    from sklearn.manifold import smacof

    k = len(squares)
    wanted = squares**0.25
    if k == 1 or not wanted.any():
        return np.zeros((k, 2))
    angles = 2 * np.pi * np.arange(k) / k
    circle = wanted.max() / 2 * np.column_stack([np.cos(angles), np.sin(angles)])
    with one_thread():
        found: Array = smacof(wanted, n_components=2, init=circle, n_init=1, normalized_stress=False)[0]
    return found


def placed(Y: Array, labels: Array, shares: Array, centroids: Array, places: Array) -> Array:
    """Where embedded rows are on the map, shape (n, 2): between the clusters that they are near to.

    Parameters
    ----------
    Y : array of shape (n, m).
    labels, shares : of each row, shapes (n,) and (n, k): its cluster and its memberships.
    centroids, places : of the clusters, shapes (k, m) and (k, 2).

    """
    inside = Y.astype(np.float64) - centroids[labels]
    with one_thread():
        spread = inside @ leading(inside, 2).T
    spread = np.pad(spread, ((0, 0), (0, 2 - spread.shape[1])))
    size = np.sqrt(np.mean(spread**2))
    gaps = np.linalg.norm(places[:, None] - places, axis=2)
    room = SPREAD * np.median(np.where(gaps > 0, gaps, np.inf).min(axis=1)) if len(places) > 1 else 1.0
    return shares @ places + (room / size * spread if size > 0 and np.isfinite(room) else spread)


def leading(rows: Array, n: int) -> Array:
    """Up to n orthonormal directions in which rows vary most, each with its largest entry positive, shape (<= n, m)."""
    if n < 1:
        return np.empty((0, rows.shape[1]))
    values, vectors = np.linalg.eigh(rows.T @ rows)
    kept = [j for j in range(len(values) - 1, -1, -1)[:n] if values[j] > 1e-9 * max(values[-1], 1e-300)]
    found = vectors[:, kept].T
    largest = found[np.arange(len(found)), np.abs(found).argmax(axis=1)]
    return found * np.where(largest < 0, -1.0, 1.0)[:, None]


def colors(k: int) -> list[str]:
    """A color for each cluster, as different as possible."""
    from bokeh.palettes import Category10_10, Category20_20, Turbo256

    for palette in (Category10_10, Category20_20):
        if k <= len(palette):
            return list(palette[:k])
    return [Turbo256[int(j)] for j in np.linspace(8, 247, k)]


def drawn(points: Points, palette: Sequence[str]) -> tuple[str, str, str]:
    """The plotting library, the place of the map and its script, all as HTML that needs no network."""
    from bokeh.embed import components
    from bokeh.models import ColumnDataSource, CustomJS, HoverTool, TapTool
    from bokeh.plotting import figure
    from bokeh.resources import Resources

    source = ColumnDataSource(_columns(points, palette), name="points")
    hover = HoverTool(tooltips=[("row", "@name"), ("cluster", "@cluster")])
    tap = TapTool(callback=CustomJS(args={"points": source}, code=ON_TAP))
    plot = figure(
        height=460,
        sizing_mode="stretch_width",
        tools=["pan", "wheel_zoom", "box_zoom", "reset", hover, tap],
        toolbar_location="above",
        output_backend="canvas",
    )
    plot.scatter("x", "y", source=source, color="color", alpha="alpha", size=5, line_color=None)
    plot.toolbar.logo = None
    # Otherwise a finger on the map moves its points, and a phone cannot scroll past it.
    plot.toolbar.active_drag = None
    plot.grid.grid_line_color = "#eef1f4"
    plot.axis.visible = False
    plot.outline_line_color = "#d9dfe6"
    script, place = components(plot)
    return Resources(mode="inline", components=["bokeh"]).render_js(), place, script


def _columns(points: Points, palette: Sequence[str]) -> dict[str, Any]:
    return {
        "x": points.places[:, 0],
        "y": points.places[:, 1],
        "cluster": points.labels.astype(np.int32),
        "color": [palette[label] for label in points.labels],
        "alpha": np.full(len(points.labels), 0.75),
        "name": list(points.names),
    }
