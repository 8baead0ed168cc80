"""What a run is identified by: the estimator, its parameters, the data, and the versions that compute."""

import hashlib
from typing import Any

import numpy as np

from apnc.kernels import is_function
from apnc.persistence.constructor import pack_parameters
from apnc.persistence.functions import import_name
from apnc.sources import Source
from apnc.version import __version__

#: Parameters that do not change the result.
IDLE = ("n_jobs", "verbose")


def identity_of(estimator: Any, source: Source, **more: Any) -> dict[str, Any]:
    """JSON values that are equal for two runs with the same result."""
    stored, left = pack_parameters(estimator)
    given = estimator.get_params(deep=False)
    others = {name: described(given[name]) for name in left if name in given}
    kernel = given.get("kernel")
    if is_function(kernel):
        others["kernel"] = import_name(kernel) or "a function without an import name"
    elif not isinstance(kernel, str):
        others["kernel"] = repr(kernel)
    parameters = {name: value for name, value in {**stored, **others}.items() if name not in IDLE}
    return {
        "estimator": type(estimator).__name__,
        **parameters,
        **more,
        "data": source.identity(),
        "versions": {"apnc": __version__, "numpy": np.__version__},
    }


def described(value: Any) -> str:
    """A value without a JSON form: arrays by their content, others by their text."""
    if isinstance(value, np.random.RandomState):
        return "a RandomState"
    if hasattr(value, "__array__") or isinstance(value, list | tuple):
        array = np.asarray(value)
        if array.dtype != object:
            return (
                f"{array.shape} {array.dtype} {hashlib.blake2b(array.tobytes(), digest_size=8).hexdigest()}"
            )
    return " ".join(repr(value).split())[:500]
