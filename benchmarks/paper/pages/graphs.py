"""Spectral clustering of neighbour graphs: data sets, shapes, and millions of rows."""

import statistics
from collections.abc import Callable, Iterator

from benchmarks.paper import published
from benchmarks.paper.datasets import SOURCES
from benchmarks.paper.pages.blocks import Block, Grid, Heading, Text
from benchmarks.paper.pages.nmi import has_rows, key, short_title
from benchmarks.paper.pages.numbers import Key, Rows, leaders, mean_and_spread, seconds
from benchmarks.paper.spectral import EVOC, FROM_FILE, HALF, SPECTRAL, USPEC
from benchmarks.paper.tables import SHAPES, TABLES, Part

NOT_YET = Text("Not measured yet.")
#: Names of columns where the whole name of a method has no room.
SHORT = {
    SPECTRAL: "apnc spectral",
    f"{SPECTRAL}, l = 1000": "l = 1000",
    "SpectralClustering, neighbours": "scikit-learn",
}
SCALE_HEADER = (
    "",
    "k",
    "NMI, max (%)",
    "seconds",
    "s per M rows",
    "memory",
    "U-SPEC: NMI, max (%)",
    "seconds",
    "published U-SPEC",
)


def graphs(rows: Rows) -> list[Block]:
    """Data sets, each with a table of its own."""
    blocks: list[Block] = [Text(against_evoc(rows))]
    for part in TABLES["spectral"].parts:
        if part.dataset not in SHAPES:
            blocks += [Heading(3, titled(part, rows)), data_set(part, rows)]
    return blocks


def titled(part: Part, rows: Rows) -> str:
    counted = {
        (row["n"], row["k"]) for cell in cells_of(part).values() for row in rows.cell(cell) if "n" in row
    }
    return short_title(part) + "".join(f", {n:,} rows, k = {k}" for n, k in sorted(counted)[:1])


def cells_of(part: Part) -> dict[str, Key]:
    return {method: key("spectral", part, method, None) for method in part.methods}


def best_of(part: Part, rows: Rows) -> set[str]:
    """Leaders by NMI among the methods that label all rows."""
    return leaders(
        {method: rows.values(cell, "nmi") for method, cell in cells_of(part).items() if method != HALF}
    )


def data_set(part: Part, rows: Rows) -> Grid | Text:
    if not has_rows("spectral", rows, part):
        return NOT_YET
    best = best_of(part, rows)
    lines = tuple(_line(rows, method, cell, method in best) for method, cell in cells_of(part).items())
    return Grid(("", "NMI (%)", "ARI (%)", "accuracy (%)", "labelled", "seconds", "memory"), lines)


def _line(rows: Rows, method: str, cell: Key, bold: bool) -> tuple[str, ...]:
    if (why := rows.failure(cell)) is not None:
        return (method, why, "", "", "", "", "")
    nmi, ari, accuracy = (mean_and_spread(rows.values(cell, name)) for name in ("nmi", "ari", "accuracy"))
    noise = rows.values(cell, "noise")
    return (
        method,
        f"**{nmi}**" if bold else nmi,
        ari,
        accuracy,
        f"{1 - statistics.fmean(noise):.0%}" if noise else "",
        taken(rows, cell),
        memory(rows.values(cell, "peak_bytes")),
    )


def taken(rows: Rows, cell: Key) -> str:
    """Seconds; rough ones, measured beside other work, begin with a tilde."""
    rough = any(row.get("busy") for row in rows.cell(cell))
    return "~" * rough + seconds(rows.values(cell, "seconds"))


def memory(values: list[float]) -> str:
    return f"{statistics.fmean(values) / 1e6:,.0f} MB" if values else "-"


def against_evoc(rows: Rows) -> str:
    """MNIST, all rows of both methods measured by the same run of the table."""
    (mnist,) = (part for part in TABLES["spectral"].parts if part.dataset == "mnist")
    cells = {name: key("spectral", mnist, name, None) for name in (SPECTRAL, EVOC)}
    taken = {name: rows.values(cell, "seconds") for name, cell in cells.items()}
    if not all(taken.values()):
        return "Seconds of `apnc spectral` and EVoC on MNIST are not measured yet."
    ours, theirs = (statistics.fmean(values) for values in taken.values())
    faster = (
        f"{theirs / ours:.1f} times as fast as" if ours <= theirs else f"{ours / theirs:.1f} times as slow as"
    )
    nmi = {name: mean_and_spread(rows.values(cell, "nmi")) for name, cell in cells.items()}
    return (
        f"On MNIST `apnc spectral` takes {seconds(taken[SPECTRAL])} s (NMI {nmi[SPECTRAL]}) and EVoC "
        f"{seconds(taken[EVOC])} s (NMI {nmi[EVOC]}), its compilation not counted: apnc is {faster} EVoC."
    )


