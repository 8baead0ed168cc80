"""Labels and embeddings on their way to files."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy.typing as npt

from apnc import sources, writing
from apnc.clustering.lloyd import Write
from apnc.sources import Source
from apnc.sources.chunks import row_numbers

Array = npt.NDArray[Any]

#: Rows of id columns read at a time.
ID_ROWS = 65_536


def checked_labels(path: Any, data: Any) -> Path:
    """A path that labels can be written to, apart from the data."""
    writing.check_target(path, writing.LABEL_KINDS)
    sources.refuse_overwriting(data, path)
    return Path(path)


def labels_writer(target: Path, given: Any) -> Write:
    """What takes a stream of (labels, carry) to a file."""

    def write(stream: Iterator[tuple[Array, Any]]) -> None:
        seen = Seen(stream)
        writing.write_labels(target, seen, ids_of(given, seen))

    return write


class Seen:
    """(values, carry) of chunks as (values, row numbers); counts the rows of the source on the way."""

    def __init__(self, stream: Iterable[tuple[Array, Any]]):
        self.stream = stream
        self.n_rows = 0

    def __iter__(self) -> Iterator[tuple[Array, Array]]:
        for values, carry in self.stream:
            self.n_rows = carry.stop
            yield values, row_numbers(carry)


def ids_of(given: Any, seen: Seen) -> writing.Ids | None:
    """The id columns of a source that has any, for as many rows as were seen."""
    if not isinstance(given, Source) or not given.id_columns:
        return None
    return writing.Ids(given.id_columns, given.ids(ID_ROWS), lambda: seen.n_rows)
