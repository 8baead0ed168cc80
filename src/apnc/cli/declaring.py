"""How options of commands are declared: in panels of the help, shared by several commands."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Annotated, Any

import typer
from typer.main import get_command

from apnc.parameters import CLUSTERING, DATA, KERNEL, OUTPUT, REQUIRED, RUN

PANELS = (None, DATA, KERNEL, CLUSTERING, OUTPUT, RUN)
Declared = dict[str, tuple[Any, Any]]
#: Kind of an option that may be repeated.
MANY = list[str] | None


def argument(metavar: str, help: str, words: Iterable[str] = ()) -> tuple[Any, Any]:
    """A value that is known by its place."""
    return Annotated[
        str, typer.Argument(metavar=metavar, help=help, autocompletion=completing(words))
    ], REQUIRED


def option(
    panel: str,
    names: str,
    metavar: str | None,
    help: str,
    words: Iterable[str] = (),
    default: Any = None,
    kind: Any = str | None,
    **more: Any,
) -> tuple[Any, Any]:
    """An option in a panel of the help, with a name or several; without a metavar, a flag. ``words`` complete it."""
    details = {"metavar": metavar, "help": help, "rich_help_panel": panel, **more}
    declared = typer.Option(*names.split(), autocompletion=completing(words), **details)
    if metavar is None:
        return Annotated[bool | None, declared], default
    return Annotated[kind, declared], default


def completing(words: Iterable[str]) -> Callable[[str], list[str]] | None:
    """What completes a value that is one of some words."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete if words else None


def takes(*groups: Declared) -> Callable[[Callable[[typer.Context], None]], Callable[..., None]]:
    """Declare the options of a command that finds their values in ``context.params``."""

    def declare(command: Callable[[typer.Context], None]) -> Callable[..., None]:
        @functools.wraps(command)
        def run(context: typer.Context, **_: Any) -> None:
            command(context)

        declared = {name: found for group in groups for name, found in group.items()}
        only, own = inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD
        options = [
            inspect.Parameter(name, only, default=default, annotation=kind)
            for name, (kind, default) in declared.items()
        ]
        context = inspect.Parameter("context", own, annotation=typer.Context)
        run.__signature__ = inspect.Signature([context, *options])  # type: ignore[attr-defined]
        run.__annotations__ = {
            "context": typer.Context,
            **{name: kind for name, (kind, _) in declared.items()},
        }
        return run

    return declare


def as_parameters(declared: Declared) -> list[Any]:
    """Options as the parser has them."""

    def nothing(context: typer.Context) -> None:
        pass

    alone = typer.Typer(add_completion=False)
    alone.command()(takes(declared)(nothing))
    return list(get_command(alone).params)


def by_panel(parameters: Iterable[Any]) -> list[Any]:
    """Sorted by the panels of the help; arguments first."""

    def place(parameter: Any) -> int:
        panel = getattr(parameter, "rich_help_panel", None)
        return PANELS.index(panel) if panel in PANELS else len(PANELS)

    return sorted(parameters, key=place)
