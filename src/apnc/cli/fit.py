"""``apnc fit``."""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import typer
from sklearn.exceptions import ConvergenceWarning

from apnc.cli import options as opt
from apnc.cli.config import given_options
from apnc.cli.declaring import takes
from apnc.cli.engine_options import ENGINE, engine_commands
from apnc.cli.estimator_options import estimator_of
from apnc.cli.failures import EXPECTED, NOT_CONVERGED, explained, say
from apnc.cli.printing import features, number, quality, quiet_output, show_json, show_lines, sizes
from apnc.cli.reading import STANDARD_INPUT
from apnc.cli.reading import opened as opened_rows
from apnc.outputs import TABLE_KINDS, check_target
from apnc.outputs.atomic import check_writable
from apnc.persistence.checkpoint import opened
from apnc.progress.stage import duration
from apnc.sources import Source, refuse_overwriting


@takes(opt.ROWS, opt.FITTING, opt.SAVING, opt.KEEPING, ENGINE, opt.SHOWING, opt.STRICT, opt.ALWAYS)
def fit(context: typer.Context) -> None:
    """Find clusters in DATA; write a model, labels, or both.

    Example: apnc fit events.parquet -k 10 --id-columns key --model events.apnc --labels labels.parquet
    """
    given = context.params
    data, model, labels = given["data"], given["model"], given["labels"]
    remote = engine_commands(given)
    if model is None and labels is None:
        raise ValueError("Nothing to write: pass --model, --labels or both.")
    check_targets(data, model, labels, remote)
    km = estimator_of(context, verbose=0 if given["quiet"] else 1)
    if labels is not None and not hasattr(km, "predict"):
        raise ValueError(
            f"{type(km).__name__} finds no clusters, so there are no labels: pass --model alone."
        )
    with quiet_output(), opened_checkpoint(given) as kept:
        with rows(given, remote) as source:
            fit_and_label(km, source, labels, remote, kept)
        if model is not None:
            save(km, model, labels, {"data": data, **given_options(context)})
    converged = not context.obj.warned_of(ConvergenceWarning) if hasattr(km, "n_iter_") else None
    result = _result(km, given, converged, context.obj.seconds())
    show_json(result) if given["as_json"] else show_lines(_summary(result))
    if given["strict"] and converged is False:
        raise typer.Exit(NOT_CONVERGED)


@contextmanager
def rows(given: Mapping[str, Any], remote: Any) -> Iterator[Source]:
    """The data as a source, on this machine or on another engine."""
    if remote is None:
        with opened_rows(given["data"], given) as source:
            yield source
        return
    for name in (given["kernel"], given["method"]):
        if ":" in name:
            remote.carry_along(name)
    with (
        remote.session(given) as session,
        opened_rows(given["data"], given, reads=partial(remote.opened, session)) as source,
    ):
        yield source


def opened_checkpoint(given: Mapping[str, Any]) -> Any:
    """A context with the checkpoint of --checkpoint, or None; it is removed after all files are written."""
    folder, data = given["checkpoint"], given["data"]
    if folder is not None and data != STANDARD_INPUT:
        refuse_overwriting(data, folder)
    return opened(folder)


def fit_and_label(km: Any, source: Source, labels: str | None, remote: Any, kept: Any) -> None:
    """Fit, and write the labels if a file or, on another engine, a folder is named."""
    if labels is None or remote is not None:
        km.fit(source, checkpoint=kept)
    else:
        km.fit(source, to=labels, checkpoint=kept)
    if labels is not None and remote is not None:
        remote.write(km.predict(source), source, labels)


def check_targets(data: str, model: str | None, labels: str | None, remote: Any) -> None:
    """Check before reading that both files can be written and differ from the data and each other."""
    if labels is not None and remote is not None:
        remote.check_target(labels)
    elif labels is not None:
        check_target(labels, TABLE_KINDS)
    if model is not None:
        check_writable(model)
    named = [
        os.path.realpath(path) for path in (model, labels, None if data == STANDARD_INPUT else data) if path
    ]
    if len(set(named)) < len(named):
        raise ValueError("--model, --labels and the data must be different files.")
    for target in (model, labels):
        if target is not None and data != STANDARD_INPUT:
            refuse_overwriting(data, target)


def save(km: Any, model: str, labels: str | None, configuration: dict[str, Any]) -> None:
    """Write the model; an error says whether the labels were written before."""
    there = "" if labels is None else f"{labels} was written, but not the model"
    try:
        km.save(model, configuration)
    except EXPECTED as error:
        raise ValueError(f"{there}: {explained(error)}" if there else explained(error)) from error
    except BaseException:
        if there:
            say(f"{there}.")
        raise


def _result(km: Any, given: Mapping[str, Any], converged: bool | None, seconds: float) -> dict[str, Any]:
    labels, names = given["labels"], getattr(km, "feature_names_in_", None)
    return {
        "rows": getattr(km, "_n_rows", None),
        "n_features": getattr(km, "n_features_in_", None) or None,
        "features": None if names is None else list(names),
        "clusters": getattr(km, "n_clusters", None),
        "cluster_sizes": getattr(km, "cluster_sizes_", None),
        "n_iter": getattr(km, "n_iter_", None),
        "converged": converged,
        "inertia": getattr(km, "inertia_", None),
        "residual": getattr(km, "residual_", None),
        "eigenvalues": getattr(km, "eigenvalues_", None),
        "connected_components": getattr(km, "n_connected_components_", None),
        "gamma": km.gamma_,
        "n_landmarks": km.n_landmarks_,
        "n_components": km.n_components_,
        "seconds": round(seconds, 3),
        "model": given["model"],
        "labels": labels,
    }


def _summary(result: Mapping[str, Any]) -> dict[str, str]:
    lines = {} if result["rows"] is None else {"rows": number(result["rows"])}
    lines["features"] = (
        features(result["n_features"], result["features"]) if result["n_features"] else "objects"
    )
    if result["clusters"] is not None:
        state = "converged" if result["converged"] else "not converged"
        lines["clusters"] = f"{result['clusters']} of sizes {sizes(result['cluster_sizes'])}"
        lines["iterations"] = f"{result['n_iter']}, {state}"
        lines["inertia"] = number(result["inertia"])
    lines |= {
        "landmarks": f"{result['n_landmarks']}, {result['n_components']} components",
        **quality(result),
        "gamma": number(result["gamma"]),
        "time": duration(result["seconds"]),
    }
    files = {name: str(Path(result[name])) for name in ("labels", "model") if result[name] is not None}
    return {**lines, **files}
