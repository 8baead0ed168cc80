"""The methods the paper compares with, under the same kernels, starts and conventions as ``KernelKMeans``."""

from apnc.baselines.approx import ApproxKernelKMeans
from apnc.baselines.exact import ExactKernelKMeans

__all__ = ["ApproxKernelKMeans", "ExactKernelKMeans"]
