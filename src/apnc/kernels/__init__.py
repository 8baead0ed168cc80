"""Kernels: named ones on vectors, ready ones on objects, functions on anything, precomputed matrices."""

from apnc.kernels.algebra import normalized
from apnc.kernels.choice import GAMMAS, KernelChoice
from apnc.kernels.combined import NormalizedKernel
from apnc.kernels.family import BadObjectError, Kernel, KernelRows, is_function
from apnc.kernels.given import CallableKernel, PrecomputedKernel
from apnc.kernels.names import KERNELS
from apnc.kernels.objects import NAMES as ON_OBJECTS
from apnc.kernels.objects import (
    Category,
    Date,
    EditSimilarity,
    Jaccard,
    Number,
    Record,
    ShortestPath,
    Spectrum,
    Text,
    TimeWarp,
    WeisfeilerLehman,
)
from apnc.kernels.parsing import kernel_spelled
from apnc.kernels.vectors import VectorKernel

__all__ = [
    "GAMMAS",
    "KERNELS",
    "ON_OBJECTS",
    "BadObjectError",
    "CallableKernel",
    "Category",
    "Date",
    "EditSimilarity",
    "Jaccard",
    "Kernel",
    "KernelChoice",
    "KernelRows",
    "NormalizedKernel",
    "Number",
    "PrecomputedKernel",
    "Record",
    "ShortestPath",
    "Spectrum",
    "Text",
    "TimeWarp",
    "VectorKernel",
    "WeisfeilerLehman",
    "is_function",
    "kernel_spelled",
    "normalized",
]
