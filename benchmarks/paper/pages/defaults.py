"""The defaults: what components, starts and random sums are worth, seed by seed against one of them."""

import statistics
from collections.abc import Iterator

from benchmarks.paper.defaults import AUTO, FIXED, STABLE_FIXED
from benchmarks.paper.pages.blocks import Block, Grid, Heading, Text
from benchmarks.paper.pages.nmi import has_rows, key, title_of
from benchmarks.paper.pages.numbers import Rows, mean_and_spread, seconds, spread
from benchmarks.paper.tables import TABLES, Part

#: What a default may lose at most: so many points of NMI, or so many standard errors of the paired difference.
POINTS, ERRORS = 0.5, 2.0


def defaults(rows: Rows) -> list[Block]:
    blocks: list[Block] = []
    for part in TABLES["defaults"].parts:
        blocks.append(Heading(3, title_of(part, rows, "defaults")))
        if has_rows("defaults", rows, part):
            head = ("", "m", "NMI (%)", "paired difference", "seconds")
            blocks.append(Grid(head, tuple(_lines(rows, part))))
        else:
            blocks.append(Text("Not measured yet."))
    return blocks


def _lines(rows: Rows, part: Part) -> Iterator[tuple[str, ...]]:
    for method in part.methods:
        cell = key("defaults", part, method, None)
        used = rows.values(cell, "m_used")
        yield (
            f"**{method}**" if method == AUTO else method,
            f"{statistics.fmean(used):.0f}" if used else "-",
            rows.failure(cell) or mean_and_spread(rows.values(cell, "nmi")),
            _told(paired(rows, part, method)),
            seconds(rows.values(cell, "seconds")),
        )


def paired(rows: Rows, part: Part, method: str) -> tuple[float, float] | None:
    """Mean difference in NMI to what a method changes, over the seeds that both have, and its standard error."""
    plain = STABLE_FIXED if method.startswith("stable") else FIXED
    found, other = (
        {row["seed"]: row["nmi"] for row in rows.cell(key("defaults", part, name, None)) if "nmi" in row}
        for name in (method, plain)
    )
    apart = [found[seed] - other[seed] for seed in sorted(found.keys() & other.keys())]
    if method == plain or not apart:
        return None
    return statistics.fmean(apart), spread(apart) / len(apart) ** 0.5


def _told(found: tuple[float, float] | None) -> str:
    if found is None:
        return ""
    mean, error = found
    told = f"{mean:+.2f} ± {error:.2f}"
    return f"{told}, worse" if mean < -max(POINTS, ERRORS * error) else told
