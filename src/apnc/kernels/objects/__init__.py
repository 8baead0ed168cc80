"""Kernels on objects: text, sets, graphs, series, records."""

from apnc.kernels.family import Kernel
from apnc.kernels.objects.series import TimeWarp
from apnc.kernels.objects.sets import Jaccard
from apnc.kernels.objects.strings import EditSimilarity, Spectrum

__all__ = ["NAMES", "PARTS", "EditSimilarity", "Jaccard", "Spectrum", "TimeWarp"]
from apnc.kernels.objects.graphs import ShortestPath, WeisfeilerLehman
__all__ = ["NAMES", "PARTS", "EditSimilarity", "Jaccard", "ShortestPath", "Spectrum", "WeisfeilerLehman"]

#: Kernels on objects by name. Another one is a class and a line here.
NAMES: dict[str, type[Kernel]] = {
    "spectrum": Spectrum,
    "edit_similarity": EditSimilarity,
    "jaccard": Jaccard,
    "time_warp": TimeWarp,
    "weisfeiler_lehman": WeisfeilerLehman,
    "shortest_path": ShortestPath,
}
#: What some of them are made of, such as the fields of a record.
PARTS: dict[str, type] = {}
