"""Ablation and starts: what each part of the method contributes."""

import statistics
from collections.abc import Iterator

from benchmarks.paper.pages.blocks import Block, Grid, Heading, Text
from benchmarks.paper.pages.nmi import has_rows, key, title_of
from benchmarks.paper.pages.numbers import Key, Rows, leaders, mean_and_spread, not_told_apart
from benchmarks.paper.starting import STARTS
from benchmarks.paper.tables import TABLES, Part
from benchmarks.paper.variants import ABLATION, NYSTROEM, STABLE

#: Cells in which the t-test finds a variant better (1) or worse (-1) than its reference, or neither (0).
Count = dict[int, int]


def ablation(rows: Rows) -> list[Block]:
    blocks = verdicts(counted(rows))
    for part in TABLES["ablation"].parts:
        blocks.append(Heading(3, title_of(part, rows, "ablation")))
        blocks.append(
            _ablation(rows, part) if has_rows("ablation", rows, part) else Text("Not measured yet.")
        )
    return blocks


def verdicts(found: dict[str, Count]) -> list[Block]:
    lines = tuple((name, changes(name), *map(str, count.values())) for name, count in found.items())
    choices = [count for name, count in found.items() if name.endswith("landmarks")]
    said = "In how many of the cells below the t-test finds a variant better or worse than its reference."
    if all(any(count.values()) and not count[1] for count in choices):
        said += " No way of choosing landmarks beats uniform sampling anywhere, so apnc offers none."
    return [Text(said), Grid(("variant", "reference", "better", "worse", "no difference found"), lines)]


def counted(rows: Rows) -> dict[str, Count]:
    found: dict[str, Count] = {
        name: {1: 0, -1: 0, 0: 0} for name in ABLATION if name not in (NYSTROEM, STABLE)
    }
    for part in TABLES["ablation"].parts:
        for l in part.landmarks:
            for name, count in found.items():
                values, plain = (
                    rows.values(key("ablation", part, method, l), "nmi") for method in (name, changes(name))
                )
                if values and plain:
                    count[compared(values, plain)] += 1
    return found


def changes(variant: str) -> str:
    return STABLE if variant.startswith(STABLE) else NYSTROEM


def compared(values: list[float], others: list[float]) -> int:
    if not_told_apart(values, others):
        return 0
    return 1 if statistics.fmean(values) > statistics.fmean(others) else -1


def _ablation(rows: Rows, part: Part) -> Grid:
    """Bold: the best variant for each l and those that the t-test cannot distinguish from it."""
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
            ]
        lines.append(tuple(line))
    head = (name for l in part.landmarks for name in (f"NMI, l = {l}", "residual"))
    return Grid(("", *head), tuple(lines))


def _residual(values: list[float]) -> str:
    return f"{statistics.fmean(values):.3f}" if values else "-"


def starts(rows: Rows) -> list[Block]:
    runs = [row for row in rows.all if row["table"] == "starts" and "filled" in row]
    lost = sum(row["filled"] < row["k"] for row in runs)
    blocks: list[Block] = [Text(f"{lost} of {len(runs)} runs lost a cluster.")] if runs else []
    for part in TABLES["starts"].parts:
        blocks.append(Heading(3, title_of(part, rows, "starts")))
        if not has_rows("starts", rows, part):
            blocks.append(Text("Not measured yet."))
            continue
        blocks.append(Grid(("NMI (%), non-empty clusters", *STARTS), tuple(_starts(rows, part))))
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
