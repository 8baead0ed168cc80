"""Summaries on standard output: text for people, or one line of JSON for programs."""

import errno
import io
import json
import math
import os
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout, suppress
from typing import Any

from rich.text import Text

from apnc.wording import one_line, printable

#: Width of the output if it is not a terminal, so that nothing is wrapped or truncated.
UNLIMITED = 100_000
#: Eigenvalues shown.
SHOWN_VALUES = 12


@contextmanager
def quiet_output() -> Iterator[None]:
    """Redirect prints of libraries and kernel functions to standard error: the output is for results."""
    with redirect_stdout(sys.stderr):
        yield


def show_json(result: Mapping[str, Any]) -> None:
    """Print one line of JSON; non-finite numbers become null."""
    with _reader_may_leave():
        print(_readable(json.dumps(_plain(result), ensure_ascii=False)), flush=True)


def show_lines(lines: Mapping[str, str]) -> None:
    """Print a name and a text on each line; plain text if the output is not a terminal."""
    width = max(map(len, lines)) + 2
    _show(
        Text.assemble((f"{name:<{width}}", "bold"), one_line(text), no_wrap=True, overflow="ignore")
        for name, text in lines.items()
    )


def show_text(text: str) -> None:
    """Print lines of text."""
    with _reader_may_leave():
        print(printable(text), flush=True)


def show_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table without borders."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in header:
        table.add_column(Text(one_line(name)), justify="right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(one_line(cell)) for cell in row))
    _show([table])


def _show(renderables: Iterable[Any]) -> None:
    from rich.console import Console

    # Rendered to a string first, because rich exits the process itself if the pipe is closed.
    rendered, terminal = io.StringIO(), sys.stdout.isatty()
    console = Console(
        file=rendered,
        force_terminal=terminal,
        width=None if terminal else UNLIMITED,
        highlight=False,
    )
    for renderable in renderables:
        console.print(renderable, soft_wrap=isinstance(renderable, Text))
    with _reader_may_leave():
        print(rendered.getvalue(), end="", flush=True)


@contextmanager
def _reader_may_leave() -> Iterator[None]:
    """Ignore a closed pipe, as left by ``| head -1``: the work is done."""
    try:
        yield
    except BrokenPipeError:
        # Python flushes standard output again on exit, and would report the closed pipe then.
        with suppress(OSError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise OSError(error.errno, error.strerror, "standard output") from error
        raise


def _readable(text: str) -> str:
    """JSON with letters of all languages as they are, and escapes for what a terminal would obey or cannot show."""
    return "".join(c if c.isprintable() else json.dumps(c)[1:-1] for c in text)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if hasattr(value, "tolist"):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value


def number(value: float | None) -> str:
    """A human-readable number."""
    if value is None:
        return "none"
    return f"{int(value):,}" if float(value).is_integer() else f"{value:.6g}"


def sizes(values: Sequence[float], most: int = 20) -> str:
    """Cluster sizes, as many as fit on a line."""
    shown = ", ".join(number(value) for value in values[:most])
    return shown + (f", ... ({len(values):,} in all)" if len(values) > most else "")


def counted(n: int, thing: str) -> str:
    """``1 row``, ``2,000 rows``."""
    return f"{n:,} {thing}{'' if n == 1 else 's'}"


def features(n: int, names: Sequence[str] | None, most: int = 20) -> str:
    """The number of features and, if they have any, their names, as many as fit on a line."""
    if names is None:
        return f"{n:,}"
    return f"{n:,}: {', '.join(names[:most])}{', ...' if n > most else ''}"


def quality(result: Mapping[str, Any]) -> dict[str, str]:
    """Lines about the embedding: the residual, or the graph's spectrum and pieces."""
    if result["eigenvalues"] is None:
        return {"residual": f"{result['residual']:.3g} (0 is a perfect embedding)"}
    first = ", ".join(f"{max(0.0, 1 - value):.2g}" for value in result["eigenvalues"][:SHOWN_VALUES])
    more = ", ..." if len(result["eigenvalues"]) > SHOWN_VALUES else ""
    pieces = counted(result["connected_components"], "connected component")
    return {"graph": f"{pieces}; 1 - eigenvalues {first}{more} (near 0: groups with few links)"}
