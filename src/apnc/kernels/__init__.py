"""Kernels: named ones on vectors, functions on arbitrary objects, precomputed matrices."""

from apnc.kernels.choice import GAMMAS, KernelChoice
from apnc.kernels.family import Kernel, KernelRows, NormalizedKernel
from apnc.kernels.given import CallableKernel, PrecomputedKernel
from apnc.kernels.names import KERNELS
from apnc.kernels.vectors import VectorKernel

__all__ = [
    "GAMMAS",
    "KERNELS",
    "CallableKernel",
    "Kernel",
    "KernelChoice",
    "KernelRows",
    "NormalizedKernel",
    "PrecomputedKernel",
    "VectorKernel",
]
