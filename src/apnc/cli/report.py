"""``apnc report``."""

from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import typer

from apnc.cli import options as opt
from apnc.cli.applying import SHARED, loaded, method_of, refuse_same, rows_of, show_result
from apnc.cli.declaring import Declared, option, takes
from apnc.cli.engine_options import engine_commands
from apnc.cli.printing import quiet_output
from apnc.parameters import OUTPUT, REQUIRED
from apnc.report import check_report

PAGE: Declared = {
    "out": option(OUTPUT, "--out", "FILE", "Page to write, which ends in .html.", default=REQUIRED),
    "title": option(OUTPUT, "--title", "TEXT", "Title of the page. By default the name of the data."),
    "no_certificate": option(
        OUTPUT,
        "--no-certificate",
        None,
        "Leave out the comparison with the exact method, which takes a while.",
    ),
    "feature_names": opt.DESCRIBING["feature_names"],
}


@takes(*SHARED, opt.WEIGHTS, PAGE)
def report(context: typer.Context) -> None:
    """Write one page about the clusters of MODEL, as found in the rows of DATA.

    It has the sizes, a map, the tree of clusters, and for each cluster the features that set it apart, prototypes and
    outliers, and it needs no network. It contains rows of the data. Example: apnc report events.apnc events.parquet
    --out report.html
    """
    given = context.params
    out, file = check_report(given["out"]), given["feature_names"]
    refuse_same(given["out"], given["model"], given["data"])
    names = None if file is None else Path(file).read_text(encoding="utf-8").splitlines()
    with quiet_output():
        km, configuration = loaded(context)
        write = getattr(km, method_of(km, given["model"], ("report",)))
        with rows_of(given, configuration, engine_commands(given)) as (source, _):
            certificate = None if given["no_certificate"] else km.certify(source)
            choice = stored_choice(configuration)
            write(
                source, out, title=given["title"], feature_names=names, certificate=certificate, choice=choice
            )
    result = {"clusters": len(km.cluster_centers_), "report": given["out"]}
    show_result(result, context.obj.seconds(), given["as_json"])


def stored_choice(configuration: Mapping[str, Any]) -> Any:
    """What ``apnc choose`` stored in the model; None if it was fitted otherwise, or the file says something else."""
    found = configuration.get("choice")
    if not isinstance(found, dict) or not isinstance(found.get("table"), dict):
        return None
    lengths = {len(column) if isinstance(column, list) else -1 for column in found["table"].values()}
    if len(lengths) != 1 or -1 in lengths or not isinstance(found.get("reason"), str):
        return None
    return SimpleNamespace(reason=found["reason"], hint=found.get("hint"), columns=found["table"])
