"""``apnc doctor``."""

import os
import platform
import shutil
import sys
import tempfile
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import typer

from apnc.cli import options as opt
from apnc.cli.declaring import takes
from apnc.cli.printing import show_json, show_lines
from apnc.engines.registry import ENGINES, engine
from apnc.run.budget import available, show_bytes
from apnc.version import __version__

#: Packages that apnc needs, and those that it uses if they are there.
NEEDED = ("numpy", "scipy", "scikit-learn", "numba", "threadpoolctl")
USED = ("pyarrow", "pandas", "polars", "duckdb", "rapidfuzz", "networkx", "bokeh")


@takes(opt.ALWAYS)
def doctor(context: typer.Context) -> None:
    """Say what apnc finds here: versions, cores, memory, BLAS, compiled loops, what engines need.

    Include its output when you report a problem.

    Example: apnc doctor
    """
    found = facts()
    if context.params["as_json"]:
        show_json(found)
    else:
        show_lines({name.replace("_", " "): _told(value) for name, value in found.items()})


def facts() -> dict[str, Any]:
    """What problems depend on."""
    from apnc.loops.compiled import kept_on_disk

    temporary = tempfile.gettempdir()
    return {
        "apnc": __version__,
        "python": f"{platform.python_version()} ({platform.python_implementation()})",
        "system": f"{platform.system()} {platform.release()}, {platform.machine()}",
        "needed": {name: _version(name) for name in NEEDED},
        "used": {name: _version(name) for name in (*USED, *(package for package, _ in ENGINES.values()))},
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory": f"{show_bytes(available())} available",
        "temporary_files": f"{temporary}, {show_bytes(shutil.disk_usage(temporary).free)} free",
        "blas": _blas(),
        "compiled_loops": "kept on disk"
        if kept_on_disk()
        else "compiled in every process: set NUMBA_CACHE_DIR",
        **{name: value for owner in ENGINES for name, value in engine(owner).facts().items()},
        "encoding": sys.stdout.encoding,
    }


def _version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def _blas() -> list[str]:
    from threadpoolctl import threadpool_info

    pools = [pool for pool in threadpool_info() if pool["user_api"] == "blas"]
    return sorted(
        {
            f"{pool['internal_api']} {pool['version']} for {pool.get('architecture', 'any processor')}, "
            f"{pool['num_threads']} threads"
            for pool in pools
        }
    )


def _told(value: Any) -> str:
    if isinstance(value, dict):
        return ", ".join(f"{name} {found or 'missing'}" for name, found in value.items())
    return "; ".join(value) if isinstance(value, list) else str(value)
