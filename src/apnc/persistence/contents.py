"""A whole model file: format, contents and members."""

import os
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from apnc.model import Model
from apnc.outputs.atomic import Target, atomic
from apnc.persistence.codec import decode_fields, encode_fields
from apnc.persistence.container import SCHEMA, Container, write_container
from apnc.persistence.functions import Functions
from apnc.persistence.members import Reading, Writing
from apnc.persistence.record import Record
from apnc.stored import stored
from apnc.version import __version__

FORMAT = "apnc-model"
#: The format version that is written and read.
VERSION = 2


@stored
@dataclass(frozen=True)
class Origin:
    """When, by what and with which options a file was written; the options are empty if none are stored."""

    created: str
    written_by: dict[str, str]
    configuration: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def here(cls, configuration: dict[str, Any] | None) -> "Origin":
        """Now, in UTC, or the time in SOURCE_DATE_EPOCH, which makes files reproducible byte by byte."""
        seconds = int(os.environ.get("SOURCE_DATE_EPOCH") or time.time())
        versions = {"apnc": __version__, "numpy": np.__version__}
        return cls(datetime.fromtimestamp(seconds, UTC).isoformat(), versions, configuration or {})


@dataclass(frozen=True)
class Contents:
    """The contents of a model file.

    Attributes
    ----------
    estimator : the name of its class.
    parameters, parameters_not_stored : constructor parameters; those without a JSON form are only named.
    model : the fitted model.

    """

    estimator: str
    parameters: dict[str, Any]
    parameters_not_stored: list[str]
    origin: Origin
    model: Model


def write_contents(path: Target, contents: Contents, reread: Callable[[Container, Functions], Any]) -> Path:
    """Write a file atomically; if ``reread`` cannot read it back, nothing is written."""
    out = Writing()
    schema = {"format": FORMAT, "version": VERSION, **encode_fields(contents, "", out)}
    with atomic(path) as temporary:
        write_container(temporary, schema, out.members)
        # A model that cannot be loaded must be noticed now, while the fitted estimator still exists.
        with open(temporary, "rb") as file:
            reread(Container(file, str(path)), Functions(next(iter(out.functions), None)))
    return Path(path)


def read_contents(container: Container, functions: Functions) -> Contents:
    """The checked contents of an open file."""
    schema = container.schema
    check_version(schema)
    container.list_members(schema.record("members"))
    source = Reading(container, functions.without(str(schema.peek("estimator"))))
    with container.guard(SCHEMA):
        contents = decode_fields(Contents, schema, source)
    container.end()
    kernel = contents.model.embedding.kernel
    if not source.n_functions:
        source.functions.refuse(kernel.asked_for().get("kernel", type(kernel).__name__), schema.fail)
    elif functions.real:
        confirm(kernel, schema)
    return contents


def check_version(schema: Record) -> None:
    """Refuse format versions other than this one's."""
    name = schema.take("format")
    if name != FORMAT:
        raise schema.wrong("format", name, repr(FORMAT))
    version = schema.integer("version", least=1)
    if version != VERSION:
        hint = "A newer apnc reads it: pip install -U apnc" if version > VERSION else "Fit the model again"
        raise schema.fail(f"format version {version}, but this apnc reads {VERSION}. {hint}")


def confirm(kernel: Any, schema: Record) -> None:
    """Require the kernel function to return the same values as during the fit."""
    try:
        kernel.confirm()
    except ValueError as error:
        raise schema.fail(
            f"the kernel function differs from the one the model was fitted with: {str(error).rstrip('.')}. Pass the "
            "function of the fit, or fit again"
        ) from error
