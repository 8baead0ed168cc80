"""Standard streams that may be closed, or whose reader may leave: a long computation goes on without them."""

import io
import os
import sys
from typing import Any


class _Forgiving(io.FileIO):
    """Passes over what cannot be written, because nobody reads it or its disk is full."""

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except OSError:
            return memoryview(data).nbytes


def prepare_streams() -> None:
    """Open standard streams that the parent has closed, and make standard error one that cannot fail."""
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        if getattr(sys, name) is None:
            # Otherwise the first file that is opened would take the number, and be written to by mistake.
            _open_nothing(number)
            setattr(sys, name, open(number, "w" if number else "r", closefd=False))  # noqa: SIM115
    # A letter that the encoding lacks is no reason to lose the summary of a long fit.
    sys.stdout.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]
    error = sys.stderr
    raw = io.BufferedWriter(_Forgiving(2, "w", closefd=False))
    sys.stderr = io.TextIOWrapper(raw, error.encoding, error.errors, line_buffering=True)


def _open_nothing(number: int) -> None:
    opened = os.open(os.devnull, os.O_RDWR)
    if opened != number:
        os.dup2(opened, number)
        os.close(opened)
