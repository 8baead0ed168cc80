"""Kernel k-means for data that outgrows its kernel matrix."""

from importlib import import_module

from apnc.version import __version__

# As in typing, whose import takes longer than all that is done here.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from apnc.choosing import choose, stability_scorer
    from apnc.embeddings import (
        Embedding,
        EnsembleEmbedding,
        NeighbourEmbedding,
        NystroemEmbedding,
        StableEmbedding,
    )
    from apnc.estimators import KernelEmbedding, KernelKMeans, SpectralClustering, load
    from apnc.sources import open

__all__ = [
    "Embedding",
    "EnsembleEmbedding",
    "KernelEmbedding",
    "KernelKMeans",
    "NeighbourEmbedding",
    "NystroemEmbedding",
    "SpectralClustering",
    "StableEmbedding",
    "__version__",
    "choose",
    "load",
    "open",
    "stability_scorer",
]
#: Parts that define the public names. They are imported when first used: it takes seconds, and the command line must
#: handle signals before.
PARTS = ("choosing", "embeddings", "estimators", "sources")


def __getattr__(name: str) -> object:
    from importlib.util import find_spec

    if name in __all__:
        # Importing scipy takes longer at the end of a deep chain of imports.
        import_module("sklearn.base")
        parts = (import_module(f"apnc.{part}") for part in PARTS)
        found = globals()[name] = next(getattr(part, name) for part in parts if name in part.__all__)
        return found
    if name.startswith("_") or find_spec(f"apnc.{name}") is None:
        raise AttributeError(f"module 'apnc' has no attribute {name!r}")
    return import_module(f"apnc.{name}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
