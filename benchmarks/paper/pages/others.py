"""What people use today, the ablation and the starts: tables that the paper lacks."""

import statistics
from collections.abc import Iterator

from benchmarks.paper.pages.blocks import Block, Figure, Grid, Heading, Text
from benchmarks.paper.pages.charts import stacked_bars
from benchmarks.paper.pages.nmi import has_rows, key, short_title, title_of
from benchmarks.paper.pages.numbers import Key, Rows, leaders, mean_and_spread, seconds
from benchmarks.paper.starting import STARTS
from benchmarks.paper.tables import TABLES, Part


def today(rows: Rows) -> list[Block]:
    blocks: list[Block] = []
    for part in TABLES["today"].parts:
        blocks.append(Heading(3, title_of(part, rows, "today")))
        if not has_rows("today", rows, part):
            blocks.append(Text("Not measured yet."))
            continue
        cells = {method: key("today", part, method, None) for method in part.methods}
        best = leaders({method: rows.values(cell, "nmi") for method, cell in cells.items()})
        lines = tuple(_today(rows, method, cell, method in best) for method, cell in cells.items())
        blocks.append(Grid(("", "NMI (%)", "ARI (%)", "seconds", "peak memory"), lines))
        blocks += time_chart(rows, part, cells)
    return blocks


def _today(rows: Rows, method: str, cell: Key, bold: bool) -> tuple[str, ...]:
    if (why := rows.failure(cell)) is not None:
        return (method, why, "", "", "")
    nmi = mean_and_spread(rows.values(cell, "nmi"))
    memory = rows.values(cell, "peak_bytes")
    return (
        method,
        f"**{nmi}**" if bold else nmi,
        mean_and_spread(rows.values(cell, "ari")),
        seconds(rows.values(cell, "seconds")),
        f"{statistics.fmean(memory) / 1e6:,.0f} MB" if memory else "-",
    )


def time_chart(rows: Rows, part: Part, cells: dict[str, Key]) -> list[Block]:
    found = {_short(method): rows.values(cell, "seconds") for method, cell in cells.items()}
    bars = {method: [statistics.fmean(values)] for method, values in found.items() if values}
    if not bars:
        return []
    title = f"{short_title(part)}: seconds"
    return [Figure(stacked_bars(title, "s", ("whole run",), bars), "Methods without a bar did not finish.")]


def _short(method: str) -> str:
    short = {
        "Nystroem + KMeans": "Nystroem",
        "Nystroem + KMeans, tuned as apnc": "Nystroem, tuned",
        "SpectralClustering, neighbours": "Spectral",
    }
    return short.get(method, method)


def ablation(rows: Rows) -> list[Block]:
    blocks: list[Block] = []
    for part in TABLES["ablation"].parts:
        blocks.append(Heading(3, title_of(part, rows, "ablation")))
        blocks.append(
            _ablation(rows, part) if has_rows("ablation", rows, part) else Text("Not measured yet.")
        )
    return blocks


def _ablation(rows: Rows, part: Part) -> Grid:
    """Bold: the best variant and those not told apart from it, for each l."""
    best = {
        l: leaders({m: rows.values(key("ablation", part, m, l), "nmi") for m in part.methods})
        for l in part.landmarks
    }
    lines = []
    for method in part.methods:
        line = [method]
        for l in part.landmarks:
            cell = key("ablation", part, method, l)
            nmi = mean_and_spread(rows.values(cell, "nmi"))
            line += [
                rows.failure(cell) or (f"**{nmi}**" if method in best[l] else nmi),
                _residual(rows.values(cell, "residual")),
                seconds(rows.values(cell, "seconds")),
            ]
        lines.append(tuple(line))
    head = (name for l in part.landmarks for name in (f"NMI, l = {l}", "residual", "seconds"))
    return Grid(("", *head), tuple(lines))


def _residual(values: list[float]) -> str:
    return f"{statistics.fmean(values):.3f}" if values else "-"


def starts(rows: Rows) -> list[Block]:
    blocks: list[Block] = []
    for part in TABLES["starts"].parts:
        blocks.append(Heading(3, title_of(part, rows, "starts")))
        if not has_rows("starts", rows, part):
            blocks.append(Text("Not measured yet."))
            continue
        blocks.append(Grid(("NMI (%), clusters that hold rows", *STARTS), tuple(_starts(rows, part))))
    return blocks


def _starts(rows: Rows, part: Part) -> Iterator[tuple[str, ...]]:
    methods = dict.fromkeys(method.partition(",")[0] for method in part.methods)
    for method in methods:
        cells = [key("starts", part, f"{method}, {start}", part.landmarks[0]) for start in STARTS]
        yield (method, *(_started(rows, cell) for cell in cells))


def _started(rows: Rows, cell: Key) -> str:
    filled = rows.values(cell, "filled")
    clusters = f", {statistics.fmean(filled):.1f}" if filled else ""
    return rows.failure(cell) or mean_and_spread(rows.values(cell, "nmi")) + clusters


def failures(rows: Rows) -> list[Block]:
    """Every run that gave no result, and why."""
    found = [
        (
            row["table"],
            f"{row['dataset']}, {row['kernel']}",
            row["method"],
            str(row["l"] or ""),
            row["failed"],
        )
        for row in rows.failures()
    ]
    if not found:
        return [Heading(2, "Runs without a result"), Text("None.")]
    return [
        Heading(2, "Runs without a result"),
        Text("A run beyond its time limit ends its cell: the runs after it are not tried."),
        Grid(("table", "data", "method", "l", "why"), tuple(found)),
    ]
