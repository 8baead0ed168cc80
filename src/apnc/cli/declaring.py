"""How options of commands are declared: in panels of the help, shared by several commands."""

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import typer

Declared = dict[str, tuple[Any, Any]]
REQUIRED = inspect.Parameter.empty


def option(
    panel: str, name: str, metavar: str | None, help: str, words: Iterable[str] = (), **more: Any
) -> Any:
    """An option of a command, in a panel of its help; ``words`` complete its value."""
    complete = starting_with(tuple(words)) if words else None
    return typer.Option(
        name, metavar=metavar, help=help, rich_help_panel=panel, autocompletion=complete, **more
    )


def starting_with(words: tuple[str, ...]) -> Callable[[str], list[str]]:
    """What completes a value that is one of some words."""

    def complete(incomplete: str) -> list[str]:
        return [word for word in words if word.startswith(incomplete)]

    return complete


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
