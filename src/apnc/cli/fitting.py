"""``apnc fit``."""

import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import typer
from sklearn.exceptions import ConvergenceWarning

from apnc import KernelKMeans
from apnc.cli import on_spark
from apnc.cli import options as opt
from apnc.cli.config import effective
from apnc.cli.declaring import REQUIRED, Declared, takes
from apnc.cli.failures import EXPECTED, NOT_CONVERGED, explained, say
from apnc.cli.printing import features, number, quiet_output, show_json, show_lines, sizes
from apnc.cli.reading import STANDARD_INPUT, function_named, opened
from apnc.kernels import KERNELS
from apnc.progress.stage import duration
from apnc.sources import refuse_overwriting
from apnc.validation import known_name
from apnc.writing import LABEL_KINDS, check_target
from apnc.writing.atomic import check_writable

SAVING: Declared = {"model": (opt.SaveModel, None), "labels": (opt.SaveLabels, None)}
JUDGING: Declared = {**opt.SHOWING, "strict": (opt.Strict, False)}


@takes({"data": (opt.Data, REQUIRED)}, opt.FITTING, SAVING, opt.LIMITS, opt.PLACE, JUDGING, opt.ALWAYS)
def fit(context: typer.Context) -> None:
    """Find clusters in DATA; write a model, labels, or both.

    Example: apnc fit events.parquet --clusters 10 --id-column key --model events.apnc --labels labels.parquet
    """
    given = context.params
    data, model, labels = given["data"], given["model"], given["labels"]
    spark = on_spark.chosen(given)
    _check_targets(data, model, labels, spark)
    km = KernelKMeans(given["clusters"], **parameters(given))
    with quiet_output():
        if spark:
            _fit_on_spark(km, given)
        else:
            with opened(data, given) as source:
                km.fit(source, labels_to=labels)
        if model is not None:
            _save(km, model, labels, {"data": data, **effective(context)})
    result = _result(km, given, not context.obj.warned_of(ConvergenceWarning), context.obj.seconds())
    show_json(result) if given["as_json"] else show_lines(_summary(result))
    if given["strict"] and not result["converged"]:
        raise typer.Exit(NOT_CONVERGED)


def _fit_on_spark(km: KernelKMeans, given: Mapping[str, Any]) -> None:
    if ":" in given["kernel"]:
        on_spark.carry_along(given["kernel"])
    with on_spark.session(given["master"]) as spark, opened(given["data"], given, spark=spark) as source:
        km.fit(source)
        if given["labels"] is not None:
            on_spark.write(km.predict(source), source, "label", given["labels"])


def _check_targets(data: str, model: str | None, labels: str | None, spark: bool) -> None:
    """Before anything is read: both files can be written, and neither is the data or the other one."""
    if model is None and labels is None:
        raise ValueError(
            "Nothing would be kept. Name a file for the model (--model), the labels (--labels), or both."
        )
    if labels is not None and spark:
        on_spark.check_target(labels)
    elif labels is not None:
        check_target(labels, LABEL_KINDS)
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


def parameters(given: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters of the estimator."""
    kernel = given["kernel"]
    if kernel == "precomputed":
        raise ValueError(
            "--kernel precomputed: a kernel matrix is clustered in Python, by apnc.KernelKMeans."
        )
    same = ("coef0", "degree", "normalize_kernel", "embedding", "init", "max_iter", "tol", "memory_limit")
    scale = known_name("scale", given["scale"], opt.SCALES)
    return {
        **{name: given[name] for name in same},
        "kernel": function_named(kernel) if ":" in kernel else known_name("kernel", kernel, KERNELS),
        "gamma": None if given["gamma"] is None else number_or_word("gamma", given["gamma"], "local", float),
        "n_landmarks": number_or_word("landmarks", given["landmarks"], "auto"),
        "n_components": number_or_word("components", given["components"], "auto"),
        "n_init": number_or_word("n-init", given["n_init"], "auto"),
        "scale": None if scale == "none" else scale,
        "random_state": given["seed"],
        "n_jobs": given["threads"],
        "verbose": 0 if given["quiet"] else 1,
    }


def number_or_word(option: str, value: str, word: str, kind: type[int] | type[float] = int) -> Any:
    """A number, or the word that stands for one."""
    if value == word:
        return value
    try:
        return kind(value)
    except ValueError:
        what = "a whole number" if kind is int else "a number"
        raise ValueError(f"--{option} {value} must be {what} or {word}.") from None


def _save(km: Any, model: str, labels: str | None, configuration: dict[str, Any]) -> None:
    there = "" if labels is None else f"{labels} is written, but not the model"
    try:
        km.save(model, configuration)
    except EXPECTED as error:
        raise ValueError(f"{there}: {explained(error)}" if there else explained(error)) from error
    except BaseException:
        if there:
            say(f"{there}.")
        raise


def _result(km: Any, given: Mapping[str, Any], converged: bool, seconds: float) -> dict[str, Any]:
    labels, names = given["labels"], getattr(km, "feature_names_in_", None)
    return {
        "rows": km._n_rows,
        "n_features": getattr(km, "n_features_in_", None) or None,
        "features": None if names is None else list(names),
        "clusters": km.n_clusters,
        "cluster_sizes": km.cluster_sizes_,
        "n_iter": km.n_iter_,
        "converged": converged,
        "inertia": km.inertia_,
        "residual": km.residual_,
        "gamma": km.gamma_,
        "n_landmarks": km.n_landmarks_,
        "n_components": km.n_components_,
        "seconds": round(seconds, 3),
        "model": given["model"],
        "labels": labels,
    }


def _summary(result: Mapping[str, Any]) -> dict[str, str]:
    state = "converged" if result["converged"] else "not converged"
    lines = {
        "rows": number(result["rows"]),
        "features": features(result["n_features"], result["features"]) if result["n_features"] else "objects",
        "clusters": f"{result['clusters']} of sizes {sizes(result['cluster_sizes'])}",
        "iterations": f"{result['n_iter']}, {state}",
        "inertia": number(result["inertia"]),
        "landmarks": f"{result['n_landmarks']}, {result['n_components']} components",
        "residual": f"{result['residual']:.3g} (0 is a perfect embedding)",
        "gamma": number(result["gamma"]),
        "time": duration(result["seconds"]),
    }
    files = {name: str(Path(result[name])) for name in ("labels", "model") if result[name] is not None}
    return {**lines, **files}
