"""Outputs of a model: labels, distances and embeddings, as an array, a file, or a column of a remote frame."""

from apnc.outputs.arrow import Ids
from apnc.outputs.atomic import atomic
from apnc.outputs.entries import (
    DISTANCES,
    EMBEDDING,
    EMBEDDING_AS_ROWS,
    LABEL,
    OUTPUTS,
    Output,
    apply,
    checked,
    inertia,
    writer,
)
from apnc.outputs.writing import ARRAY_KINDS, TABLE_KINDS, check_names, check_target, write

__all__ = [
    "ARRAY_KINDS",
    "DISTANCES",
    "EMBEDDING",
    "EMBEDDING_AS_ROWS",
    "LABEL",
    "OUTPUTS",
    "TABLE_KINDS",
    "Ids",
    "Output",
    "apply",
    "atomic",
    "check_names",
    "check_target",
    "checked",
    "inertia",
    "write",
    "writer",
]
