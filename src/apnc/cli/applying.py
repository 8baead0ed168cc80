"""Shared by the commands that apply a fitted model to the rows of a file."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from typing import Any

import typer

from apnc.checks import TABLE
from apnc.cli import options as opt
from apnc.cli.engine_options import ENGINE, engine_commands
from apnc.cli.estimator_options import declared_alone, typed
from apnc.cli.printing import number, quiet_output, show_json, show_lines
from apnc.cli.reading import load_model, opened
from apnc.evaluation import count_rows
from apnc.outputs import check_target, several
from apnc.progress.stage import duration
from apnc.sources import Source

LIMITS = declared_alone(TABLE, "memory_limit", "n_jobs")
SHARED = (opt.MODEL, opt.ROWS, opt.READING, opt.TRUSTING, LIMITS, ENGINE, opt.SHOWING, opt.ALWAYS)


def apply_model(
    context: typer.Context,
    methods: Sequence[str],
    target: str,
    kinds: Sequence[str],
    beside: Sequence[str] = (),
) -> tuple[Any, int]:
    """Apply the first of ``methods`` that the model has and write the results; returns the model and the row count.

    With ``beside``, the label and these outputs are written.
    """
    given = context.params
    remote = engine_commands(given)
    check_target(target, kinds) if remote is None else remote.check_target(target)
    refuse_same(target, given["model"], given["data"])
    with quiet_output():
        km, configuration = loaded(context)
        find = getattr(km, method_of(km, given["model"], methods))
        if beside:
            find = partial(km._apply, output=several(beside, km._model))
        with rows_of(given, configuration, remote) as (source, session):
            if remote is not None:
                remote.write(find(source), source, target)
                return km, remote.count(session, target)
            find(source, to=target)
    return km, count_rows(target)


def loaded(context: typer.Context) -> tuple[Any, Any]:
    """The model with the options of this run, and the configuration of its fit."""
    given = context.params
    running = {name: typed(context, TABLE[name]) for name in LIMITS}
    km, origin = load_model(given["model"], given["data"], given)
    running["verbose"] = 0 if given["quiet"] else 1
    # Every estimator has these, as parameters or as attributes of its class.
    vars(km).update(running)
    return km, origin.configuration


@contextmanager
def rows_of(given: Mapping[str, Any], configuration: Any, remote: Any) -> Iterator[tuple[Source, Any]]:
    """The rows as a source, and the session of a remote engine."""
    if remote is None:
        with opened(given["data"], given, configuration) as source:
            yield source, None
        return
    for name in (given["kernel"] or "", *(given["trust"] or ())):
        if ":" in name:
            remote.carry_along(name)
    with (
        remote.session(given) as session,
        opened(given["data"], given, configuration, partial(remote.opened, session)) as source,
    ):
        yield source, session


def method_of(km: Any, model: str, methods: Sequence[str]) -> str:
    """The first of ``methods`` that the model has."""
    method = next((name for name in methods if hasattr(km, name)), None)
    if method is None:
        raise ValueError(
            f"{model} is a {type(km).__name__}, which has no clusters, so apnc {methods[0]} cannot be used with it."
        )
    return method


def refuse_same(target: str, *read: str) -> None:
    """Refuse a target that is one of the files to be read."""
    for path in read:
        if os.path.realpath(path) == os.path.realpath(target):
            raise ValueError(f"{target} is an input file; write the result to another file.")


def show_result(result: dict[str, Any], seconds: float, as_json: bool) -> None:
    """Print the result and the elapsed time."""
    result["seconds"] = round(seconds, 3)
    if as_json:
        show_json(result)
        return
    names = {"n_components": "components", "seconds": "time"}
    texts = {name: value if isinstance(value, str) else number(value) for name, value in result.items()}
    texts["seconds"] = duration(result["seconds"])
    show_lines({names.get(name, name): text for name, text in texts.items()})
