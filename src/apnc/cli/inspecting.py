"""``apnc inspect``."""

from typing import Any

import typer

from apnc.cli import options as opt
from apnc.cli.printing import number, show_json, show_lines, sizes
from apnc.cli.reading import load_model
from apnc.persistence.container import Container

#: Names that a line shows.
SHOWN = 20


@opt.takes({"model": (opt.Model, opt.REQUIRED)}, opt.TRUSTING, opt.ALWAYS)
def inspect(context: typer.Context) -> None:
    """Say what is in MODEL: what it is, how it was made, how large the clusters are, how good the embedding is.

    Example: apnc inspect events.apnc
    """
    model = context.params["model"]
    result = {**_origin(model), **_facts(load_model(model, context.params))}
    show_json(result) if context.params["as_json"] else show_lines(_lines(result))


def _origin(model: str) -> dict[str, Any]:
    """When, by what and with which options the file was written."""
    with open(model, "rb") as file:
        schema = Container(file, model).schema
        names = ("created", "written_by", "configuration")
        return {"model": model, **{name: schema.take(name) for name in names if name in schema.names}}


def _facts(km: Any) -> dict[str, Any]:
    """What the estimator knows of itself."""
    fitted = km._embedding_model
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
        "residual": km.residual_,
        "clusters": len(km.cluster_centers_) if hasattr(km, "cluster_centers_") else None,
        "cluster_sizes": getattr(km, "cluster_sizes_", None),
        "inertia": getattr(km, "inertia_", None),
        "n_iter": getattr(km, "n_iter_", None),
        "parameters": parameters,
    }


def _named(value: Any) -> Any:
    """A parameter as JSON has it; functions and embeddings by their names."""
    if callable(value):
        return f"{value.__module__}:{value.__qualname__}"
    return value if isinstance(value, str | int | float | bool | dict | None) else repr(value)


def _lines(result: dict[str, Any]) -> dict[str, str]:
    lines = {"model": f"{result['estimator']} in {result['model']}"}
    if "created" in result:
        by = ", ".join(f"{name} {version}" for name, version in result["written_by"].items())
        lines["written"] = f"{result['created']} by {by}"
    if result["features"] is not None:
        more = ", ..." if len(result["features"]) > SHOWN else ""
        lines["features"] = f"{result['n_features']}: {', '.join(result['features'][:SHOWN])}{more}"
    elif result["n_features"]:
        lines["features"] = str(result["n_features"])
    gamma = "" if result["gamma"] is None else f", gamma {number(result['gamma'])}"
    lines["kernel"] = f"{result['kernel']}{gamma}"
    lines["landmarks"] = str(result["n_landmarks"])
    lines["rank"] = f"{result['n_components']} kept, {result['dropped']} dropped as zero or noise"
    lines["residual"] = f"{result['residual']:.3g} (0 is a perfect embedding)"
    return {**lines, **_cluster_lines(result)}


def _cluster_lines(result: dict[str, Any]) -> dict[str, str]:
    lines = {}
    if result["clusters"] is not None:
        known = result["cluster_sizes"]
        of = "" if known is None else f" of sizes {sizes(known)}"
        lines["clusters"] = f"{result['clusters']}{of}"
        lines["inertia"] = f"{number(result['inertia'])} after {result['n_iter']} iterations"
    changed = result.get("configuration") or result["parameters"]
    lines["options"] = ", ".join(f"{name}={value}" for name, value in changed.items() if value is not None)
    return lines
