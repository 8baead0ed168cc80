"""Reading of data, model files and kernel functions for the commands."""

import importlib
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from apnc import sources
from apnc.checks import TABLE
from apnc.estimators.saving import read
from apnc.persistence import Functions, ModelFileError, Origin, is_model_file
from apnc.sources import Source, SourceError
from apnc.sources.files import DataFile
from apnc.sources.spool import copied

STANDARD_INPUT = "-"


@contextmanager
def opened(
    data: str,
    given: Mapping[str, Any],
    configuration: Mapping[str, Any] | None = None,
    reads: Callable[..., Source] | None = None,
) -> Iterator[Source]:
    """Open a source by the options, or where they are silent, by those of the model's fit.

    ``reads`` is the reader of another engine. Standard input is copied to a temporary file, since it is read several
    times.
    """
    format = given["format"] or ("csv" if data == STANDARD_INPUT else sources.format_of(data))
    request = _requested(given)
    recalled = {} if configuration is None else _recalled(configuration, request, format)
    if reads is not None and data == STANDARD_INPUT:
        raise ValueError(f"--engine {given['engine']} reads files, not standard input.")
    if reads is not None:
        yield reads(data, {**request, **recalled}, format)
        return
    if data != STANDARD_INPUT:
        yield _open(data, format, request, recalled)
        return
    spool = copied(sys.stdin.buffer, "standard input")
    try:
        file = DataFile(spool.path, label="standard input", spool=spool)
        yield _open(file, format, request, recalled)
    finally:
        spool.remove()


def _requested(given: Mapping[str, Any]) -> dict[str, Any]:
    """The command line's options for the data; None if not given, so that the model's options apply."""
    return {
        "columns": listed(given.get("columns")) or None,
        "exclude": listed(given.get("exclude")),
        "id_columns": listed(given["id_columns"]) if given["id_columns"] else None,
        "weight_column": given.get("weight_column"),
        "drop_null": given["drop_null"],
        "object_field": given["object_field"],
        "separator": character(given["separator"]),
    }


def _recalled(configuration: Mapping[str, Any], request: Mapping[str, Any], format: str) -> dict[str, Any]:
    """The fit's options for its data that the command line does not override."""
    ids = configuration.get("id-columns")
    kept = {
        "id_columns": listed(ids) if isinstance(ids, list) and all(isinstance(i, str) for i in ids) else (),
        "object_field": configuration.get("object-field"),
        "separator": character(configuration.get("separator")),
    }
    kept = {name: value for name, value in kept.items() if value and isinstance(value, str | tuple)}
    suits = ("id_columns", *sources.FORMATS[format].takes) if format in sources.FORMATS else ()
    return {name: value for name, value in kept.items() if request[name] is None and name in suits}


def _open(data: Any, format: str, request: Mapping[str, Any], recalled: Mapping[str, Any]) -> Source:
    options = {**request, **recalled}
    options["id_columns"] = options["id_columns"] or ()
    # Empty text clears what the model remembers.
    options["object_field"] = options["object_field"] or None
    try:
        return sources.open(data, format=format, **options)
    except SourceError as error:
        if "id_columns" not in recalled or not _opens(data, format, {**options, "id_columns": ()}):
            raise
        ids = ", ".join(recalled["id_columns"])
        raise ValueError(
            f"{error} The model was fitted with --id-columns {ids}, which is written in front of the results. Name "
            'another column with --id-columns, or none with --id-columns "".'
        ) from error


def _opens(data: Any, format: str, options: Mapping[str, Any]) -> bool:
    try:
        sources.open(data, format=format, **options)
    except SourceError:
        return False
    return True


def character(separator: str | None) -> str | None:
    r"""A separator as typed: \\t is a tab, which is hard to type in a shell."""
    return "\t" if separator == r"\t" else separator


def listed(names: Sequence[str] | None) -> tuple[str, ...]:
    """Names from options that are repeated or comma-separated."""
    return tuple(name.strip() for part in names or () for name in part.split(",") if name.strip())


def load_model(model: str, data: str, given: Mapping[str, Any]) -> tuple[Any, Origin]:
    """The estimator in a model file, with the kernel function named on the command line, and the file's origin."""
    name, named = given["kernel"], given["trust"] or ()
    trust: Any = named if len(named) > 1 else next(iter(named), None)
    if named:
        look_here()
    function = imported("--kernel", name) if name is not None and is_import_name(name) else None
    try:
        km, origin = read(model, Functions(function, trust))
    except ModelFileError as error:
        if is_model_file(data) and not is_model_file(model):
            raise ValueError(f"{model} is not a model file, but {data} is: the model comes first.") from error
        raise
    if name is not None and function is None and not is_kernel(name, km.kernel):
        raise ValueError(f"--kernel {name}: the kernel of {model} is {km.kernel}.")
    return km, origin


def is_import_name(text: str) -> bool:
    """Whether an option names a function, package.module:function, rather than a kernel."""
    return ":" in text and "(" not in text


def is_kernel(text: str, kernel: Any) -> bool:
    """Whether a text describes a kernel."""
    check = TABLE["kernel"].check
    return bool(check(text) == check(kernel))


def imported(option: str, name: str) -> Any:
    """The function or class package.module:name that an option names."""
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ValueError(f"{option} {name}: name it as package.module:name.")
    look_here()
    try:
        found: Any = importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"{option} {name}: {error}.") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ValueError(f"{option} {name}: {module} has no {attribute}.")
        found = getattr(found, part)
    if not callable(found):
        raise ValueError(f"{option} {name}: this is a {type(found).__name__}, not a function or class.")
    return found


def look_here() -> None:
    """Allow imports from the current folder; it comes last, so that it shadows no installed module."""
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
