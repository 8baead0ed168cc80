"""Software prefetching of rows: the processor's own prefetcher does not predict where the next row begins."""

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from apnc.loops.compiled import compiled

#: Float32 numbers in a cache line.
_LINE = 16


@intrinsic
def _prefetch(typingctx: Any, array: Any, i: Any, j: Any) -> Any:
    """``llvm.prefetch`` of ``array[i, j]``, for reading, into the second-level cache."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        layout = signature.args[0]
        view = context.make_array(layout)(context, builder, args[0])
        address = cgutils.get_item_pointer(
            context, builder, layout, view, [args[1], args[2]], wraparound=False
        )
        pointer, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        function = cgutils.get_or_insert_function(
            builder.module,
            ir.FunctionType(ir.VoidType(), [pointer, number, number, number]),
            "llvm.prefetch.p0",
        )
        reading, locality, data = (ir.Constant(number, value) for value in (0, 2, 1))
        builder.call(function, [builder.bitcast(address, pointer), reading, locality, data])
        return context.get_dummy_value()

    return types.void(array, i, j), generate


@compiled(inline="always")
def prefetch_row(Y, i):  # type: ignore[no-untyped-def]
    """Prefetch row ``i``, if it exists."""
    if i < Y.shape[0]:
        for j in range(0, Y.shape[1], _LINE):
            _prefetch(Y, i, j)
