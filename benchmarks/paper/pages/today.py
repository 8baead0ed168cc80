"""What people use today, a table that is not in the paper; and the runs that failed."""

import statistics

from benchmarks.paper.pages.blocks import Block, Figure, Grid, Heading, Text
from benchmarks.paper.pages.charts import stacked_bars
from benchmarks.paper.pages.nmi import has_rows, key, short_title, title_of
from benchmarks.paper.pages.numbers import Key, Rows, leaders, mean_and_spread, seconds
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
        Text("A run that exceeds its time limit ends its cell: later runs are not tried."),
        Grid(("table", "data", "method", "l", "why"), tuple(found)),
    ]
