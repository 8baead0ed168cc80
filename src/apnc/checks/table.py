"""The table of parameters with all registered names, and the rows that apply to an estimator."""

import inspect
from collections.abc import Iterable
from dataclasses import replace
from functools import cache
from typing import Any

from apnc.embeddings import EMBEDDINGS, Embedding
from apnc.kernels import GAMMAS, KERNELS, ON_OBJECTS, kernel_spelled
from apnc.parameters import Parameter, table
from apnc.scaling import SCALES

INITS = ("k-means++", "random", "random-partition")
TABLE = table(
    kernels=KERNELS,
    on_objects=ON_OBJECTS,
    kernel=kernel_spelled,
    gammas=GAMMAS,
    embeddings=EMBEDDINGS,
    embedding=Embedding,
    scales=SCALES,
    inits=INITS,
)
#: Rows registered for estimators defined outside this package, by class.
BROUGHT: dict[type, dict[str, Parameter]] = {}


def _rows_of(kind: Any) -> dict[str, Parameter]:
    """Rows of the parameters that an estimator's constructor takes, with the defaults of its signature."""
    brought = {name: row for base in reversed(kind.__mro__) for name, row in BROUGHT.get(base, {}).items()}
    rows = {**TABLE, **brought}
    return {
        name: row if default is inspect.Parameter.empty else replace(row, default=default)
        for name, default in _signature(kind).items()
        if (row := rows.get(name)) is not None
    }


rows_of: Any = cache(_rows_of)


def bring_rows(kind: type, parameters: Iterable[Parameter]) -> None:
    """Register rows for parameters that the table lacks; every parameter of ``kind`` must then have one."""
    brought = BROUGHT.get(kind, {}) | {row.name: row for row in parameters}
    known, taken = sorted(set(brought) & set(TABLE)), _signature(kind)
    if known:
        raise ValueError(f"{', '.join(known)}: the table has a row for it already; choose another name.")
    if strangers := sorted(set(brought) - set(taken)):
        raise ValueError(f"{', '.join(strangers)}: {kind.__name__} has no such parameter.")
    inherited = {name for base in kind.__mro__[1:] for name in BROUGHT.get(base, ())}
    if missing := [name for name in taken if name not in {*TABLE, *brought, *inherited}]:
        raise ValueError(
            f"{kind.__name__} has parameters that the table lacks: {', '.join(missing)}. Register it with "
            f"parameters=[apnc.parameters.Parameter({missing[0]!r}, ...)]."
        )
    BROUGHT[kind] = brought
    rows_of.cache_clear()


def _signature(kind: type) -> dict[str, Any]:
    """Defaults of the constructor's parameters by name."""
    _, *parameters = inspect.signature(kind.__init__).parameters.values()  # type: ignore[misc]
    return {parameter.name: parameter.default for parameter in parameters}
