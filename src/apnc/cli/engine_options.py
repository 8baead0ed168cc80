"""``--engine``: where the computation runs."""

from collections.abc import Mapping
from typing import Any

from apnc.cli.declaring import Declared, option
from apnc.engines.registry import ENGINES, commands, engine
from apnc.parameters import RUN
from apnc.parameters.rules import known_name

ENGINE: Declared = {
    "engine": option(
        RUN,
        "--engine",
        "NAME",
        f"Where to compute: local (this machine), {' or '.join(ENGINES)}.",
        ("local", *ENGINES),
        "local",
    ),
    **{
        name: option(RUN, f"--{name}", metavar, f"With --engine {owner}: {help}")
        for owner in ENGINES
        for name, (metavar, help) in engine(owner).OPTIONS.items()
    },
}


def engine_commands(given: Mapping[str, Any]) -> Any | None:
    """The commands of the chosen engine, None for this machine; options of other engines are refused."""
    chosen = known_name("engine", given["engine"], ("local", *ENGINES))
    for owner in ENGINES:
        for name in engine(owner).OPTIONS:
            if owner != chosen and given[name] is not None:
                raise ValueError(f"--{name} {given[name]} needs --engine {owner}.")
    return None if chosen == "local" else commands(chosen)
