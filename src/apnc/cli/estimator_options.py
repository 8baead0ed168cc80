"""``--method``: the estimator to fit, with its parameters as options."""

from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from typing import Any

import typer
from typer.core import TyperCommand

from apnc.checks import known_name, rows_of
from apnc.cli.config import content_of, is_given
from apnc.cli.declaring import Declared, as_parameters, by_panel, option
from apnc.cli.reading import imported, is_import_name
from apnc.estimators import ESTIMATORS, register
from apnc.estimators.base import KernelEstimator
from apnc.parameters import NONE, REQUIRED, Parameter

#: Additions to the parameters' help texts.
NOTES = {
    "kernel": "Name a function as package.module:function; it is imported, also from the current folder.",
    "memory_limit": "About 330 MB are in use before any data is read, so the minimum is about 500MB.",
    "n_clusters": "Required.",
}


class Refused(typer.BadParameter):
    """An invalid parameter value, with the message of its check."""

    def format_message(self) -> str:
        return self.message


class MethodCommand(TyperCommand):
    """A command with the parameters of all methods as options, including those of an imported class.

    ``left_out`` are parameters that the command sets itself.
    """

    left_out: tuple[str, ...] = ()

    def __init__(self, *args: Any, params: list[Any], **options: Any) -> None:
        self.declared = params
        super().__init__(*args, params=self._all(), **options)

    def _all(self) -> list[Any]:
        generated = {
            name: declared(rows) for name, rows in rows_by_method().items() if name not in self.left_out
        }
        return by_panel([*self.declared, *as_parameters(generated)])

    def make_context(self, info_name: Any, args: list[str], parent: Any = None, **extra: Any) -> Any:
        """Import a class that the arguments name before parsing them, so that its options are known."""
        completing = extra.get("resilient_parsing", False)
        with suppress(Exception) if completing else nullcontext():
            method = _following(args, "--method") or _in_file(_following(args, "--config"))
            if method is not None and ":" in method:
                method_named(method)
                self.params = self._all()
        return super().make_context(info_name, args, parent, **extra)


class ChoosingCommand(MethodCommand):
    """A command that tries several numbers of clusters."""

    left_out = ("n_clusters",)


def _following(args: Sequence[str], name: str) -> str | None:
    """The last value of an option among unparsed arguments."""
    pairs = [(arg, args[i + 1]) for i, arg in enumerate(args[:-1])]
    pairs += [(arg[: len(name)], arg[len(name) + 1 :]) for arg in args if arg.startswith(f"{name}=")]
    return next((value for arg, value in reversed(pairs) if arg == name), None)


def _in_file(file: str | None) -> str | None:
    """The method named in a configuration file; errors in the file are reported later, when it is read."""
    found = None
    with suppress(OSError, ValueError):
        found = content_of(file).get("method") if file is not None else None
    return found if isinstance(found, str) else None


def rows_by_method() -> dict[str, dict[str, Parameter]]:
    """For each parameter that is an option, the table rows of the methods that take it."""
    found: dict[str, dict[str, Parameter]] = {}
    for method, kind in ESTIMATORS.items():
        for name, row in rows_of(kind).items():
            if row.panel is not None:
                found.setdefault(name, {})[method] = row
    return found


def declared(rows: Mapping[str, Parameter]) -> tuple[Any, Any]:
    """A parameter as an option, with the default of the first method; the help lists different defaults."""
    first = next(iter(rows.values()))
    default, is_flag = first.default_on("command line"), first.types[0] is bool
    others = [
        f"By default {row.default_on('command line')} with --method {method}."
        for method, row in rows.items()
        if row.default_on("command line") != default
    ]
    negated = f"/--no-{first.option[2:]}" if is_flag and default else ""
    texts = [first.meaning, NOTES.get(first.name), *others]
    return option(
        first.panel or "",
        f"{first.option}{negated} {first.flag}",
        None if is_flag else first.metavar,
        " ".join(text for text in texts if text),
        first.words,
        None if is_flag or default is None or default is REQUIRED else str(default),
    )


def declared_alone(rows: Mapping[str, Parameter], *names: str) -> Declared:
    """The named rows of a table as options."""
    return {name: declared({"": rows[name]}) for name in names}


def method_named(name: str) -> Any:
    """The estimator of a method: a registered name, or package.module:Class, which is imported and registered."""
    if ":" not in name:
        return ESTIMATORS[known_name("method", name, ESTIMATORS)]
    kind = imported("--method", name)
    if not (isinstance(kind, type) and issubclass(kind, KernelEstimator)):
        raise ValueError(f"--method {name}: this is not an estimator class (a subclass of KernelEstimator).")
    return kind if kind in ESTIMATORS.values() else register(name, kind)


def estimator_of(context: typer.Context, verbose: int) -> Any:
    """The estimator selected by the options; parameters not given keep their defaults."""
    method = context.params["method"]
    kind = method_named(method)
    rows, values = rows_of(kind), {}
    _refuse_others(context, method, rows)
    for name, row in rows.items():
        if row.panel is None or name not in context.params:
            continue
        if is_given(context, name):
            values[name] = typed(context, row)
        elif row.default_on("command line") is REQUIRED:
            short = f" ({row.flag})" if row.flag else ""
            raise Refused(f"Missing option {row.option}{short}.", context)
        elif "command line" in row.defaults:
            values[name] = row.default_on("command line")
    estimator = kind(**values)
    estimator.verbose = verbose
    return estimator


def _refuse_others(context: typer.Context, method: str, rows: Mapping[str, Parameter]) -> None:
    """Refuse options of other methods; in a file, which serves several commands, they are ignored."""
    for name, takers in rows_by_method().items():
        if name not in rows and is_given(context, name, in_file=False):
            option = next(iter(takers.values())).option
            known = " and ".join(takers)
            raise Refused(f"{option} does not apply to --method {method}, only to {known}.", context)


def typed(context: typer.Context, row: Parameter) -> Any:
    """The value of an option, checked by its row."""
    text = context.params[row.name]
    try:
        return _kernel(row, text) if row.name == "kernel" else row.check(_value(row, text))
    except ValueError as error:
        parameter = next(found for found in context.command.params if found.name == row.name)
        raise Refused(str(error), context, parameter) from error


def _kernel(row: Parameter, text: str) -> Any:
    if is_import_name(text):
        return imported("--kernel", text)
    if text == "precomputed":
        raise ValueError(
            "kernel='precomputed': the command line cannot read a kernel matrix; use apnc.KernelKMeans in Python."
        )
    return row.check(text)


def _value(row: Parameter, text: Any) -> Any:
    """The text as a number if the parameter allows one; "none" is None."""
    if text is None or (text == "none" and NONE in row.types):
        return None
    for kind in (int, float):
        if kind in row.types and not isinstance(text, bool):
            with suppress(ValueError):
                return kind(text)
    return text
