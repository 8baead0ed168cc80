"""``apnc inspect``."""

from typing import Any

import typer

from apnc.cli import options as opt
from apnc.cli.declaring import takes
from apnc.cli.printing import counted, features, number, quality, show_json, show_lines, sizes
from apnc.estimators.saving import read
from apnc.persistence import NoFunctions, Origin
from apnc.persistence.functions import Absent


@takes(opt.MODEL, opt.ALWAYS)
def inspect(context: typer.Context) -> None:
    """Describe MODEL: its parameters and origin, the sizes of its clusters, and the quality of the embedding.

    A kernel function is shown by name, without importing it.

    Example: apnc inspect events.apnc
    """
    model = context.params["model"]
    km, origin = read(model, NoFunctions())
    result = {"model": model, **_origin(origin), **_facts(km)}
    show_json(result) if context.params["as_json"] else show_lines(_lines(result))


def _origin(origin: Origin) -> dict[str, Any]:
    told = {"created": origin.created, "written_by": origin.written_by}
    return {**told, "configuration": origin.configuration or None}


def _facts(km: Any) -> dict[str, Any]:
    """Facts about the estimator."""
    fitted = km._model.embedding
    parameters = {name: _named(value) for name, value in km.get_params(deep=False).items()}
    names = getattr(km, "feature_names_in_", None)
    return {
        "estimator": type(km).__name__,
        "kernel": _named(km.kernel),
        "gamma": km.gamma_,
        "n_features": getattr(km, "n_features_in_", None),
        "features": None if names is None else list(names),
        "n_landmarks": km.n_landmarks_,
        "n_components": km.n_components_,
        "dropped": fitted.coefficients.dropped,
        "negative": fitted.coefficients.negative,
        "residual": getattr(km, "residual_", None),
        "eigenvalues": getattr(km, "eigenvalues_", None),
        "connected_components": getattr(km, "n_connected_components_", None),
        "clusters": len(km.cluster_centers_) if hasattr(km, "cluster_centers_") else None,
        "cluster_sizes": getattr(km, "cluster_sizes_", None),
        "inertia": getattr(km, "inertia_", None),
        "n_iter": getattr(km, "n_iter_", None),
        "parameters": parameters,
    }


def _named(value: Any) -> Any:
    """A parameter as a JSON value; functions and embeddings by name."""
    if isinstance(value, Absent):
        return value.name or str(value)
    return value if isinstance(value, str | int | float | bool | dict | None) else repr(value)


def _lines(result: dict[str, Any]) -> dict[str, str]:
    lines = {"model": f"{result['estimator']} in {result['model']}"}
    by = ", ".join(f"{name} {version}" for name, version in result["written_by"].items())
    lines["written"] = f"{result['created']} by {by}"
    if result["n_features"]:
        lines["features"] = features(result["n_features"], result["features"])
    gamma = "" if result["gamma"] is None else f", gamma {number(result['gamma'])}"
    lines["kernel"] = f"{result['kernel']}{gamma}"
    lines["landmarks"] = str(result["n_landmarks"])
    lines["components"] = f"{result['n_components']}{_rank(result)}"
    return {**lines, **quality(result), **_cluster_lines(result)}


def _rank(result: dict[str, Any]) -> str:
    """How many components there could be; a graph has no such number."""
    if result["residual"] is None:
        return ""
    noise = f" ({result['dropped']} eigenvalues are zero or noise)" if result["dropped"] else ""
    return f", of rank {result['n_landmarks'] - result['dropped']}{noise}"


def _cluster_lines(result: dict[str, Any]) -> dict[str, str]:
    lines = {}
    if result["clusters"] is not None:
        known = result["cluster_sizes"]
        of = "" if known is None else f" of sizes {sizes(known)}"
        lines["clusters"] = f"{result['clusters']}{of}"
        lines["inertia"] = f"{number(result['inertia'])} after {counted(result['n_iter'], 'iteration')}"
    changed = result.get("configuration") or result["parameters"]
    lines["options"] = ", ".join(_option(name, value) for name, value in changed.items() if _is_set(value))
    return lines


def _is_set(value: Any) -> bool:
    """Whether an option was given; the table of a choice is none."""
    return value is not None and value is not False and not isinstance(value, dict)


def _option(name: str, value: Any) -> str:
    if value is True:
        return name
    return f"{name}={','.join(map(str, value)) if isinstance(value, list) else value}"
