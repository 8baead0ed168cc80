"""The methods that the paper compares with, with the kernels, starts and conventions of ``KernelKMeans``."""

from apnc.baselines.approx import ApproxKernelKMeans
from apnc.baselines.dasc import BucketSpectralClustering
from apnc.baselines.exact import ExactKernelKMeans
from apnc.baselines.fourier import FourierKMeans, SingularFourierKMeans
from apnc.baselines.psc import SparseSpectralClustering
from apnc.baselines.two_stage import TwoStageKernelKMeans

__all__ = [
    "ApproxKernelKMeans",
    "BucketSpectralClustering",
    "ExactKernelKMeans",
    "FourierKMeans",
    "SingularFourierKMeans",
    "SparseSpectralClustering",
    "TwoStageKernelKMeans",
]
