"""``apnc plan``."""

from typing import Any

import typer

from apnc.cli import options as opt
from apnc.cli.declaring import takes
from apnc.cli.estimator_options import estimator_of
from apnc.cli.printing import show_json, show_lines
from apnc.cli.reading import opened
from apnc.run.forecast import Forecast


@takes(opt.ROWS, opt.FITTING, opt.ALWAYS)
def plan(context: typer.Context) -> None:
    """Forecast the cost of `apnc fit` with the same options, by a rehearsal of a second or two on some rows.

    Shows passes, operations, bytes moved, peak memory, disk and seconds; refuses a memory limit that is too small.

    Example: apnc plan events.parquet -k 10 --memory-limit 2GB
    """
    given = context.params
    km = estimator_of(context, verbose=1)
    with opened(given["data"], given) as source:
        before = context.obj.seconds()
        found = km.plan(source)
    found.seconds["start-up"] += before
    show_json(result(found)) if given["as_json"] else show_lines(found.lines())


def result(found: Forecast) -> dict[str, Any]:
    """The forecast, with the total of the seconds."""
    return {**vars(found), "seconds_by_stage": found.seconds, "seconds": sum(found.seconds.values())}
