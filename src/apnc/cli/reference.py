"""The reference of the command line, from its help texts: ``python -m apnc.cli.reference PAGE``."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.main import get_command

from apnc.cli.app import app

INTRODUCTION = """# The command line

Generated from the help texts by `python -m apnc.cli.reference docs/reference/command-line.md`. Install it with
`pip install "apnc[cli]"`; `apnc --install-completion` sets up completion for your shell."""


def page() -> str:
    """The reference as Markdown."""
    group: Any = get_command(app)
    parts = [INTRODUCTION, group.help]
    for name, command in group.commands.items():
        parts += [f"## apnc {name}", f"`{_usage(name, command)}`", command.help, *_tables(command)]
    return "\n\n".join(parts) + "\n"


def _usage(name: str, command: Any) -> str:
    arguments = [p.metavar for p in command.params if p.param_type_name == "argument"]
    return " ".join(["apnc", name, *arguments, "[OPTIONS]"])


def _tables(command: Any) -> Iterator[str]:
    """A table for each help panel, arguments first."""
    panels: dict[str, list[Any]] = {}
    for parameter in command.params:
        panel = "Arguments" if parameter.param_type_name == "argument" else parameter.rich_help_panel
        panels.setdefault(panel, []).append(parameter)
    for panel, parameters in panels.items():
        rows = [f"| {_name(p)} | {_default(p)} | {_help(p)} |" for p in parameters]
        yield "\n".join([f"### {panel}", "", "| name | default | |", "| --- | --- | --- |", *rows])


def _name(parameter: Any) -> str:
    if parameter.param_type_name == "argument":
        return f"`{parameter.metavar}`"
    value = "" if getattr(parameter, "is_flag", False) else f" {parameter.metavar}"
    return f"`{', '.join(parameter.opts)}{value}`"


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    return f"`{parameter.default}`" if type(parameter.default) in (str, int, float) else ""


def _help(parameter: Any) -> str:
    repeated = " May be repeated." if parameter.multiple else ""
    return (parameter.help + repeated).replace("|", "\\|")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        Path(sys.argv[1]).write_text(page())
    else:
        sys.stdout.write(page())
