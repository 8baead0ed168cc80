"""Kernels written as text: ``jaccard``, ``spectrum(2, 3, ends=true)``, ``2 * spectrum(2, 2) + jaccard``.

Only names of kernels, numbers, text and the operations on kernels are understood; nothing is evaluated.
"""

import ast
import difflib
import inspect
from typing import Any

from apnc.kernels.algebra import ProductKernel, SumKernel, normalized
from apnc.kernels.combined import NormalizedKernel
from apnc.kernels.family import Kernel
from apnc.kernels.names import KERNELS
from apnc.kernels.objects import NAMES, PARTS, Record
from apnc.kernels.radial import RadialKernel
from apnc.kernels.vectors import VectorKernel
from apnc.parameters.rules import unknown
from apnc.wording import some

#: Parameters that a fit sets.
FOUND = ("found", "learned")
CONSTANTS = {"true": True, "false": False, "none": None}
_COMBINED = (
    NormalizedKernel,
    SumKernel,
    ProductKernel,
    RadialKernel,
    VectorKernel,
)
_CALLED: dict[str, Any] = {
    **NAMES,
    **PARTS,
    **{kind.__name__: kind for kind in (*NAMES.values(), *PARTS.values(), *_COMBINED)},
    "normalized": normalized,
    "record": Record.of,
}


#: The same by names as they may also be written: WeisfeilerLehman, weisfeilerlehman.
_PLAINLY = {name.lower().replace("_", ""): made for name, made in _CALLED.items()}


def _known(name: str) -> Any:
    return _CALLED.get(name) or _PLAINLY.get(name.lower().replace("_", ""))


def kernel_spelled(text: str) -> Kernel:
    """The kernel that a text describes."""
    if text.replace("-", "_").isidentifier() and not _known(text):
        raise ValueError(unknown("kernel", text, (*KERNELS, *NAMES)))
    said = f"kernel={text!r}" if len(text) <= SHOWN else f"kernel={text[: SHOWN - 3] + '...'!r}"
    try:
        found = _value(ast.parse(text.strip(), mode="eval").body)
    except SyntaxError as error:
        raise ValueError(f"{said} cannot be read: {error.msg}. {HOW}") from error
    except (ValueError, TypeError, RecursionError) as error:
        reason = str(error).rstrip(".")
        raise ValueError(f"{said}: {reason}{'' if reason.endswith('?') else '.'} {HOW}") from error
    if not isinstance(found, Kernel):
        raise ValueError(f"{said} is not a kernel. {HOW}")
    return found


#: Characters of a description that a message quotes.
SHOWN = 80
HOW = "Write it as spectrum(2, 3, ends=true) or record(age=number, plan=category)."


def _unknown(name: str) -> ValueError:
    """The error for a name, with the nearest known one or else all of them."""
    nearest = difflib.get_close_matches(name, _CALLED, n=1)
    hint = f"did you mean {nearest[0]!r}?" if nearest else f"known: {', '.join((*NAMES, *PARTS))}"
    return ValueError(f"{name!r:.60} is unknown; {hint}")


def _value(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=bool() | int() | float() | str() | None as value):
            return value
        case ast.Name(id=name):
            return _named(name)
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=int() | float() as value)):
            return -value
        case ast.Tuple(elts=items) | ast.List(elts=items):
            return tuple(map(_value, items))
        case ast.Dict(keys=keys, values=values) if None not in keys:
            return {_value(key): _value(value) for key, value in zip(keys, values, strict=True)}  # type: ignore[arg-type]
        case ast.BinOp(op=ast.Add() | ast.Mult() as operation, left=left, right=right):
            one, two = _value(left), _value(right)
            if any(isinstance(side, Kernel) for side in (one, two)):
                return one + two if isinstance(operation, ast.Add) else one * two
        case ast.Call(func=function, args=given, keywords=named):
            return _called(function, [*map(_value, given)], named)
    raise ValueError(f"{ast.unparse(node)!r:.60} is not understood")


def _named(name: str) -> Any:
    if name.lower() in CONSTANTS:
        return CONSTANTS[name.lower()]
    if not _known(name):
        raise _unknown(name)
    return _checked(_known(name), [], {})


def _called(function: ast.expr, given: list[Any], named: list[ast.keyword]) -> Any:
    options = {str(word.arg): _value(word.value) for word in named}
    match function:
        case ast.Name(id=name) if _known(name):
            return _checked(_known(name), given, options)
        case ast.Attribute(value=inner, attr="rbf"):
            kernel = _value(inner)
            if isinstance(kernel, Kernel):
                return _checked(kernel.rbf, given, options)
    raise _unknown(ast.unparse(function))


def _checked(make: Any, given: list[Any], options: dict[str, Any]) -> Any:
    """Call with arguments that fit; the error names the parameters that there are."""
    if odd := [name for name in options if name in FOUND]:
        raise ValueError(f"{make.__name__}: {odd[0]!r} is found by a fit and cannot be set")
    try:
        inspect.signature(make).bind(*given, **options)
    except TypeError as error:
        known = some([name for name in inspect.signature(make).parameters if name not in FOUND], 6)
        raise ValueError(f"{make.__name__}: {error}; it takes {known or 'no parameters'}") from error
    found = make(*given, **options)
    if isinstance(found, VectorKernel | NormalizedKernel):
        # Others check themselves; these are also made while a kernel is tuned.
        found.check()
    return found
