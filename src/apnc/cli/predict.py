"""``apnc predict``."""

from collections.abc import Sequence

import typer

from apnc.cli import options as opt
from apnc.cli.applying import SHARED, apply_model, show_result
from apnc.cli.declaring import takes
from apnc.cli.reading import listed
from apnc.outputs import BESIDE, TABLE_KINDS
from apnc.parameters.rules import known_name


@takes(*SHARED, opt.LABELS, opt.BESIDE)
def predict(context: typer.Context) -> None:
    """Label the rows of DATA with the clusters of MODEL.

    Features are matched with those of the fit by name. Example: apnc predict events.apnc new.parquet --labels
    labels.parquet
    """
    labels = context.params["labels"]
    beside = [name for name in BESIDE if name in _asked(context.params["beside"])]
    km, n_rows = apply_model(context, ("predict",), labels, TABLE_KINDS, beside)
    result = {"rows": n_rows, "clusters": len(km.cluster_centers_), "labels": labels}
    show_result(result, context.obj.seconds(), context.params["as_json"])


def _asked(names: Sequence[str] | None) -> set[str]:
    return {known_name("with", name, BESIDE) for name in listed(names)}
