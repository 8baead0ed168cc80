"""The command line ``apnc``."""

import os
import sys
import time

from apnc.cli.signals import Signals
from apnc.cli.standard_streams import prepare_streams


def main() -> None:
    """Run the command line; its dependencies are an extra, so they may be missing."""
    # First, because the imports take seconds.
    signals = Signals().installed()
    prepare_streams()
    begun = time.perf_counter() - _age()
    try:
        from apnc.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        print(f'apnc: the command line needs {error.name}: pip install "apnc[cli]"', file=sys.stderr)
        sys.exit(2)
    app(prog_name="apnc", begun=begun, signals=signals)


def _age() -> float:
    """Seconds since the process started, most of them spent on imports; 0 if unknown."""
    try:
        with open("/proc/self/stat") as file:
            ticks = int(file.read().rpartition(")")[2].split()[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, AttributeError, ValueError, IndexError):
        return 0.0
