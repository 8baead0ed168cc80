"""From a fitted estimator to a model file."""

import os
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from apnc.kernels import CallableKernel, Kernel, NormalizedKernel
from apnc.model import EmbeddingModel
from apnc.persistence.container import Container, Member, ModelFileError, write_container
from apnc.persistence.functions import Functions
from apnc.persistence.kernels import pack_kernel
from apnc.persistence.loading import DISCREPANCIES, FORMAT, VERSION, estimators, read_estimator
from apnc.persistence.parameters import pack_parameters
from apnc.persistence.rows import pack_rows
from apnc.scaling import Scaling
from apnc.writing.atomic import Target, atomic

Packed = tuple[dict[str, Any], dict[str, Member]]


def save(estimator: Any, path: Target, configuration: dict[str, Any] | None = None) -> Path:
    """Write a fitted estimator to a file that ``apnc.load`` reads; it appears whole or not at all.

    Parameters
    ----------
    estimator : a fitted ``KernelKMeans`` or ``KernelEmbedding``.
    path : of the file; an older one is replaced.
    configuration : JSON values that say how the model was made; kept for people to read.

    """
    check_is_fitted(estimator)
    schema, members = pack(estimator)
    schema["configuration"] = configuration
    with atomic(path) as temporary:
        write_container(temporary, schema, members)
        # What cannot be read is not written: the reader checks more than types.
        with open(temporary, "rb") as file:
            function = function_of(estimator._embedding_model.kernel)
            read_estimator(Container(file, str(path)), Functions(function))
    return Path(path)


def function_of(kernel: Kernel) -> Any:
    """The user's function in a kernel, None if it has none."""
    inner = kernel.kernel if isinstance(kernel, NormalizedKernel) else kernel
    return inner.function if isinstance(inner, CallableKernel) else None


def pack(estimator: Any) -> Packed:
    """The schema, without its list of members, and the members."""
    kind: type = type(estimator)
    if kind not in estimators().values():
        raise ModelFileError(
            f"Only {' and '.join(estimators())} can be stored, not the class {kind.__qualname__}: apnc.load "
            "would not know it. Keep it by pickle."
        )
    model, members = pack_model(estimator._embedding_model)
    clusters, more = pack_clusters(estimator)
    schema = {
        "format": FORMAT,
        "version": VERSION,
        "created": now(),
        "written_by": versions(),
        "estimator": kind.__name__,
        **pack_parameters(estimator),
        "features": pack_features(estimator),
        **model,
        "clusters": clusters,
    }
    return schema, {**members, **more}


def now() -> str:
    """The time in UTC, or the one that SOURCE_DATE_EPOCH sets for files that are equal byte by byte."""
    seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
    return datetime.fromtimestamp(seconds, UTC).isoformat()


def versions() -> dict[str, str]:
    """Of what writes the file."""
    from apnc import __version__

    return {"apnc": __version__, "numpy": np.__version__}


def pack_features(estimator: Any) -> dict[str, Any]:
    """Number and names of the features; null where the estimator has none."""
    number, names = getattr(estimator, "n_features_in_", None), getattr(estimator, "feature_names_in_", None)
    return {
        "number": None if number is None else int(number),
        "names": None if names is None else [str(name) for name in names],
    }


def pack_model(model: EmbeddingModel) -> Packed:
    """Kernel and coefficients."""
    coefficients = model.coefficients
    e = next((name for name, kind in DISCREPANCIES.items() if kind is type(coefficients.discrepancy)), None)
    if e is None:
        raise ModelFileError(
            f"A model with the discrepancy {type(coefficients.discrepancy).__name__} cannot be stored, only with "
            f"{' or '.join(kind.__name__ for kind in DISCREPANCIES.values())}. Keep it by pickle."
        )
    kernel, members = pack_kernel(model.kernel)
    scaling, more = pack_scaling(model.scaling)
    members |= more
    blocks = []
    for b, block in enumerate(coefficients.blocks):
        landmarks, more = pack_rows(block.landmarks, f"block_{b}")
        weights = np.asarray(block.weights)
        members |= {f"block_{b}_weights.npy": Member.of_array(weights), **more}
        blocks.append({"n_components": len(weights), "landmarks": landmarks})
    fields = {
        "scaling": scaling,
        "kernel": kernel,
        "discrepancy": e,
        "beta": float(coefficients.scale),
        "dropped": int(coefficients.dropped),
        "negative": float(coefficients.negative),
        "residual": float(model.residual),
        "blocks": blocks,
    }
    return fields, members


def pack_scaling(scaling: Scaling | None) -> tuple[dict[str, Any] | None, dict[str, Member]]:
    """What is done to rows first; None if nothing is."""
    if scaling is None:
        return None, {}
    arrays = {"scaling_shift.npy": scaling.shift, "scaling_factor.npy": scaling.factor}
    return {"kind": scaling.kind}, {name: Member.of_array(array) for name, array in arrays.items()}


def pack_clusters(estimator: Any) -> tuple[dict[str, Any] | None, dict[str, Member]]:
    """Centroids and what the fit found; None for an embedding alone."""
    if not hasattr(estimator, "cluster_centers_"):
        return None, {}
    centroids, sizes = estimator._model.centroids, getattr(estimator, "cluster_sizes_", None)
    members = {"centroids.npy": Member.of_array(centroids)}
    if sizes is not None:
        members["cluster_sizes.npy"] = Member.of_array(np.asarray(sizes))
    fields = {
        "number": len(centroids),
        "inertia": float(estimator.inertia_),
        "n_iter": int(estimator.n_iter_),
        "sizes": sizes is not None,
    }
    return fields, members
