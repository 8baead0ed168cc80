"""``apnc embed``."""

import typer

from apnc.cli import options as opt
from apnc.cli.applying import SHARED, apply_model, show_result
from apnc.cli.declaring import takes
from apnc.outputs import ARRAY_KINDS


@takes(*SHARED, opt.VECTORS)
def embed(context: typer.Context) -> None:
    """Embed the rows of DATA with MODEL, and write the vectors.

    Features are matched with those of the fit by name. Example: apnc embed events.apnc new.parquet --out
    vectors.parquet
    """
    out = context.params["out"]
    km, n_rows = apply_model(context, ("embed", "transform"), out, ARRAY_KINDS)
    result = {"rows": n_rows, "n_components": km.n_components_, "out": out}
    show_result(result, context.obj.seconds(), context.params["as_json"])
