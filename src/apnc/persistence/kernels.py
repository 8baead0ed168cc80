"""Kernels as fields of a schema, and back."""

from typing import Any

import numpy as np

from apnc.kernels import KERNELS, CallableKernel, Kernel, NormalizedKernel, PrecomputedKernel, VectorKernel
from apnc.kernels.vectors import SCALED, SLOPED
from apnc.persistence.container import Container, Member, ModelFileError
from apnc.persistence.functions import NAME, Functions, import_name
from apnc.persistence.plain import unlike_json
from apnc.persistence.record import Record

#: Member with the row numbers of the landmarks of a given kernel matrix.
NUMBERS = "landmark_numbers.npy"


def pack_kernel(kernel: Kernel) -> tuple[dict[str, Any], dict[str, Member]]:
    """Fields and members of a kernel."""
    normalized = isinstance(kernel, NormalizedKernel)
    inner = kernel.kernel if isinstance(kernel, NormalizedKernel) else kernel
    fields, members = _pack_plain(inner)
    return {**fields, "normalized": normalized}, members


def _pack_plain(kernel: Kernel) -> tuple[dict[str, Any], dict[str, Member]]:
    if type(kernel) is VectorKernel:
        numbers = {"gamma": kernel.gamma, "coef0": kernel.coef0, "degree": kernel.degree}
        return {"type": "vector", "name": kernel.name, **numbers}, {}
    if type(kernel) is PrecomputedKernel:
        landmarks = np.array(kernel.landmark_numbers, dtype=np.int64)
        return {"type": "precomputed", "n_instances": kernel.n_instances}, {
            NUMBERS: Member.of_array(landmarks)
        }
    if type(kernel) is CallableKernel:
        params = dict(kernel.params)
        if reason := unlike_json(params):
            raise ModelFileError(
                f"kernel_params cannot be stored: {reason}. Fit with kernel=functools.partial(f, ...) instead, and "
                "pass the same to apnc.load(path, kernel=...)."
            )
        return {"type": "function", "function": import_name(kernel.function), "parameters": params}, {}
    raise ModelFileError(
        f"A kernel of type {type(kernel).__name__} cannot be stored; keep the model by pickle."
    )


def unpack_kernel(record: Record, container: Container, functions: Functions) -> Kernel:
    """The kernel; a function is the one that the user passes or trusts."""
    read = {"vector": _vector, "precomputed": _precomputed, "function": _function}
    found = read[record.text("type", known=read)](record, container, functions)
    normalized = record.flag("normalized")
    record.end()
    if normalized and isinstance(found, PrecomputedKernel):
        raise record.fail("kernel.normalized is true, which a precomputed kernel cannot be")
    return NormalizedKernel(found) if normalized else found


def _vector(record: Record, container: Container, functions: Functions) -> Kernel:
    name = record.text("name", known=KERNELS)
    functions.refuse(name, record.fail)
    gamma = record.unless_null("gamma", lambda field: record.number(field, positive=True))
    if (gamma is None) != (name not in SCALED + SLOPED):
        raise record.wrong("gamma", gamma, f"{'a number' if gamma is None else 'null'} for {name}")
    return VectorKernel(name, gamma, record.number("coef0"), record.number("degree", positive=True))


def _precomputed(record: Record, container: Container, functions: Functions) -> Kernel:
    functions.refuse("precomputed", record.fail)
    n = record.integer("n_instances", least=1)
    numbers = container.array(NUMBERS, (None,), kinds="i").tolist()
    if not numbers or min(numbers) < 0 or max(numbers) >= n or len(set(numbers)) != len(numbers):
        raise container.error(NUMBERS, f"landmarks are not distinct row numbers from 0 to {n - 1}")
    return PrecomputedKernel(n, tuple(numbers))


def _function(record: Record, container: Container, functions: Functions) -> Kernel:
    stored = record.unless_null("function", lambda field: record.text(field, matching=NAME))
    params = record.take("parameters")
    if not isinstance(params, dict):
        raise record.wrong("parameters", params, "an object")
    return CallableKernel(functions.find(stored, record.fail), params)
