"""Functions and classes by their import name. Nothing is imported unless the user names it."""

import importlib
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, ClassVar

from apnc.persistence.record import Fail

#: "package.module:function".
NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def import_name(function: Any) -> str | None:
    """The import name "package.module:function"; None for lambdas, local functions and functions of scripts."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or module == "__main__":
        return None
    try:
        found = reduce(getattr, name.split("."), sys.modules[module])
    except (KeyError, AttributeError):
        return None
    full = f"{module}:{name}"
    return full if found is function and NAME.fullmatch(full) else None


@dataclass(frozen=True)
class Functions:
    """Where the kernel function of a file comes from: the user passes it, or trusts it by name.

    Attributes
    ----------
    kernel : the function itself.
    trust : one or more import names; imported if the file names the same.

    """

    #: Whether the functions can be called.
    real: ClassVar[bool] = True
    kernel: Any = None
    trust: str | Sequence[str] | None = None

    @property
    def trusted(self) -> tuple[str, ...]:
        """The names that may be imported."""
        return (self.trust,) if isinstance(self.trust, str) else tuple(self.trust or ())

    def without(self, name: str) -> "Functions":
        """A copy without one trusted name, which is not that of the kernel function."""
        return replace(self, trust=tuple(other for other in self.trusted if other != name) or None)

    def find(self, stored: str | None, fail: Fail) -> Callable[..., Any]:
        """The function for an import name, None if it has none; ``fail`` makes the error."""
        if self.kernel is not None and self.trust is not None:
            raise fail("kernel= and trust= were both given; pass one of them")
        if self.kernel is not None:
            return _given(stored, self.kernel, fail)
        if self.trust is not None:
            if stored is None or stored not in self.trusted:
                raise fail(f"{self._shown}, but the kernel is {described(stored)}; nothing was imported")
            return imported(stored, fail)
        by_name = f", or apnc.load(path, trust={stored!r}) to have it imported" if stored else ""
        raise fail(
            f"the kernel is {described(stored)}, and a file cannot make apnc import or run one. "
            f"Pass it: apnc.load(path, kernel=function){by_name}"
        )

    def refuse(self, name: str, fail: Fail) -> None:
        """Refuse a function for a kernel that is not one."""
        if self.kernel is not None or self.trust is not None:
            given = "kernel" if self.kernel is not None else "trust"
            raise fail(f"the kernel is {name!r}, not a function, so {given}= has no effect; leave it out")

    @property
    def _shown(self) -> str:
        return f"trust={(self.trusted[0] if len(self.trusted) == 1 else list(self.trusted))!r}"


class NoFunctions(Functions):
    """For inspecting a file: nothing is imported, and functions are represented by their names."""

    real: ClassVar[bool] = False

    def find(self, stored: str | None, fail: Fail) -> Callable[..., Any]:
        """A placeholder for the function."""
        return Absent(stored)


@dataclass(frozen=True)
class Absent:
    """Placeholder for a kernel function that was not imported."""

    name: str | None

    def __call__(self, *_: Any) -> Any:
        raise TypeError(f"The kernel was not loaded: {described(self.name)}.")

    def __str__(self) -> str:
        return described(self.name)


def described(stored: str | None) -> str:
    """The stored function, in words."""
    return f"the function {stored}" if stored else "a function without an import name (local, or a lambda)"


def _given(stored: str | None, kernel: Any, fail: Fail) -> Callable[..., Any]:
    if not callable(kernel):
        raise fail(f"kernel={kernel!r} must be a function f(A, B); the stored one is {described(stored)}")
    if stored is not None and import_name(kernel) != stored:
        found = import_name(kernel) or repr(kernel)
        raise fail(f"the kernel of this model is the function {stored}, but kernel= is {found}")
    return kernel


def imported(name: str, fail: Fail) -> Any:
    """The function or class "package.module:name", which the user trusts."""
    module, _, attribute = name.partition(":")
    try:
        found = reduce(getattr, attribute.split("."), importlib.import_module(module))
    except Exception as error:
        raise fail(f"{name} cannot be imported ({type(error).__name__}: {error})") from error
    if not callable(found):
        raise fail(f"{name} is a {type(found).__name__}, not a function")
    return found
