"""``apnc predict``."""

import typer

from apnc.cli import options as opt
from apnc.cli.applying import SHARED, apply_model, show_result
from apnc.cli.declaring import takes
from apnc.outputs import TABLE_KINDS


@takes(*SHARED, opt.LABELS)
def predict(context: typer.Context) -> None:
    """Label the rows of DATA with the clusters of MODEL.

    Features are matched with those of the fit by name. Example: apnc predict events.apnc new.parquet --labels
    labels.parquet
    """
    labels = context.params["labels"]
    km, n_rows = apply_model(context, ("predict",), labels, TABLE_KINDS)
    result = {"rows": n_rows, "clusters": len(km.cluster_centers_), "labels": labels}
    show_result(result, context.obj.seconds(), context.params["as_json"])
