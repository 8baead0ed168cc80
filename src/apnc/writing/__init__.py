"""Labels and embeddings to files."""

from apnc.writing.atomic import atomic
from apnc.writing.files import (
    EMBEDDING_KINDS,
    LABEL_KINDS,
    check_names,
    check_target,
    write_embedding,
    write_labels,
)
from apnc.writing.tables import Ids

__all__ = [
    "EMBEDDING_KINDS",
    "LABEL_KINDS",
    "Ids",
    "atomic",
    "check_names",
    "check_target",
    "write_embedding",
    "write_labels",
]
