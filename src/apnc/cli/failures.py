"""Error reporting: one line on standard error, and an exit code."""

import os
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import typer
from typer.core import TyperGroup

from apnc.cli.config import long_names
from apnc.cli.signals import Signals, message
from apnc.cli.spelling import meant
from apnc.outputs.atomic import FULL
from apnc.temporary import discard_all
from apnc.wording import printable, told

FAULT, BAD_INPUT, NOT_CONVERGED = 1, 2, 3
#: Characters of a line on standard error.
LINE = 400
#: Errors caused by the input or the machine; all others are bugs.
EXPECTED = (ValueError, OSError, ImportError, MemoryError, EOFError)


class Run:
    """One run of the program: shows each warning as one line, and remembers their categories.

    Parameters
    ----------
    debug : show tracebacks.
    begun : start time, by ``time.perf_counter``.
    signals : how the process handles signals.

    """

    def __init__(self, debug: bool, begun: float, signals: Signals) -> None:
        self.debug, self._begun, self.signals = debug, begun, signals
        self.kinds: set[type[Warning]] = set()

    def show(self, message: Warning | str, category: type[Warning], *_: Any) -> None:
        """Replacement for ``warnings.showwarning``."""
        self.kinds.add(category)
        say(f"warning: {message}")

    def seconds(self) -> float:
        """Seconds since the program started."""
        return time.perf_counter() - self._begun

    def warned_of(self, kind: type[Warning]) -> bool:
        """Whether there was a warning of this category."""
        return any(issubclass(seen, kind) for seen in self.kinds)


class Commands(TyperGroup):
    """The group of all commands, which turns every exception into a line of text and an exit code."""

    def main(
        self,
        args: Any = None,
        *rest: Any,
        begun: float | None = None,
        signals: Signals | None = None,
        **options: Any,
    ) -> Any:
        given = sys.argv[1:] if args is None else list(args)
        run = Run("--debug" in given, time.perf_counter() if begun is None else begun, signals or Signals())
        try:
            code = super().main(given, *rest, **{**options, "standalone_mode": False, "obj": run})
        except Exception as error:
            code = report(error, run)
        except SystemExit as end:
            # Rich exits the process itself if the reader of its help closes the pipe.
            code = 0 if isinstance(end.__context__, BrokenPipeError) else end.code
        # An interrupt between the creation of a file and the block that removes it leaves it behind.
        discard_all()
        sys.exit(code if isinstance(code, int) else 0)

    def invoke(self, ctx: Any) -> Any:
        try:
            with ctx.obj.signals.raising(), warnings_as_lines(ctx.obj):
                return super().invoke(ctx)
        except (typer.Exit, typer.Abort):
            raise
        except (Exception, KeyboardInterrupt) as error:
            raise typer.Exit(report(error, ctx.obj)) from error


@contextmanager
def warnings_as_lines(run: Run) -> Iterator[None]:
    """Show user warnings through ``run``."""
    with warnings.catch_warnings():
        warnings.simplefilter("always", UserWarning)
        warnings.showwarning = run.show  # type: ignore[assignment]
        yield


def report(error: BaseException, run: Run) -> int:
    """Print what went wrong; returns the exit code."""
    if run.debug:
        print(printable("".join(traceback.format_exception(error))), end="", file=sys.stderr, flush=True)
    # A library may have turned the interruption into an error of its own.
    if isinstance(error, KeyboardInterrupt | typer.Abort) or run.signals.received is not None:
        number = run.signals.received or signal.SIGINT
        say(". ".join([message(number), *advice(error)]))
        return 128 + number
    if hasattr(error, "format_message"):
        say(_usage(error))
        return BAD_INPUT
    if isinstance(error, EXPECTED):
        say(" ".join([explained(error), *advice(error)]))
        return BAD_INPUT
    say(f"{type(error).__name__}: {error}" + ("" if run.debug else " (run again with --debug to see where)"))
    return FAULT


def _usage(error: Any) -> str:
    """The message for an error on the command line or in the configuration file, with a pointer to the help."""
    context = getattr(error, "ctx", None)
    path = getattr(context, "command_path", "apnc")
    text = f"{error.format_message().rstrip('.')}."
    if hasattr(error, "option_name") and context is not None:
        text = f"No such option: {error.option_name}.{_hint(error.option_name.lstrip('-'), context)}"
    file = _file_of(context, getattr(error, "param", None))
    return f"{file}{text} See {path} --help."


def _hint(name: str, context: Any) -> str:
    """Which commands have this option, or which option was probably meant."""
    group = None if context.parent is None else context.parent.command
    commands = getattr(group, "commands", {})
    others = [other for other, command in commands.items() if name in long_names(command)]
    if others:
        return f" It is an option of apnc {' and '.join(', '.join(others).rsplit(', ', 1))}."
    found = meant(name, long_names(context.command, all_of_them=True))
    return f" Did you mean --{found}?" if found else ""


def _file_of(context: Any, parameter: Any) -> str:
    """The file of ``--config``, if the refused value comes from it."""
    if context is None or parameter is None:
        return ""
    source = context.get_parameter_source(parameter.name)
    return f"{context.params['config']}: " if source is not None and source.name == "DEFAULT_MAP" else ""


def advice(error: BaseException) -> list[str]:
    """Notes that were added to an error on its way, such as how to go on."""
    return list(getattr(error, "__notes__", ()))


def explained(error: BaseException) -> str:
    """An error's message, as a sentence."""
    if isinstance(error, MemoryError):
        return f"not enough memory. {error} Set memory_limit, or lower n_landmarks or n_components."
    if isinstance(error, OSError) and error.errno is not None and error.strerror:
        file = "" if error.filename is None else f"{os.fsdecode(error.filename)}: "
        plain = error.errno in FULL and error.strerror == os.strerror(error.errno)
        return f"{file}{error.strerror.rstrip('.')}.{' Free some space, or choose another disk.' if plain else ''}"
    return str(error) or type(error).__name__


def say(text: str) -> None:
    """Print one line to standard error; a closed one is not an error."""
    with suppress(OSError, ValueError):
        print(told(f"apnc: {' '.join(text.split())}", LINE), file=sys.stderr, flush=True)
