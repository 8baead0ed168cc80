"""Options from a TOML file."""

import difflib
import tomllib
from collections.abc import Mapping
from typing import Any

import typer

#: Options that are not for the file: they say how to run once.
NOT_IN_FILE = ("config", "debug", "help")


def read_config(context: typer.Context, value: str | None) -> str | None:
    """Make what a file says the defaults of the options, as the callback of ``--config``."""
    if value is not None and not context.resilient_parsing:
        with open(value, "rb") as file:
            given = _parsed(file.read(), value)
        options = {_key(name): option for name, option in long_names(context.command).items()}
        context.default_map = {
            _option(key, options, value).name: _checked(key, content, options, value)
            for key, content in given.items()
        }
    return value


def effective(context: typer.Context) -> dict[str, Any]:
    """What a command works with, by the long names of its options: given, from the file, or default."""
    values = {name: context.params.get(option.name) for name, option in long_names(context.command).items()}
    kept = {name: value for name, value in values.items() if value is not None and value != ()}
    return {name: list(value) if isinstance(value, tuple) else value for name, value in kept.items()}


def long_names(command: Any) -> dict[str, Any]:
    """Options of a command that a file may set, by their long names without dashes."""
    found = {
        name.removeprefix("--"): option
        for option in command.params
        for name in option.opts
        if name.startswith("--")
    }
    return {name: option for name, option in found.items() if name not in NOT_IN_FILE}


def _parsed(content: bytes, file: str) -> Mapping[str, Any]:
    try:
        return tomllib.loads(content.decode())
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ValueError(f"{file} is no TOML file: {error}") from error


def _key(name: str) -> str:
    return name.replace("-", "_")


def _option(key: str, options: Mapping[str, Any], file: str) -> Any:
    if _key(key) not in options:
        nearest = difflib.get_close_matches(_key(key), options, n=1, cutoff=0.5)
        hint = f" Did you mean {nearest[0].replace('_', '-')}?" if nearest else ""
        raise ValueError(f"{file}: there is no option {key!r}.{hint}")
    return options[_key(key)]


def _checked(key: str, value: Any, options: Mapping[str, Any], file: str) -> Any:
    """A value of the kind that the option takes: lists for those that may be repeated, else as it would be typed."""
    option = options[_key(key)]
    if getattr(option, "is_flag", False):
        fits = isinstance(value, bool)
    elif option.multiple:
        value = [value] if isinstance(value, str) else value
        fits = isinstance(value, list) and all(isinstance(item, str) for item in value)
    else:
        fits = isinstance(value, str | int | float) and not isinstance(value, bool)
        value = str(value)
    if not fits:
        raise ValueError(f"{file}: {key} = {value!r} is not what --{key.replace('_', '-')} takes.")
    return value
