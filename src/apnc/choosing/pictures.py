"""A choice as text, as HTML with a small chart, and drawn with matplotlib."""

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

#: What a chart shows: name, how it is drawn, colour.
LINES = (
    ("prediction_strength", "prediction strength", "#1b6ca8"),
    ("stability", "stability", "#4f9d69"),
    ("stability_null", "stability without structure", "#b5b5b5"),
    ("valley", "valley", "#c8553d"),
)
BOLD = ' style="font-weight:bold"'
WIDTH, HEIGHT, LEFT, BOTTOM, TOP = 460, 190, 34, 24, 10

Columns = Mapping[str, Sequence[Any]]


def as_rows(columns: Columns) -> list[list[str]]:
    """The cells of the table as text."""
    return [[cell(value) for value in row] for row in zip(*columns.values(), strict=True)]


def cell(value: Any) -> str:
    """A number of a table."""
    if value is None:
        return "-"
    return str(value) if isinstance(value, int) else f"{value:.3g}" if value >= 100 else f"{value:.2f}"


def as_text(columns: Columns, chosen: int | None) -> str:
    """The table with aligned columns; an arrow marks the recommendation."""
    header, rows = list(columns), as_rows(columns)
    widths = [max(map(len, texts)) for texts in zip(header, *rows, strict=True)]
    lines = [
        "  ".join(text.rjust(width) for text, width in zip(row, widths, strict=True))
        for row in (header, *rows)
    ]
    marks = ["", *(" <-" if k == chosen else "" for k in columns["n_clusters"])]
    return "\n".join(line + mark for line, mark in zip(lines, marks, strict=True))


def as_html(columns: Columns, chosen: int | None, reason: str, hint: str | None) -> str:
    """A paragraph, a chart and the table."""
    head = "".join(f"<th>{escape(name.replace('_', ' '))}</th>" for name in columns)
    body = "".join(
        f"<tr{BOLD if k == chosen else ''}>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>"
        for k, row in zip(columns["n_clusters"], as_rows(columns), strict=True)
    )
    more = "" if hint is None else f"<p><em>{escape(hint)}</em></p>"
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f"<div><p>{escape(reason)}</p>{more}{chart(columns, chosen)}{table}</div>"


def chart(columns: Columns, chosen: int | None) -> str:
    """The measures against the number of clusters, as SVG."""
    ks = columns["n_clusters"]
    span = max(1, ks[-1] - ks[0])

    def x(k: float) -> float:
        return LEFT + (WIDTH - LEFT - 10) * (k - ks[0]) / span

    def y(value: float) -> float:
        return TOP + (HEIGHT - TOP - BOTTOM) * (1 - min(max(value, 0.0), 1.0))

    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT + 16 * len(LINES)}" '
        f'width="{WIDTH}" role="img" font-family="sans-serif" font-size="11">',
        *(f'<text x="4" y="{y(value) + 4:.0f}">{value}</text>' for value in (0, 0.5, 1)),
        *(f'<text x="{x(k):.1f}" y="{HEIGHT - 6}" text-anchor="middle">{k}</text>' for k in ks),
    ]
    if chosen is not None:
        parts.append(f'<path d="M{x(chosen):.1f} {TOP} V{HEIGHT - BOTTOM}" stroke="#ddd" stroke-width="9"/>')
    for number, (name, said, colour) in enumerate(LINES):
        points = " ".join(f"{x(k):.1f},{y(value):.1f}" for k, value in zip(ks, columns[name], strict=True))
        parts.append(f'<polyline points="{points}" fill="none" stroke="{colour}" stroke-width="2"/>')
        parts.append(f'<text x="{LEFT}" y="{HEIGHT + 10 + 16 * number}" fill="{colour}">{said}</text>')
    return "".join([*parts, "</svg>"])


def draw(columns: Columns, chosen: int | None, ax: Any = None) -> Any:
    """The measures against the number of clusters, with matplotlib."""
    if ax is None:
        try:
            from matplotlib import pyplot
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError('Drawing needs matplotlib: pip install "apnc[plot]".') from error
        ax = pyplot.subplots()[1]
    for name, said, colour in LINES:
        ax.plot(columns["n_clusters"], columns[name], color=colour, label=said)
    if chosen is not None:
        ax.axvline(chosen, color="#dddddd", linewidth=8, zorder=0)
    ax.set_xlabel("number of clusters")
    ax.set_ylim(-0.05, 1.3)
    ax.legend()
    return ax
