"""Save estimators to model files and load them."""

import os
from pathlib import Path
from typing import Any

from sklearn.utils.validation import check_is_fitted

from apnc.checks import TABLE, check_kernel_choice
from apnc.estimators.base import KernelEstimator
from apnc.estimators.registry import ESTIMATORS, register
from apnc.model import Model
from apnc.outputs.atomic import Target
from apnc.persistence import (
    Container,
    Contents,
    Functions,
    ModelFileError,
    Origin,
    read_contents,
    write_contents,
)
from apnc.persistence.constructor import pack_parameters, unpack_parameters
from apnc.persistence.functions import NAME, imported
from apnc.persistence.record import Fail

NO_LABELS = "labels_ is not part of a model file; predict(X) gives the labels of X."


def save(estimator: Any, path: Target, configuration: dict[str, Any] | None = None) -> Path:
    """Write a fitted estimator to a file that ``load`` reads; the file appears complete or not at all.

    Parameters
    ----------
    estimator : fitted, of a registered class.
    path : of the file; an existing one is replaced.
    configuration : JSON values that describe how the model was made, stored for information.

    """
    check_is_fitted(estimator)
    kind = type(estimator)
    if kind not in ESTIMATORS.values():
        raise ModelFileError(
            f"Only {', '.join(known())} can be stored, not the class {kind.__qualname__}, unknown to apnc.load. "
            "Register it with apnc.estimators.register, or save it with pickle."
        )
    contents = Contents(
        class_name(kind), *pack_parameters(estimator), Origin.here(configuration), estimator._model
    )
    return write_contents(path, contents, read_estimator)


def load(path: str | os.PathLike[str], kernel: Any = None, trust: Any = None) -> Any:
    """Read a fitted estimator from a file written by its ``save``.

    The file is data: nothing in it is run or imported, and all of it is checked first.

    Parameters
    ----------
    path : of the file.
    kernel : the kernel function, for a model with one. Its import name must be the stored one (a lambda or a local
        function has none; then any function is accepted), and it must return the stored values for some landmarks.
    trust : str or sequence of str, "package.module:name": the kernel function, instead of ``kernel``, or the class of
        an estimator from another package. Only what the file names and you trust is imported.

    Returns
    -------
    A fitted estimator, such as ``KernelKMeans``.

    Raises
    ------
    ModelFileError
        If the file is damaged, is not a model file, or needs a function or class that was not passed or trusted.

    """
    return read(path, Functions(kernel, trust))[0]


def read(path: str | os.PathLike[str], functions: Functions) -> tuple[Any, Origin]:
    """The estimator in a file, and the file's origin.

    With ``NoFunctions()`` the file is only inspected: all of it is checked, but a kernel function is not imported, and
    the estimator cannot predict without it.
    """
    with open(path, "rb") as file:
        return read_estimator(Container(file, str(path)), functions)


def read_estimator(container: Container, functions: Functions) -> tuple[Any, Origin]:
    """The estimator in an open file, and the file's origin."""
    contents, fail = read_contents(container, functions), container.schema_error
    kind = find_class(contents.estimator, functions, fail)
    estimator = kind(**unpack_parameters(contents.parameters, kind, fail))
    set_kernel(estimator, contents.model, fail)
    if (contents.model.clusters is None) == hasattr(estimator, "n_clusters"):
        there = "null" if contents.model.clusters is None else "there"
        raise fail(f"model.clusters is {there}, which is not for a {kind.__name__}")
    estimator._restore(contents.model)
    estimator._no_labels = NO_LABELS
    return estimator, contents.origin


def class_name(kind: type) -> str:
    """The name of a class in model files: with its module, unless it is part of apnc."""
    ours = kind.__module__.split(".")[0] == __name__.split(".")[0]
    return kind.__name__ if ours else f"{kind.__module__}:{kind.__qualname__}"


def known() -> dict[str, Any]:
    """Registered classes by their name in model files."""
    return {class_name(kind): kind for kind in ESTIMATORS.values()}


def find_class(name: str, functions: Functions, fail: Fail) -> Any:
    """A registered class, or one that the user trusts."""
    if name in known():
        return known()[name]
    if name in functions.trusted:
        found = imported(name, fail)
        if not isinstance(found, type) or not issubclass(found, KernelEstimator):
            raise fail(f"{name} is not an apnc estimator")
        try:
            return known()[name] if name in known() else register(name, found)
        except ValueError as error:
            raise fail(str(error).rstrip(".")) from error
    if not NAME.fullmatch(name):
        raise fail(f"estimator is {name!r:.80}, expected one of {', '.join(known())}")
    raise fail(
        f"the estimator is the class {name}, which is unknown here, and a file cannot make apnc import it. Import "
        f"{name.partition(':')[0]} and register the class first, or apnc.load(path, trust={name!r}) to have it imported"
    )


def set_kernel(estimator: Any, model: Model, fail: Fail) -> None:
    """Set a kernel that is not among the stored parameters; the others must be those of the fit."""
    asked = model.embedding.kernel.asked_for(getattr(estimator, "normalize_kernel", "auto"))
    if TABLE["kernel"].check(estimator.kernel) == asked.get("kernel"):
        # A kernel described by text stays so.
        del asked["kernel"]
    elif callable(asked.get("kernel")):
        estimator.kernel = asked["kernel"]
    for name, fitted in asked.items():
        found = getattr(estimator, name, None)
        if (found or None) != (fitted or None):
            raise fail(
                f"parameters.{name} is {found!r:.80}, but the model was fitted with {fitted!r:.80}; fit again"
            )
    try:
        check_kernel_choice(estimator)
    except ValueError as error:
        raise fail(f"parameters: {str(error).rstrip('.')}") from error
