"""Signals that end a run: what was begun is cleaned up, a line says so, and the exit code is 128 + n.

Imports only what is loaded in no time: it is in force while everything else is imported.
"""

import os
import signal
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress

#: The signals that ask a program to end; SIGHUP comes when its terminal is closed, and not all systems have it.
NAMES = ("SIGINT", "SIGTERM", "SIGHUP")
SHOW_CURSOR = b"\x1b[?25h\n"


class Stopped(KeyboardInterrupt):
    """A signal asked the run to end; the argument is its number."""


class Signals:
    """What signals do: within ``raising`` the first raises ``Stopped``; otherwise they end the process at once.

    There is nothing to clean up while the program starts and after it has finished; and who sends a second signal does
    not want to wait for the clean-up.

    Attributes
    ----------
    received : number of the signal that was raised, if any.

    """

    def __init__(self) -> None:
        self.received: int | None = None
        self._raises = False

    def installed(self) -> "Signals":
        """Handle the signals, but for those that the parent had ignored, as ``nohup`` does."""
        for name in NAMES:
            number = getattr(signal, name, None)
            if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None):
                signal.signal(number, self._handle)
        sys.unraisablehook = self._swallowed
        return self

    @contextmanager
    def raising(self) -> Iterator[None]:
        """Within, the first signal is an exception, so that all that was begun is cleaned up."""
        self._raises = True
        try:
            yield
        finally:
            self._raises = False

    def _handle(self, number: int, _: object) -> None:
        if not self._raises:
            end_at_once(number)
        self._raises, self.received = False, number
        raise Stopped(number)

    def _swallowed(self, found: "sys.UnraisableHookArgs") -> None:
        """An exception in a destructor or callback goes nowhere; one of ours must not be lost."""
        if isinstance(found.exc_value, Stopped):
            end_at_once(found.exc_value.args[0])
        sys.__unraisablehook__(found)


def message(number: int) -> str:
    """What is said of a run that a signal ended."""
    return "interrupted" if number == signal.SIGINT else f"interrupted by {signal.Signals(number).name}"


def end_at_once(number: int) -> None:
    """Remove temporary files and exit, without unwinding anything."""
    if "apnc.temporary" in sys.modules:
        sys.modules["apnc.temporary"].discard_all()
    with suppress(OSError):
        # Bars that are being drawn have hidden the cursor. Not print: the handler may have interrupted one.
        os.write(2, (SHOW_CURSOR if os.isatty(2) else b"") + f"apnc: {message(number)}\n".encode())
    os._exit(128 + number)
