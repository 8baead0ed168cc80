"""Kernels: on vectors by name, on anything by a function, or as a given matrix."""

from apnc.kernels.choice import KernelChoice, gamma_of
from apnc.kernels.family import Kernel, KernelRows, NormalizedKernel, compute_dtype
from apnc.kernels.objects import CallableKernel, GivenRows, PrecomputedKernel
from apnc.kernels.vectors import KERNELS, VectorKernel

__all__ = [
    "KERNELS",
    "CallableKernel",
    "GivenRows",
    "Kernel",
    "KernelChoice",
    "KernelRows",
    "NormalizedKernel",
    "PrecomputedKernel",
    "VectorKernel",
    "compute_dtype",
    "gamma_of",
]
