"""Engines other than the local one: which data belongs to which, and their modules, which are loaded lazily."""

import importlib
from typing import Any

#: Engines by name: the package that defines their data types, and their own module, which has ``KIND``, ``TAKES`` and
#: ``open_data`` for ``sources.open``, ``OPTIONS`` and ``facts`` for the command line, and a module ``commands``.
ENGINES = {"spark": ("pyspark", "apnc.engines.spark"), "dask": ("dask", "apnc.engines.dask")}


def engine_of(data: Any) -> Any | None:
    """The module of the engine that data belongs to; None for data on this machine."""
    package = type(data).__module__.partition(".")[0]
    return next((engine(name) for name, (owner, _) in ENGINES.items() if owner == package), None)


def engine(name: str) -> Any:
    """The module of an engine."""
    return importlib.import_module(ENGINES[name][1])


def commands(name: str) -> Any:
    """An engine's functions for the command line: session, opened, check_target, write, count, carry_along."""
    return importlib.import_module(f"{ENGINES[name][1]}.commands")
