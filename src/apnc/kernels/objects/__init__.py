"""Kernels on objects: text, sets, graphs, series, records."""

from apnc.kernels.family import Kernel
from apnc.kernels.objects.series import TimeWarp
from apnc.kernels.objects.sets import Jaccard
from apnc.kernels.objects.strings import EditSimilarity, Spectrum

__all__ = ["NAMES", "PARTS", "EditSimilarity", "Jaccard", "Spectrum", "TimeWarp"]

#: Kernels on objects by name. Another one is a class and a line here.
NAMES: dict[str, type[Kernel]] = {
    "spectrum": Spectrum,
    "edit_similarity": EditSimilarity,
    "jaccard": Jaccard,
    "time_warp": TimeWarp,
}
#: What some of them are made of, such as the fields of a record.
PARTS: dict[str, type] = {}
