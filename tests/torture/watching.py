"""Notice code that a file has run: unpickling, imports, processes, compiled code."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any

#: Events of the interpreter that loading data must not cause.
FORBIDDEN = (
    "pickle.find_class", "os.system", "os.exec", "os.posix_spawn", "os.spawn", "os.fork", "os.forkpty",
    "subprocess.Popen", "ctypes.dlopen", "socket.connect", "socket.getaddrinfo", "os.remove", "os.rename", "os.mkdir",
    "shutil.rmtree", "marshal.loads", "code.__new__",
)  # fmt: skip
#: Those that going on from a checkpoint causes: it writes and removes files of its own.
KEEPING = ("os.remove", "os.rename", "os.mkdir")
#: Modules of pickles that are not the file's: numba's index of compiled loops.
CACHE = ("numba", "llvmlite", "copyreg")
#: Packages that reading itself may still load, once in a process.
OWN = ("apnc", "numpy", "scipy", "sklearn", "numba", "llvmlite", "encodings")

_seen: list[str] = []
_listening: list[tuple[str, ...]] = []


class CodeRunError(Exception):
    """A file has run code."""


def _hook(event: str, arguments: tuple[Any, ...]) -> None:
    if not _listening:
        return
    if event == "pickle.find_class" and str(arguments[0]).partition(".")[0] in CACHE:
        return
    if event in FORBIDDEN and event not in _listening[-1]:
        _seen.append(f"{event} {arguments!r:.200}")
    elif event == "import":
        top = str(arguments[0]).partition(".")[0]
        if top not in OWN and top not in sys.stdlib_module_names:
            _seen.append(f"import {arguments[0]}")


@cache
def _install() -> None:
    # A hook cannot be removed again; it listens only within a context.
    sys.addaudithook(_hook)


@contextmanager
def watched(allowed: tuple[str, ...] = ()) -> Iterator[None]:
    """Raise if code is run within the context, whatever else happens there; some events may be allowed."""
    _install()
    _seen.clear()
    _listening.append(allowed)
    try:
        yield
    finally:
        _listening.pop()
        if _seen:
            raise CodeRunError("; ".join(_seen[:3]))