def shapes(rows: Rows) -> list[Block]:
    """A line for each shape: NMI, then seconds."""
    parts = [part for part in TABLES["spectral"].parts if part.dataset in SHAPES]
    if not any(has_rows("spectral", rows, part) for part in parts):
        return [NOT_YET]
    methods = tuple(dict.fromkeys(method for part in parts for method in part.methods))
    names = tuple(SHORT.get(method, method) for method in methods)
    return [
        Grid(("NMI (%)", *names), tuple(_shape_line(rows, part, methods, _shape_nmi) for part in parts)),
        Grid(("seconds", *names), tuple(_shape_line(rows, part, methods, _shape_seconds) for part in parts)),
    ]


def _shape_line(
    rows: Rows, part: Part, methods: tuple[str, ...], told: Callable[[Rows, Part, str], str]
) -> tuple[str, ...]:
    return (
        short_title(part),
        *(told(rows, part, method) if method in part.methods else "" for method in methods),
    )


def _shape_nmi(rows: Rows, part: Part, method: str) -> str:
    cell = cells_of(part)[method]
    nmi = mean_and_spread(rows.values(cell, "nmi"))
    return _in_short(rows.failure(cell)) or (f"**{nmi}**" if method in best_of(part, rows) else nmi)


def _shape_seconds(rows: Rows, part: Part, method: str) -> str:
    return taken(rows, cells_of(part)[method])


def _in_short(failed: str | None) -> str | None:
    """Why there is no number, where only a word has room; the list of failures says more."""
    if failed is None:
        return None
    if failed.startswith("did not finish in "):
        return "> " + failed.removeprefix("did not finish in ")
    return "memory" if failed.startswith("MemoryError") else "failed"


def scale(rows: Rows) -> list[Block]:
    parts = TABLES["scale"].parts
    if not any(has_rows("scale", rows, part) for part in parts):
        return [NOT_YET]
    return [Grid(SCALE_HEADER, tuple(_scale(rows, part) for part in parts)), *map(Text, growth(rows))]


def _scale(rows: Rows, part: Part) -> tuple[str, ...]:
    ours = FROM_FILE if FROM_FILE in part.methods else SPECTRAL
    cell, other = (key("scale", part, method, None) for method in (ours, USPEC))
    taken, n = rows.values(cell, "seconds"), rows.values(cell, "n")
    k = rows.values(cell, "k") or rows.values(other, "k")
    nmi, seconds_ = published.USPEC.get(part.dataset, (None, None))
    return (
        SOURCES[part.dataset].title,
        f"{k[0]}" if k else "-",
        _in_short(rows.failure(cell)) or mean_and_spread(rows.values(cell, "nmi_max")),
        seconds(taken),
        f"{statistics.fmean(taken) / n[0] * 1e6:.2f}" if taken and n else "-",
        memory(rows.values(cell, "peak_bytes")),
        _in_short(rows.failure(other)) or mean_and_spread(rows.values(other, "nmi_max")),
        seconds(rows.values(other, "seconds")),
        "" if nmi is None else f"{nmi:g} in {seconds_:g} s",
    )


def growth(rows: Rows) -> Iterator[str]:
    """How the seconds grow from a quarter of the rows to all of them."""
    for method, less, more, what in (
        (SPECTRAL, "circles-1250k", "circles-5m", "concentric circles"),
        (FROM_FILE, "flower-5m", "flower-20m", "the flower"),
    ):
        few, all_ = (rows.values(("scale", name, "rbf", method, None), "seconds") for name in (less, more))
        if few and all_:
            ratio = statistics.fmean(all_) / statistics.fmean(few)
            yield f"On {what}, four times as many rows take {ratio:.1f} times as long."
