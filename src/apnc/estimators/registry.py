"""All estimators, by the name of their method on the command line and of their class in model files."""

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
    method : what ``apnc fit --method`` calls it.
    kind : the class, a subclass of ``KernelEstimator``.
    parameters : rows of those parameters of its constructor that the table (``apnc.parameters``) lacks.

    """
    known = ESTIMATORS.get(method, kind)
    if (known.__module__, known.__qualname__) != (kind.__module__, kind.__qualname__):
        raise ValueError(f"method {method!r} is {known.__qualname__} already; choose another name.")
    bring_rows(kind, parameters)
    ESTIMATORS[method] = kind
    return kind
