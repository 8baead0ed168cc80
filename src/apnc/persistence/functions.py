"""Kernel functions by their import name. Nothing is imported unless the user names it."""

import importlib
import re
import sys
from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce
from typing import Any

from apnc.persistence.record import Fail

#: "package.module:function".
NAME = re.compile(r"[^\W\d]\w*(\.[^\W\d]\w*)*:[^\W\d]\w*(\.[^\W\d]\w*)*")


def import_name(function: Any) -> str | None:
    """As "package.module:function"; None for what an import would not find: lambdas, local functions, scripts."""
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
    """Where the kernel function of a file comes from: the user passes it, or trusts it by its name.

    Attributes
    ----------
    kernel : the function itself.
    trust : an import name; imported if it equals the stored one.

    """

    kernel: Any = None
    trust: str | None = None

    def find(self, stored: str | None, fail: Fail) -> Callable[..., Any]:
        """The function for an import name, which is None if the function had none; ``fail`` makes the error."""
        if self.kernel is not None and self.trust is not None:
            raise fail("kernel= and trust= were both given; pass one of them")
        if self.kernel is not None:
            return _given(stored, self.kernel, fail)
        if self.trust is not None:
            return _trusted(stored, self.trust, fail)
        by_name = f", or apnc.load(path, trust={stored!r}) to have it imported" if stored else ""
        raise fail(
            f"the kernel is {described(stored)}, and a file cannot make apnc import or run one. "
            f"Pass it: apnc.load(path, kernel=function){by_name}"
        )

    def refuse(self, name: str, fail: Fail) -> None:
        """A kernel that is no function has no use for one."""
        if self.kernel is not None or self.trust is not None:
            given = "kernel" if self.kernel is not None else "trust"
            raise fail(f"the kernel is {name!r}, not a function, so {given}= has no effect; leave it out")


class NoFunctions(Functions):
    """For looking at a file: nothing is imported, and a function is its name alone."""

    def find(self, stored: str | None, fail: Fail) -> Callable[..., Any]:
        """What stands for the function."""
        return Absent(stored)


@dataclass(frozen=True)
class Absent:
    """In place of a kernel function that was not imported."""

    name: str | None

    def __call__(self, *_: Any) -> Any:
        raise TypeError(f"The kernel was not loaded: {described(self.name)}.")

    def __str__(self) -> str:
        return described(self.name)


def described(stored: str | None) -> str:
    """The stored function in words."""
    return f"the function {stored}" if stored else "a function without an import name (local, or a lambda)"


def _given(stored: str | None, kernel: Any, fail: Fail) -> Callable[..., Any]:
    if not callable(kernel):
        raise fail(f"kernel={kernel!r} must be a function f(A, B); the stored one is {described(stored)}")
    if stored is not None and import_name(kernel) != stored:
        found = import_name(kernel) or repr(kernel)
        raise fail(f"the kernel of this model is the function {stored}, but kernel= is {found}")
    return kernel


def _trusted(stored: str | None, trust: str, fail: Fail) -> Callable[..., Any]:
    if trust != stored:
        raise fail(f"trust={trust!r}, but the kernel is {described(stored)}; nothing was imported")
    module, _, name = trust.partition(":")
    try:
        function = reduce(getattr, name.split("."), importlib.import_module(module))
    except Exception as error:
        raise fail(f"the kernel {stored} cannot be imported ({type(error).__name__}: {error})") from error
    if not callable(function):
        raise fail(f"{stored} is a {type(function).__name__}, not a function")
    return function
