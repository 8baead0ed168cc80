"""What all attacks have in common."""

import importlib
import pkgutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path


class BrokenError(Exception):
    """Something that must hold does not."""


def require(holds: object, reason: str) -> None:
    """Something that must hold."""
    if not holds:
        raise BrokenError(reason)


@dataclass(frozen=True)
class Attack:
    """An attack: cases that follow from their seeds alone.

    Attributes
    ----------
    name : on the command line, in ``make torture-NAME`` and in the name of the file of rows.
    what, holds : the attack and what must hold, for the page.
    full : how many cases make the attack complete.
    case : runs the case of a seed in an empty folder, and returns the kind of its outcome; raises for a failure.
    share : seeds that ``make test`` runs.
    cpu_seconds : processor time of a case at most; judged in full runs only, since tests share their machine.
    patience : seconds without a finished case after which the process is taken for hanging.
    order : place on the page.
    missing : says what this machine lacks for the attack, if anything.

    """

    name: str
    what: str
    holds: str
    full: int
    case: Callable[[int, Path], str]
    share: tuple[int, ...]
    cpu_seconds: float | None = None
    patience: float = 900.0
    order: int = 0
    missing: Callable[[], str | None] = lambda: None


def attacks() -> dict[str, Attack]:
    """All attacks by name, in the order of the page."""
    package = importlib.import_module("tests.torture.attacks")
    names = [f"{package.__name__}.{module.name}" for module in pkgutil.iter_modules(package.__path__)]
    found = [attack for name in names if (attack := getattr(importlib.import_module(name), "ATTACK", None))]
    return {attack.name: attack for attack in sorted(found, key=lambda attack: attack.order)}
