"""``apnc bench``: hands over to the measurements of a checkout, which are no part of the package."""

import subprocess
import sys
from pathlib import Path
from typing import Annotated

import typer

from apnc.cli import options as opt
from apnc.cli.declaring import option, starting_with

TABLES = ("table1", "table1b", "table2", "today", "ablation", "starts", "all", "render")

TableName = Annotated[
    str,
    typer.Argument(
        metavar="TABLE",
        help=f"One of {', '.join(TABLES[:-1])}; or render, which writes the pages from the rows.",
        autocompletion=starting_with(TABLES),
    ),
]
Quick = Annotated[
    bool, option(opt.RUN, "--quick", None, "5,000 rows, the smallest l and two runs each: a few minutes.")
]
Datasets = Annotated[str | None, option(opt.DATA, "--datasets", "NAMES", "Only these: usps,mnist.")]
Methods = Annotated[
    str | None,
    option(opt.CLUSTERING, "--methods", "NAMES", "Only these, by their names in the tables: APNC-Nys,RFF."),
]
Runs = Annotated[
    int | None, option(opt.RUN, "--runs", "NUMBER", "Runs of each cell, instead of those of the table.")
]
Rows = Annotated[int | None, option(opt.DATA, "--rows", "NUMBER", "Rows of the data at most.")]
Fetch = Annotated[bool, option(opt.DATA, "--fetch", None, "Download data that is not in APNC_DATA.")]
Folder = Annotated[
    str | None,
    option(opt.OUTPUT, "--out", "FOLDER", "Folder of the rows; by default benchmarks/results."),
]


def bench(
    table: TableName,
    quick: Quick = False,
    datasets: Datasets = None,
    methods: Methods = None,
    runs: Runs = None,
    rows: Rows = None,
    fetch: Fetch = False,
    out: Folder = None,
    debug: opt.Debug = False,
) -> None:
    """Measure the paper's tables anew, in a checkout of the repository.

    Rows are appended as they come, and a second run does what is left. Data is read from the folder in the environment
    variable APNC_DATA. Example: apnc bench table1 --quick
    """
    given = {"--datasets": datasets, "--methods": methods, "--runs": runs, "--rows": rows}
    where = {"--out": None if out is None else Path(out).absolute()}
    valued = [
        part for name, value in (given | where).items() if value is not None for part in (name, str(value))
    ]
    flags = [name for name, asked in {"--quick": quick, "--fetch": fetch}.items() if asked]
    command = [sys.executable, "-m", "benchmarks.paper", table, *valued, *flags]
    raise typer.Exit(subprocess.run(command, cwd=checkout()).returncode)


def checkout() -> Path:
    """The folder with the measuring code: the current one, or the one this package is run from."""
    candidates = (Path.cwd(), Path(__file__).resolve().parents[3])
    for folder in candidates:
        if (folder / "benchmarks" / "paper" / "__main__.py").is_file():
            return folder
    raise FileNotFoundError(
        f"apnc bench runs the measurements of a checkout of apnc's repository; {candidates[0]} is none, as it has no "
        "benchmarks/paper. Change to a checkout, and run it again there."
    )
