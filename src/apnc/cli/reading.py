"""What the commands read: data, model files and kernel functions."""

import importlib
import os
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from apnc import load, sources
from apnc.sources import Source

STANDARD_INPUT = "-"


@contextmanager
def opened(data: str, given: Mapping[str, Any]) -> Iterator[Source]:
    """A source as the options say; standard input goes to a file without a name first, to be read several times."""
    request = {
        "columns": listed(given["columns"]) or None,
        "exclude": listed(given["exclude"]),
        "id_columns": listed(given["id_column"]),
        "weight_column": given.get("weight_column"),
        "drop_null": given["drop_null"],
        "object_field": given["object_field"],
    }
    if data != STANDARD_INPUT:
        yield sources.open(data, format=given["format"], **request)
        return
    with tempfile.TemporaryFile() as spool:
        shutil.copyfileobj(sys.stdin.buffer, spool, 1 << 20)
        spool.seek(0)
        spool.raw.name = "standard input"  # type: ignore[attr-defined]
        yield sources.open(spool, format=given["format"] or "csv", **request)


def listed(names: Sequence[str] | None) -> tuple[str, ...]:
    """Names from options that are repeated, or have commas in them."""
    return tuple(name.strip() for part in names or () for name in part.split(",") if name.strip())


def load_model(model: str, given: Mapping[str, Any]) -> Any:
    """The estimator of a model file, with the kernel function that the command line names."""
    if given["trust"] is not None:
        look_here()
    kernel = None if given["kernel"] is None else function_named(given["kernel"])
    return load(model, kernel=kernel, trust=given["trust"])


def function_named(name: str) -> Callable[..., Any]:
    """The function package.module:function."""
    module, _, attribute = name.partition(":")
    if not module or not attribute:
        raise ValueError(f"--kernel {name}: a function is named package.module:function.")
    look_here()
    try:
        found: Any = importlib.import_module(module)
    except ImportError as error:
        raise ImportError(f"--kernel {name}: {error}.") from error
    for part in attribute.split("."):
        if not hasattr(found, part):
            raise ValueError(f"--kernel {name}: {module} has no {attribute}.")
        found = getattr(found, part)
    if not callable(found):
        raise ValueError(f"--kernel {name}: that is a {type(found).__name__}, not a function.")
    return found


def look_here() -> None:
    """Let modules of the current folder be imported; last, so that none takes the place of an installed one."""
    if "" not in sys.path and os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
