"""Methods to compare with, the paper's and later ones, with the kernels, starts and conventions of ``KernelKMeans``."""

from apnc.baselines.approx import ApproxKernelKMeans
from apnc.baselines.dasc import BucketSpectralClustering
from apnc.baselines.exact import ExactKernelKMeans
from apnc.baselines.fourier import FourierKMeans, SingularFourierKMeans
from apnc.baselines.lsc import LandmarkSpectralClustering
from apnc.baselines.psc import SparseSpectralClustering
from apnc.baselines.two_stage import TwoStageKernelKMeans
from apnc.baselines.uspec import UltraScalableSpectralClustering

__all__ = [
    "ApproxKernelKMeans",
    "BucketSpectralClustering",
    "ExactKernelKMeans",
    "FourierKMeans",
    "LandmarkSpectralClustering",
    "SingularFourierKMeans",
    "SparseSpectralClustering",
    "TwoStageKernelKMeans",
    "UltraScalableSpectralClustering",
]
