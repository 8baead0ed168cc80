"""What a source yields: pieces as they were read, decoded rows, and errors."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from apnc.kernels import BadObjectError, Kernel
from apnc.typing import Array
from apnc.wording import told


class SourceError(ValueError):
    """A source that cannot be read; the message names the file and the row group or line."""

    def __init__(self, message: str) -> None:
        super().__init__(told(message))


class AbsentError(SourceError):
    """Columns that a table lacks; ``there`` are the columns it has."""

    def __init__(self, message: str, there: tuple[str, ...]) -> None:
        super().__init__(message)
        self.there = there


class MissingValuesError(SourceError):
    """Rows with missing values, found while decoding."""


@dataclass(frozen=True)
class Piece:
    """Consecutive rows of a source as they were read, not yet decoded.

    Attributes
    ----------
    raw : the input of ``Source.decode``.
    start : number of the first row in the source.
    n_rows : number of rows.
    where : file and row group or line, for messages.

    """

    raw: Any
    start: int
    n_rows: int
    where: str


@dataclass(frozen=True)
class Decoded:
    """Rows ready for an engine.

    Attributes
    ----------
    rows : array of shape (n, d), CSR matrix, or list of objects.
    weights : array of shape (n,), float64; None: weight 1 for every row.
    kept : positions in the piece of the rows that were not skipped; None: all.

    """

    rows: Any
    weights: Array | None = None
    kept: Array | None = None


def read_objects(kernel: Kernel, objects: list[Any], place: Callable[[int], str]) -> list[Any]:
    """Objects in the form that a kernel computes with; the error for one that it cannot take names its place."""
    try:
        found: list[Any] = kernel.read(objects)
    except BadObjectError as error:
        raise SourceError(f"{place(error.position)}: {error} The kernel is {kernel!r:.100}.") from error
    return found
