"""Where another method is ahead of APNC, so that readers need not search for it."""

import statistics
from collections.abc import Iterator

from benchmarks.paper.methods import EXACT
from benchmarks.paper.pages.blocks import Block, Grid, Heading, Text
from benchmarks.paper.pages.nmi import key, short_title
from benchmarks.paper.pages.numbers import Rows, mean_and_spread, not_told_apart
from benchmarks.paper.spectral import HALF
from benchmarks.paper.tables import TABLES, Part

COMPARED = {
    "table1": "Table 1",
    "table1b": "Table 1b",
    "table2": "Table 2",
    "today": "Table 3",
    "spectral": "Neighbour graphs",
    "scale": "Millions of rows",
}
#: Not compared: what all methods approximate, and what labels other rows than the rest.
LEFT_OUT = (EXACT, HALF)


def ahead(rows: Rows) -> list[Block]:
    lines = tuple(
        line for table in COMPARED for part in TABLES[table].parts for line in _ahead(table, rows, part)
    )
    header = ("", "method", "NMI (%)", "best of APNC", "NMI (%)", "significant (t-test)")
    said = (
        "Methods whose best mean over all l is higher than APNC's best. Exact kernel k-means is left out, because it "
        "is what all methods approximate."
    )
    return [
        Heading(2, "Where another method is ahead"),
        Text(said),
        Grid(header, lines) if lines else Text("Nowhere."),
    ]


def _ahead(table: str, rows: Rows, part: Part) -> Iterator[tuple[str, ...]]:
    methods = [name for name in part.methods if name not in LEFT_OUT]
    best = {name: values for name in methods if (values := _best(table, rows, part, name))}
    ours = [name for name in best if is_ours(name)]
    if not ours:
        return
    first = max(ours, key=lambda name: statistics.fmean(best[name]))
    where = f"{COMPARED[table]}, {short_title(part)}, {part.kernel}"
    for name, values in best.items():
        if is_ours(name) or statistics.fmean(values) <= statistics.fmean(best[first]):
            continue
        apart = "no" if not_told_apart(values, best[first]) else "yes"
        yield where, name, mean_and_spread(values), first, mean_and_spread(best[first]), apart


def is_ours(method: str) -> bool:
    return method.lower().startswith("apnc")


def _best(table: str, rows: Rows, part: Part, method: str) -> list[float]:
    """The runs at the l of the highest mean."""
    cells = (rows.values(key(table, part, method, l), "nmi") for l in part.landmarks)
    return max(filter(None, cells), key=statistics.fmean, default=[])
