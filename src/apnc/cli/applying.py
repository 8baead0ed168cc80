"""``apnc predict`` and ``apnc embed``."""

import os
import time
from collections.abc import Mapping
from typing import Any

import typer

from apnc.cli import options as opt
from apnc.cli.printing import number, quiet_output, show_json, show_lines
from apnc.cli.reading import load_model, opened
from apnc.evaluation import count_rows
from apnc.progress.stage import duration
from apnc.writing import EMBEDDING_KINDS, LABEL_KINDS, check_target


def predict(
    context: typer.Context,
    model: opt.Model,
    data: opt.Data,
    *,
    columns: opt.Columns = None,
    exclude: opt.Exclude = None,
    id_column: opt.IdColumn = None,
    drop_null: opt.DropNull = False,
    format: opt.Format = None,
    object_field: opt.ObjectField = None,
    kernel: opt.KernelAgain = None,
    trust: opt.Trust = None,
    labels: opt.Labels,
    as_json: opt.Json = False,
    memory_limit: opt.MemoryLimit = None,
    threads: opt.Threads = None,
    config: opt.Config = None,
    debug: opt.Debug = False,
) -> None:
    """Label the rows of DATA with the clusters of MODEL.

    Example: apnc predict events.apnc new.parquet --id-column key --labels labels.parquet
    """
    started = time.perf_counter()
    check_target(labels, LABEL_KINDS)
    _refuse_same(labels, model, data)
    with quiet_output():
        km = _loaded(model, context.params, "predict")
        with opened(data, context.params) as source:
            km.predict(source, to=labels)
    result = {"rows": count_rows(labels), "clusters": len(km.cluster_centers_), "labels": labels}
    _show(result, started, as_json)


def embed(
    context: typer.Context,
    model: opt.Model,
    data: opt.Data,
    *,
    columns: opt.Columns = None,
    exclude: opt.Exclude = None,
    id_column: opt.IdColumn = None,
    drop_null: opt.DropNull = False,
    format: opt.Format = None,
    object_field: opt.ObjectField = None,
    kernel: opt.KernelAgain = None,
    trust: opt.Trust = None,
    out: opt.Out,
    as_json: opt.Json = False,
    memory_limit: opt.MemoryLimit = None,
    threads: opt.Threads = None,
    config: opt.Config = None,
    debug: opt.Debug = False,
) -> None:
    """Write the vectors that the kernel of MODEL makes of the rows of DATA.

    Example: apnc embed events.apnc new.parquet --out vectors.npy
    """
    started = time.perf_counter()
    check_target(out, EMBEDDING_KINDS)
    _refuse_same(out, model, data)
    with quiet_output():
        km = _loaded(model, context.params, "embed")
        with opened(data, context.params) as source:
            km.embed(source, to=out)
    result = {"rows": count_rows(out), "n_components": km.n_components_, "out": out}
    _show(result, started, as_json)


def _loaded(model: str, given: Mapping[str, Any], method: str) -> Any:
    km = load_model(model, given)
    if not hasattr(km, method):
        raise ValueError(
            f"{model} is a {type(km).__name__}, which has no clusters; apnc {method} needs a KernelKMeans, as apnc "
            "fit makes it."
        )
    return km.set_params(n_jobs=given["threads"], memory_limit=given["memory_limit"])


def _refuse_same(target: str, *read: str) -> None:
    for path in read:
        if os.path.realpath(path) == os.path.realpath(target):
            raise ValueError(f"{target} is read, so the result must go to another file.")


def _show(result: dict[str, Any], started: float, as_json: bool) -> None:
    result["seconds"] = round(time.perf_counter() - started, 3)
    if as_json:
        show_json(result)
        return
    names = {"n_components": "components", "seconds": "time"}
    texts = {name: value if isinstance(value, str) else number(value) for name, value in result.items()}
    texts["seconds"] = duration(result["seconds"])
    show_lines({names.get(name, name): text for name, text in texts.items()})
