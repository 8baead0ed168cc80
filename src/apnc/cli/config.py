"""Options from a TOML file."""

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import typer

from apnc.cli.spelling import meant

#: Options not allowed in the file, because they concern a single run.
NOT_IN_FILE = ("config", "debug", "help")


def read_config(context: typer.Context, value: str | None) -> str | None:
    """Callback of ``--config``: use the values in a file as defaults of the options.

    One file serves all commands; options of other commands are ignored.
    """
    if value is not None and not context.resilient_parsing:
        given = content_of(value)
        own = {_key(name): option for name, option in long_names(context.command).items()}
        _refuse_unknown(given, {*own, *_of_all_commands(context)}, value)
        context.default_map = {
            own[_key(key)].name: _checked(key, content, own[_key(key)], value)
            for key, content in given.items()
            if _key(key) in own
        }
    return value


def _of_all_commands(context: typer.Context) -> set[str]:
    group: Any = None if context.parent is None else context.parent.command
    commands = getattr(group, "commands", {})
    return {_key(name) for command in commands.values() for name in long_names(command)}


def _refuse_unknown(given: Iterable[str], known: Iterable[str], file: str) -> None:
    names = [name.replace("_", "-") for name in known]
    for key in given:
        if key.replace("_", "-") not in names:
            nearest = meant(key.replace("_", "-"), sorted(names))
            hint = f" Did you mean {nearest}?" if nearest else ""
            raise ValueError(f"{file}: no such option: {key!r}.{hint}")


def given_options(context: typer.Context) -> dict[str, Any]:
    """Values given on the command line or in a file, by the long names of the options."""
    options = {
        name: context.params[option.name]
        for name, option in long_names(context.command).items()
        # Where an interrupted run can go on does not describe its result.
        if is_given(context, option.name) and name != "checkpoint"
    }
    return {name: list(value) if isinstance(value, tuple) else value for name, value in options.items()}


def is_given(context: typer.Context, name: str, in_file: bool = True) -> bool:
    """Whether a value was given on the command line or, with ``in_file``, in a file."""
    source = context.get_parameter_source(name)
    return source is not None and source.name != "DEFAULT" and (in_file or source.name != "DEFAULT_MAP")


def long_names(command: Any, all_of_them: bool = False) -> dict[str, Any]:
    """Options of a command by their long names without dashes: those allowed in a file, or all."""
    found = {
        name.removeprefix("--"): option
        for option in command.params
        for name in option.opts
        if name.startswith("--")
    }
    return {name: option for name, option in found.items() if all_of_them or name not in NOT_IN_FILE}


def content_of(file: str) -> Mapping[str, Any]:
    """The contents of a TOML file."""
    try:
        return tomllib.loads(Path(file).read_bytes().decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} is not a valid TOML file: {error}") from error
    except RecursionError as error:
        raise ValueError(f"{file} is not a file of options: its values are nested too deep.") from error


def _key(name: str) -> str:
    return name.replace("-", "_")


def _checked(key: str, value: Any, option: Any, file: str) -> Any:
    """A value after a type check: a list for options that may be repeated, else the text that would be typed."""
    if getattr(option, "is_flag", False):
        fits = isinstance(value, bool)
    elif option.multiple:
        value = [value] if isinstance(value, str) else value
        fits = isinstance(value, list) and all(isinstance(item, str) for item in value)
    else:
        fits = isinstance(value, str | int | float) and not isinstance(value, bool)
    if not fits:
        raise ValueError(f"{file}: {key} = {value!r} has the wrong type for --{key.replace('_', '-')}.")
    return value if isinstance(value, list | bool) else str(value)
