"""Tables 1, 1b and 2: NMI for every method and l next to the paper's, with charts."""

import statistics
from collections.abc import Mapping

from benchmarks.paper import published
from benchmarks.paper.datasets import SOURCES
from benchmarks.paper.methods import EXACT
from benchmarks.paper.pages.blocks import Block, Figure, Grid, Heading, Text
from benchmarks.paper.pages.charts import Point, line_chart, stacked_bars
from benchmarks.paper.pages.numbers import Key, Rows, leaders, mean_and_spread, seconds, spread
from benchmarks.paper.tables import APNC, TABLES, Part, uses_landmarks

Published = Mapping[tuple[str, str], Mapping[int | None, published.Number]]
GENERATED = "generated, for speed only"


def parts_of(table: str, rows: Rows, part: Part, reported: Published) -> list[Block]:
    """Heading, table and charts for one data set and kernel."""
    if not has_rows(table, rows, part):
        return [Heading(3, title_of(part, rows, table)), Text("Not measured yet.")]
    heading = Heading(3, title_of(part, rows, table))
    if is_generated(table, rows, part):
        return [heading, *speed(table, rows, part)]
    return [heading, nmi_grid(table, rows, part, reported), *charts(table, rows, part)]


def key(table: str, part: Part, method: str, l: int | None) -> Key:
    return (table, part.dataset, part.kernel, method, l if uses_landmarks(method) else None)


def all_keys(table: str, part: Part) -> list[Key]:
    return [key(table, part, method, l) for method in part.methods for l in part.landmarks]


def has_rows(table: str, rows: Rows, part: Part) -> bool:
    return any(rows.cell(k) for k in all_keys(table, part))


def is_generated(table: str, rows: Rows, part: Part) -> bool:
    return any(row.get("generated") for k in all_keys(table, part) for row in rows.cell(k))


def title_of(part: Part, rows: Rows, table: str) -> str:
    counted = {(row["n"], row["k"]) for k in all_keys(table, part) for row in rows.cell(k) if "n" in row}
    size = "".join(f", {n:,} rows, k = {k}" for n, k in sorted(counted)[:1])
    label = f" ({GENERATED})" if is_generated(table, rows, part) else ""
    return f"{SOURCES[part.dataset].title}, {part.kernel} kernel{size}{label}"


def short_title(part: Part) -> str:
    source = SOURCES[part.dataset]
    return source.short or source.title.partition(",")[0]


def nmi_grid(table: str, rows: Rows, part: Part, reported: Published) -> Grid:
    """Mean and standard deviation, the paper's in brackets; bold by t-test among the approximations."""
    rivals = [method for method in part.methods if method != EXACT]
    best = {
        l: leaders({method: rows.values(key(table, part, method, l), "nmi") for method in rivals})
        for l in part.landmarks
    }
    lines = [
        (method, *(_nmi(table, rows, part, method, l, reported, method in best[l]) for l in part.landmarks))
        for method in part.methods
    ]
    return Grid(("NMI (%)", *(f"l = {l}" for l in part.landmarks)), tuple(lines))


def _nmi(
    table: str,
    rows: Rows,
    part: Part,
    method: str,
    l: int | None,
    reported: Published,
    bold: bool,
) -> str:
    cell = key(table, part, method, l)
    if (why := rows.failure(cell)) is not None:
        return why
    text = mean_and_spread(rows.values(cell, "nmi"))
    paper = reported.get((part.dataset, method), {})
    mean, deviation = paper.get(l) or paper.get(None) or (None, None)
    beside = "" if mean is None else f" ({mean:.2f} ± {deviation:.2f})"
    return (f"**{text}**" if bold and text != "-" else text) + beside


def speed(table: str, rows: Rows, part: Part) -> list[Block]:
    """Seconds on generated data of the paper's size, which has no classes to find."""
    if table == "table2":
        return [time_grid(rows, part)]
    lines = [
        (method, *(seconds(rows.values(key(table, part, method, l), "seconds")) for l in part.landmarks))
        for method in part.methods
    ]
    return [Grid(("seconds", *(f"l = {l}" for l in part.landmarks)), tuple(lines))]


def time_grid(rows: Rows, part: Part) -> Grid:
    """Table 2, right: our seconds for embedding and clustering next to the paper's minutes on 20 machines."""
    lines = []
    for method in (method for method in part.methods if method in APNC):
        minutes = published.EMBEDDING_MINUTES.get((part.dataset, method), {})
        cells = [key("table2", part, method, l) for l in part.landmarks]
        embedding = [
            seconds(rows.values(cell, "embed_seconds")) + _minutes(minutes.get(l))
            for cell, l in zip(cells, part.landmarks, strict=True)
        ]
        clustering = [value for cell in cells for value in rows.values(cell, "cluster_seconds")]
        paper = _minutes(published.CLUSTERING_MINUTES.get((part.dataset, method)))
        lines.append((method, *embedding, seconds(clustering) + paper))
    head = (f"embedding, l = {l}" for l in part.landmarks)
    return Grid(("seconds (the paper: minutes)", *head, "clustering"), tuple(lines))


def _minutes(minutes: float | None) -> str:
    return "" if minutes is None else f" ({minutes:g} min)"


def total_grid(table: str, rows: Rows, part: Part) -> Grid:
    """Total seconds of a run, for all methods."""
    lines = [
        (method, *(seconds(rows.values(key(table, part, method, l), "seconds")) for l in part.landmarks))
        for method in part.methods
    ]
    return Grid(("seconds in total", *(f"l = {l}" for l in part.landmarks)), tuple(lines))


def charts(table: str, rows: Rows, part: Part) -> list[Block]:
    name = short_title(part)
    found: list[Block] = []
    for value, label in (("nmi", "NMI (%)"), ("seconds", "seconds")):
        series = {method: points(rows, table, part, method, value) for method in part.methods}
        series = {method: at for method, at in series.items() if at}
        if series:
            drawn = line_chart(f"{name}, {part.kernel}: {label}", "l", label, series)
            found.append(Figure(drawn, "Mean of all runs; bars are one standard deviation."))
    return found + split_chart(table, rows, part)


def points(rows: Rows, table: str, part: Part, method: str, name: str) -> list[Point]:
    found = [(l, rows.values(key(table, part, method, l), name)) for l in part.landmarks if l is not None]
    return [Point(l, statistics.fmean(values), spread(values)) for l, values in found if values]


def split_chart(table: str, rows: Rows, part: Part) -> list[Block]:
    """Seconds of the APNC methods at the largest l, split into embedding and clustering."""
    bars = {}
    for method in (method for method in part.methods if method in APNC):
        cells = {l: key(table, part, method, l) for l in part.landmarks}
        for l, cell in cells.items():
            both = [rows.values(cell, f"{half}_seconds") for half in ("embed", "cluster")]
            if all(both):
                bars[f"{method[5:]}, l = {l}"] = [statistics.fmean(values) for values in both]
    if not bars:
        return []
    title = f"{short_title(part)}, {part.kernel}: embedding, clustering"
    return [Figure(stacked_bars(title, "s", ("embedding", "clustering"), bars), "Mean of all runs.")]


def section(table: str, rows: Rows, heading: str, text: str, reported: Published) -> list[Block]:
    """All parts of a table."""
    blocks: list[Block] = [Heading(2, heading), Text(text)]
    for part in TABLES[table].parts:
        blocks += parts_of(table, rows, part, reported)
        measured = has_rows(table, rows, part) and not is_generated(table, rows, part)
        if table == "table2" and measured:
            blocks += [time_grid(rows, part), total_grid(table, rows, part)]
    return blocks
