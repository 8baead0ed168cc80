"""``apnc choose``."""

from collections.abc import Mapping
from typing import Any

import typer
from sklearn.base import clone

from apnc.choosing import Choice
from apnc.choosing import choose as compare
from apnc.choosing.pictures import as_rows
from apnc.cli import options as opt
from apnc.cli.config import given_options
from apnc.cli.declaring import Declared, option, takes
from apnc.cli.engine_options import ENGINE, engine_commands
from apnc.cli.estimator_options import estimator_of
from apnc.cli.failures import say
from apnc.cli.fit import check_targets, fit_and_label, opened_checkpoint, rows, save
from apnc.cli.printing import number, quiet_output, show_json, show_lines, show_table
from apnc.parameters import CLUSTERING
from apnc.progress.stage import duration

NUMBERS: Declared = {
    "k_min": option(
        CLUSTERING, "--k-min", "INTEGER", "Smallest number of clusters to try.", default=2, kind=int
    ),
    "k_max": option(
        CLUSTERING, "--k-max", "INTEGER", "Largest number of clusters to try.", default=20, kind=int
    ),
}


@takes(opt.ROWS, opt.FITTING, NUMBERS, opt.SAVING, opt.KEEPING, ENGINE, opt.SHOWING, opt.ALWAYS)
def choose(context: typer.Context) -> None:
    """Recommend a number of clusters for DATA, or say that there is no clear structure.

    All numbers from --k-min to --k-max are compared on one sample: whether other rows confirm the clusters, and whether
    there are gaps between them. With --model, --labels or both, DATA is then clustered with the recommended number;
    without a recommendation nothing is written.

    Example: apnc choose events.parquet --id-columns key --model events.apnc
    """
    given = context.params
    data, model, labels = given["data"], given["model"], given["labels"]
    remote = engine_commands(given)
    check_targets(data, model, labels, remote)
    if given["k_max"] < given["k_min"]:
        raise ValueError(f"--k-max {given['k_max']} is smaller than --k-min {given['k_min']}.")
    km = estimator_of(context, verbose=0 if given["quiet"] else 1)
    if not hasattr(km, "n_clusters"):
        raise ValueError(f"{type(km).__name__} finds no clusters; choose another --method.")
    with quiet_output(), opened_checkpoint(given) as kept, rows(given, remote) as source:
        numbers = range(given["k_min"], given["k_max"] + 1)
        found = compare(source, km, numbers, fit=False, checkpoint=kept)
        fitted = found.n_clusters is not None and (model is not None or labels is not None)
        if fitted:
            km = clone(km).set_params(n_clusters=found.n_clusters)
            fit_and_label(km, source, labels, remote, kept and kept.part("fit"))
        if fitted and model is not None:
            told = {"reason": found.reason, "hint": found.hint, "table": found.columns}
            save(km, model, labels, {"data": data, **given_options(context), "choice": told})
    result = _result(found, given, fitted, context.obj.seconds())
    show_json(result) if given["as_json"] else _show(found, result)
    if not fitted and (model is not None or labels is not None):
        say("nothing was written: no number of clusters is recommended.")


def _result(found: Choice, given: Mapping[str, Any], fitted: bool, seconds: float) -> dict[str, Any]:
    return {
        "clusters": found.n_clusters,
        "reason": found.reason,
        "hint": found.hint,
        "table": found.columns,
        "instances": found.n_sampled,
        "seconds": round(seconds, 3),
        "model": given["model"] if fitted else None,
        "labels": given["labels"] if fitted else None,
    }


def _show(found: Choice, result: Mapping[str, Any]) -> None:
    show_table([name.replace("_", " ") for name in found.columns], as_rows(found.columns))
    told = {
        "clusters": "no clear structure" if found.n_clusters is None else str(found.n_clusters),
        "reason": found.reason,
        "hint": found.hint,
        "sample": f"{number(found.n_sampled)} distinct rows",
        "time": duration(result["seconds"]),
        "labels": result["labels"],
        "model": result["model"],
    }
    show_lines({name: text for name, text in told.items() if text is not None})
