"""``apnc plan``."""

from typing import Any

import typer

from apnc import KernelKMeans
from apnc.cli import options as opt
from apnc.cli.declaring import REQUIRED, takes
from apnc.cli.fitting import parameters
from apnc.cli.printing import number, show_json, show_lines
from apnc.cli.reading import opened
from apnc.forecast import Forecast
from apnc.memory import show_bytes
from apnc.progress.stage import duration


@takes({"data": (opt.Data, REQUIRED)}, opt.FITTING, opt.LIMITS, opt.ALWAYS)
def plan(context: typer.Context) -> None:
    """Say what `apnc fit` with the same options will take, after a rehearsal of a second or two on some rows.

    Passes, operations, bytes moved, peak memory, disk and seconds; a memory limit that cannot be kept is refused.

    Example: apnc plan events.parquet --clusters 10 --memory-limit 2GB
    """
    given = {**context.params, "quiet": True}
    km = KernelKMeans(given["clusters"], **parameters(given))
    with opened(given["data"], given) as source:
        before = context.obj.seconds()
        found = km.plan(source)
    found.seconds["start-up"] += before
    show_json(result(found)) if given["as_json"] else show_lines(lines(found))


def result(found: Forecast) -> dict[str, Any]:
    """All of the forecast, with the sum of the seconds."""
    return {**vars(found), "seconds_by_stage": found.seconds, "seconds": sum(found.seconds.values())}


def lines(found: Forecast) -> dict[str, str]:
    """The same for people."""
    rows = number(found.n_rows) + ("" if found.counted else ", estimated from the first lines")
    stages = ", ".join(f"{name} {duration(seconds)}" for name, seconds in found.seconds.items())
    over = f"{found.data_passes} over the data, about {found.embedding_passes} over the embedding"
    return {
        "rows": rows,
        "landmarks": number(found.n_landmarks),
        "components": f"{number(found.n_components)} at most",
        "passes": over,
        "operations": f"{found.flops:.3g}",
        "bytes moved": show_bytes(found.bytes_moved),
        "peak memory": show_bytes(found.peak_bytes),
        "temporary file": show_bytes(found.disk_bytes) if found.disk_bytes else "none",
        "time": f"about {duration(sum(found.seconds.values()))}: {stages}",
    }
