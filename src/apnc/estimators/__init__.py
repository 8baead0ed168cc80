"""The public estimators: they validate and store; ``pipeline`` computes."""

from apnc.estimators.clusterer import KernelClusterer
from apnc.estimators.embedding import KernelEmbedding
from apnc.estimators.kmeans import KernelKMeans
from apnc.estimators.registry import ESTIMATORS, register
from apnc.estimators.saving import load
from apnc.estimators.spectral_clustering import SpectralClustering

register("kernel", KernelKMeans)
register("embedding", KernelEmbedding)
register("spectral", SpectralClustering)

__all__ = [
    "ESTIMATORS",
    "KernelClusterer",
    "KernelEmbedding",
    "KernelKMeans",
    "SpectralClustering",
    "load",
    "register",
]
