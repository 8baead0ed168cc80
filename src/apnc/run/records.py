"""What a run keeps between its stages, so that a later one can go on."""

from collections.abc import Callable, Mapping
from typing import Any, Protocol

from apnc.engines.chunk_files import CheckChunk, ChunkStore

Check = Callable[[dict[str, Any]], None]


class Records(Protocol):
    """Results of stages by name, and chunks cached between passes, in a form that outlives the process."""

    def read(self, name: str, hints: Mapping[str, Any], check: Check) -> dict[str, Any]:
        """The kept values of these names and type hints; empty if they are not there, damaged or refused by a check."""
        ...

    def write(self, name: str, hints: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """Keep values, replacing those kept before; what has no code-free form is not kept, and computed again."""
        ...

    def chunks(self, name: str, check: CheckChunk) -> ChunkStore | None:
        """Where the chunks of a stage are kept, but for those that a check refuses; None: nowhere."""
        ...


class NoRecords:
    """Keeps nothing."""

    def read(self, name: str, hints: Mapping[str, Any], check: Check) -> dict[str, Any]:
        """Nothing."""
        return {}

    def write(self, name: str, hints: Mapping[str, Any], values: Mapping[str, Any]) -> None:
        """Nothing is kept."""

    def chunks(self, name: str, check: CheckChunk) -> ChunkStore | None:
        """Nowhere."""
        return None


NO_RECORDS = NoRecords()
