"""Registry of all estimators, for the command line, model files and Spark."""

from collections.abc import Iterable
from typing import Any, TypeVar

from apnc.checks import bring_rows
from apnc.parameters import Parameter

T = TypeVar("T", bound=type)

#: Estimators by method.
ESTIMATORS: dict[str, Any] = {}


def register(method: str, kind: T, parameters: Iterable[Parameter] = ()) -> T:
    """Make an estimator known to model files, the command line and Spark.

    Parameters
    ----------
    method : its name in ``apnc fit --method``.
    kind : the class, a subclass of ``KernelEstimator``.
    parameters : rows for constructor parameters that are not in the table (``apnc.parameters``).

    """
    known = ESTIMATORS.get(method, kind)
    if (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        raise ValueError(f"method {method!r} is already taken by {known.__qualname__}; choose another name.")
    bring_rows(kind, parameters)
    ESTIMATORS[method] = kind
    return kind
