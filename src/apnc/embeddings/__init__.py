"""APNC embeddings: y = R K_L(x)."""

from apnc.embeddings.ensemble import EnsembleEmbedding
from apnc.embeddings.family import Block, Coefficients, Embedding
from apnc.embeddings.neighbours import NeighbourEmbedding
from apnc.embeddings.nystroem import NystroemEmbedding
from apnc.embeddings.stable import StableEmbedding

EMBEDDINGS: dict[str, type[Embedding]] = {
    "nystroem": NystroemEmbedding,
    "stable": StableEmbedding,
    "ensemble": EnsembleEmbedding,
    "neighbours": NeighbourEmbedding,
}

__all__ = [
    "EMBEDDINGS",
    "Block",
    "Coefficients",
    "Embedding",
    "EnsembleEmbedding",
    "NeighbourEmbedding",
    "NystroemEmbedding",
    "StableEmbedding",
]
