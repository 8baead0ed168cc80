"""The paper's evaluation from the command line.

    python -m benchmarks.paper TABLE [--quick] [--datasets A,B]
    python -m benchmarks.paper render

TABLE is one of table1, table1b, table2, today, ablation, starts, defaults, spectral, scale, or all.
Rows are appended to benchmarks/results/paper-TABLE.jsonl as they come; a second run does what is left.
"""

import argparse
import sys
import tempfile
from pathlib import Path

from benchmarks.paper.datasets import SOURCES
from benchmarks.paper.running import run_all
from benchmarks.paper.tables import TABLES, Cell, cells_of, quick
from benchmarks.run import ROOT

RESULTS = ROOT / "benchmarks" / "results"
ALL = "all"


def parsed(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("table", choices=[*TABLES, ALL, "render"])
    parser.add_argument("--quick", action="store_true", help="5,000 rows, the smallest l, two runs each")
    parser.add_argument("--datasets", type=names, default=[], help=f"of {', '.join(SOURCES)}")
    parser.add_argument(
        "--methods", type=names, default=[], help="by their names in the tables; ; between names with commas"
    )
    parser.add_argument("--runs", type=int, help="runs of each cell, instead of those of the table")
    parser.add_argument("--rows", type=int, help="rows of the data at most")
    parser.add_argument("--fetch", action="store_true", help="download data that is not in APNC_DATA")
    parser.add_argument(
        "--busy",
        action="store_true",
        help="other work runs on the machine: pages show these seconds as rough",
    )
    parser.add_argument("--out", type=Path, help="folder of the rows")
    parser.add_argument(
        "--docs", type=Path, default=ROOT / "docs" / "results", help="folder of the pages, for render"
    )
    options = parser.parse_args(arguments)
    for what, given, known in (
        ("data set", options.datasets, SOURCES),
        ("method", options.methods, known_methods()),
    ):
        for name in given:
            if name not in known:
                parser.error(f"{name!r} is no {what}; known: {'; '.join(known)}")
    return options


def known_methods() -> list[str]:
    return list(dict.fromkeys(method for table in TABLES.values() for method in table.methods))


def names(text: str) -> list[str]:
    return [name.strip() for name in text.split(";" if ";" in text else ",") if name.strip()]


def found(cells: list[Cell], fetch: bool) -> list[Cell]:
    """Cells whose data is there; what is missing is said."""
    missing = {
        cell.dataset: reason for cell in cells if (reason := SOURCES[cell.dataset].missing(fetch)) is not None
    }
    for name, reason in missing.items():
        print(f"{name} is not here, so it is left out: {reason}", file=sys.stderr)
    return [cell for cell in cells if cell.dataset not in missing]


def results(options: argparse.Namespace) -> Path:
    """Where rows go; those of a quick run are not kept with the others."""
    if options.out is not None:
        return options.out
    return Path(tempfile.gettempdir()) / "apnc-quick" if options.quick or options.rows else RESULTS


def main(arguments: list[str] | None = None) -> int:
    options = parsed(arguments)
    folder = results(options)
    if options.table == "render":
        from benchmarks.paper.render import render

        render(folder, options.docs)
        return 0
    failures = 0
    for table in TABLES if options.table == ALL else [options.table]:
        cells = cells_of(table, options.datasets, options.methods, options.runs, options.rows)
        cells = found(quick(cells) if options.quick else cells, options.fetch)
        path = folder / f"paper-{table}.jsonl"
        more = {"busy": True} if options.busy else {}
        failures += run_all(cells, path, options.fetch, lambda line: print(line, flush=True), more)
    print(f"{failures} runs failed; their rows say why" if failures else "done")
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
