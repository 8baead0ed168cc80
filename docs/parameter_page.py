"""The page of all parameters, from the table that checks, command line and Spark are made of."""

import inspect
from pathlib import Path
from typing import Any

from apnc.checks import TABLE
from apnc.estimators import ESTIMATORS
from apnc.parameters import REQUIRED

HEAD = """# Parameters

One table is behind the constructors, the command line and Spark. The docstrings of
[the estimators](api.md) say more about each.

| parameter | default | command line | Spark | meaning |
| --- | --- | --- | --- | --- |
"""


def page() -> str:
    """Parameters that some estimator has, in the order of the table."""
    known = {name for kind in ESTIMATORS.values() for name in inspect.signature(kind).parameters}
    return HEAD + "".join(_row(row) for name, row in TABLE.items() if name in known)


def _row(row: Any) -> str:
    own = {kind.__name__: _default(kind, row.name) for kind in ESTIMATORS.values()}
    values = {value for value in own.values() if value is not None}
    if len(values) == 1:
        default = f"`{values.pop()}`"
    else:
        default = ", ".join(f"`{value}` ({name})" for name, value in own.items() if value is not None)
    option = "" if row.panel is None else f"`{row.option}`"
    if row.defaults.get("command line", "") is REQUIRED:
        option += ", required"
    spark = f"`{row.spark}`" if row.spark else ""
    meaning = row.meaning.replace("|", "\\|")
    return f"| `{row.name}` | {default} | {option} | {spark} | {meaning} |\n"


def _default(kind: Any, name: str) -> str | None:
    found = inspect.signature(kind).parameters.get(name)
    return None if found is None else repr(found.default)


def write(folder: Path) -> None:
    """Write the page into the folder of the documents, unless it is there."""
    path, text = folder / "reference" / "parameters.md", page()
    if not path.exists() or path.read_text() != text:
        path.write_text(text)
