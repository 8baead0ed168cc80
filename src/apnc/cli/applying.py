"""``apnc predict`` and ``apnc embed``."""

import os
from collections.abc import Mapping, Sequence
from typing import Any

import typer

from apnc.cli import on_spark
from apnc.cli import options as opt
from apnc.cli.declaring import REQUIRED, Declared, takes
from apnc.cli.printing import number, quiet_output, show_json, show_lines
from apnc.cli.reading import load_model, opened
from apnc.evaluation import count_rows
from apnc.progress.stage import duration
from apnc.writing import EMBEDDING_KINDS, LABEL_KINDS, check_target

READ: Declared = {"model": (opt.Model, REQUIRED), "data": (opt.Data, REQUIRED)}
SHARED = (READ, opt.READING, opt.TRUSTING, opt.LIMITS, opt.PLACE, opt.SHOWING, opt.ALWAYS)


@takes(*SHARED, {"labels": (opt.Labels, REQUIRED)})
def predict(context: typer.Context) -> None:
    """Label the rows of DATA with the clusters of MODEL.

    The features are those of the fit, found by their names. Example: apnc predict events.apnc new.parquet --labels
    labels.parquet
    """
    labels = context.params["labels"]
    km, n_rows = _apply(context.params, "predict", labels, LABEL_KINDS)
    result = {"rows": n_rows, "clusters": len(km.cluster_centers_), "labels": labels}
    _show(result, context.obj.seconds(), context.params["as_json"])


@takes(*SHARED, {"out": (opt.Out, REQUIRED)})
def embed(context: typer.Context) -> None:
    """Write the vectors that the kernel of MODEL makes of the rows of DATA.

    The features are those of the fit, found by their names. Example: apnc embed events.apnc new.parquet --out
    vectors.parquet
    """
    out = context.params["out"]
    km, n_rows = _apply(context.params, "embed", out, EMBEDDING_KINDS)
    result = {"rows": n_rows, "n_components": km.n_components_, "out": out}
    _show(result, context.obj.seconds(), context.params["as_json"])


def _apply(given: Mapping[str, Any], method: str, target: str, kinds: Sequence[str]) -> tuple[Any, int]:
    """The model, after one of its methods has written what it makes of the data, and the number of rows."""
    model, data = given["model"], given["data"]
    spark = on_spark.chosen(given)
    on_spark.check_target(target) if spark else check_target(target, kinds)
    _refuse_same(target, model, data)
    with quiet_output():
        km, origin = load_model(model, data, given)
        _prepare(km, model, given, method)
        if spark:
            return km, _apply_on_spark(km, given, method, target, origin.configuration)
        with opened(data, given, origin.configuration) as source:
            getattr(km, method)(source, to=target)
    return km, count_rows(target)


def _apply_on_spark(
    km: Any, given: Mapping[str, Any], method: str, target: str, configuration: Mapping[str, Any] | None
) -> int:
    name = given["kernel"] or given["trust"]
    if name is not None and ":" in name:
        on_spark.carry_along(name)
    with (
        on_spark.session(given["master"]) as spark,
        opened(given["data"], given, configuration, spark) as source,
    ):
        frame = getattr(km, method)(source)
        on_spark.write(frame, source, frame.columns[-1], target)
        return on_spark.count(spark, target)


def _prepare(km: Any, model: str, given: Mapping[str, Any], method: str) -> None:
    if not hasattr(km, method):
        raise ValueError(
            f"{model} is a {type(km).__name__}, which has no clusters; apnc {method} needs a KernelKMeans, as apnc "
            "fit makes it."
        )
    verbose = 0 if given["quiet"] else 1
    km.set_params(n_jobs=given["threads"], memory_limit=given["memory_limit"], verbose=verbose)


def _refuse_same(target: str, *read: str) -> None:
    for path in read:
        if os.path.realpath(path) == os.path.realpath(target):
            raise ValueError(f"{target} is read, so the result must go to another file.")


def _show(result: dict[str, Any], seconds: float, as_json: bool) -> None:
    result["seconds"] = round(seconds, 3)
    if as_json:
        show_json(result)
        return
    names = {"n_components": "components", "seconds": "time"}
    texts = {name: value if isinstance(value, str) else number(value) for name, value in result.items()}
    texts["seconds"] = duration(result["seconds"])
    show_lines({names.get(name, name): text for name, text in texts.items()})
