"""``apnc describe``."""

from pathlib import Path

import typer

from apnc.cli import options as opt
from apnc.cli.applying import SHARED, loaded, method_of, rows_of
from apnc.cli.declaring import takes
from apnc.cli.engine_options import engine_commands
from apnc.cli.printing import quiet_output, show_json, show_text


@takes(*SHARED, opt.WEIGHTS, opt.DESCRIBING)
def describe(context: typer.Context) -> None:
    """Describe the clusters of MODEL by the rows of DATA.

    Shows the size of each cluster, how tight it is, which one is nearest, the features that set it apart, and the rows
    nearest to its centroid. Example: apnc describe events.apnc events.parquet
    """
    given = context.params
    file = given["feature_names"]
    names = None if file is None else Path(file).read_text(encoding="utf-8").splitlines()
    remote = engine_commands(given)
    with quiet_output():
        km, configuration = loaded(context)
        find = getattr(km, method_of(km, given["model"], ("describe",)))
        with rows_of(given, configuration, remote) as (source, _):
            found = find(source, names, given["show"])
    show_json(found.to_dict()) if given["as_json"] else show_text(str(found))
