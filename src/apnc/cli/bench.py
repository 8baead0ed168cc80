"""``apnc bench``: runs the benchmarks of a checkout, which are not part of the package."""

import signal
import subprocess
import sys
from pathlib import Path

import typer

from apnc.cli import options as opt
from apnc.cli.declaring import Declared, argument, option, takes
from apnc.parameters import CLUSTERING, DATA, OUTPUT, RUN

TABLES = (
    "table1",
    "table1b",
    "table2",
    "today",
    "ablation",
    "starts",
    "defaults",
    "spectral",
    "scale",
    "all",
    "render",
)

WHICH: Declared = {
    "table": argument(
        "TABLE",
        f"One of {', '.join(TABLES[:-1])}; or render, which writes the pages from the results.",
        TABLES,
    )
}
PASSED_ON: Declared = {
    "quick": option(
        RUN, "--quick", None, "Use 5,000 rows, the smallest l and two runs each; takes a few minutes."
    ),
    "datasets": option(DATA, "--datasets", "NAMES", "Only these data sets, such as usps,mnist."),
    "methods": option(
        CLUSTERING,
        "--methods",
        "NAMES",
        "Only these methods, by their names in the tables, such as APNC-Nys,RFF.",
    ),
    "runs": option(
        RUN, "--runs", "NUMBER", "Runs per cell, instead of the number in the table.", kind=int | None
    ),
    "rows": option(DATA, "--rows", "NUMBER", "Maximum number of rows.", kind=int | None),
    "fetch": option(DATA, "--fetch", None, "Download data that is not in APNC_DATA."),
    "out": option(OUTPUT, "--out", "FOLDER", "Folder of the results; by default benchmarks/results."),
}


@takes(WHICH, PASSED_ON, opt.DEBUG)
def bench(context: typer.Context) -> None:
    """Reproduce the paper's tables, in a checkout of the repository.

    Results are appended as they come, and a second run continues where the first stopped. Data is read from the folder
    in the environment variable APNC_DATA. Example: apnc bench table1 --quick
    """
    given = {name: context.params[name] for name in PASSED_ON}
    if given["out"] is not None:
        given["out"] = Path(given["out"]).absolute()
    words = [
        word
        for name, value in given.items()
        if value not in (None, False)
        for word in ((f"--{name}",) if value is True else (f"--{name}", str(value)))
    ]
    command = [sys.executable, "-m", "benchmarks.paper", context.params["table"], *words]
    raise typer.Exit(finished(command, checkout()))


def finished(command: list[str], folder: Path) -> int:
    """Run a program and return its exit code; it is interrupted with this one, and ends what it has started."""
    with subprocess.Popen(command, cwd=folder) as program:
        try:
            return program.wait()
        except KeyboardInterrupt:
            program.send_signal(signal.SIGINT)
            program.wait()
            raise


def checkout() -> Path:
    """The folder with the benchmark code: the current one, or the one this package runs from."""
    candidates = (Path.cwd(), Path(__file__).resolve().parents[3])
    for folder in candidates:
        if (folder / "benchmarks" / "paper" / "__main__.py").is_file():
            return folder
    raise FileNotFoundError(
        f"apnc bench runs the benchmarks of a checkout of apnc's repository; {candidates[0]} is not one, as it has no "
        "benchmarks/paper. Change to a checkout and run it again."
    )
