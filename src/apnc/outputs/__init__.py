"""Outputs of a model: labels, distances, memberships, embeddings, as an array, a file, or a remote column."""

from apnc.outputs.arrow import Ids
from apnc.outputs.atomic import atomic
from apnc.outputs.entries import (
    BESIDE,
    DISTANCE,
    DISTANCES,
    EMBEDDING,
    EMBEDDING_AS_ROWS,
    LABEL,
    MEMBERSHIP,
    OUTLIER,
    OUTPUTS,
    Output,
    apply,
    checked,
    inertia,
    several,
    writer,
)
from apnc.outputs.placing import Placed, Placing
from apnc.outputs.writing import ARRAY_KINDS, TABLE_KINDS, check_names, check_target, write

__all__ = [
    "ARRAY_KINDS",
    "BESIDE",
    "DISTANCE",
    "DISTANCES",
    "EMBEDDING",
    "EMBEDDING_AS_ROWS",
    "LABEL",
    "MEMBERSHIP",
    "OUTLIER",
    "OUTPUTS",
    "TABLE_KINDS",
    "Ids",
    "Output",
    "Placed",
    "Placing",
    "apply",
    "atomic",
    "check_names",
    "check_target",
    "checked",
    "inertia",
    "several",
    "write",
    "writer",
]
