"""``apnc certify``."""

from dataclasses import asdict

import typer

from apnc.checks import TABLE
from apnc.cli import options as opt
from apnc.cli.applying import SHARED, loaded, method_of, rows_of
from apnc.cli.declaring import Declared, option, takes
from apnc.cli.engine_options import engine_commands
from apnc.cli.estimator_options import declared_alone, typed
from apnc.cli.printing import quiet_output, show_json, show_lines
from apnc.parameters import DATA
from apnc.progress.stage import duration

SAMPLING: Declared = {
    **opt.WEIGHTS,
    "n_rows": option(
        DATA,
        "--n-rows",
        "N",
        "Distinct rows in the sample, whose kernel matrix is computed: a number, or auto.",
        default="auto",
    ),
    **declared_alone(TABLE, "random_state"),
}


@takes(*SHARED, SAMPLING)
def certify(context: typer.Context) -> None:
    """Estimate on a sample of DATA how far the labels of MODEL are from those of the exact method.

    For a neighbour graph, the exact method is spectral clustering of the graph of all rows of the sample. Example: apnc
    certify events.apnc events.parquet
    """
    given = context.params
    remote, n_rows = engine_commands(given), given["n_rows"]
    with quiet_output():
        km, configuration = loaded(context)
        find = getattr(km, method_of(km, given["model"], ("certify",)))
        with rows_of(given, configuration, remote) as (source, _):
            found = find(
                source,
                n_rows=int(n_rows) if n_rows.isdecimal() else n_rows,
                random_state=typed(context, TABLE["random_state"]),
            )
    seconds = round(context.obj.seconds(), 3)
    if given["as_json"]:
        show_json({**asdict(found), "seconds": seconds})
    else:
        show_lines({"verdict": found.verdict, **found.lines(), "time": duration(seconds)})
