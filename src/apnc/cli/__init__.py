"""The command line ``apnc``."""

import os
import sys
import time
from pathlib import Path


def main() -> None:
    """Run the command line; its dependencies are an extra, so they may be missing."""
    begun = time.perf_counter() - _age()
    try:
        from apnc.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        print(f'apnc: the command line needs {error.name}: pip install "apnc[cli]"', file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    app(prog_name="apnc", begun=begun)


def _age() -> float:
    """Seconds since the process started, most of them spent on imports; 0 if unknown."""
    try:
        ticks = int(Path("/proc/self/stat").read_text().rpartition(")")[2].split()[19])
        return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - ticks / os.sysconf("SC_CLK_TCK"))
    except (OSError, AttributeError, ValueError, IndexError):
        return 0.0
