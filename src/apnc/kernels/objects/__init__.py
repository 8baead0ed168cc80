"""Kernels on objects: text, sets, graphs, series, records."""

from apnc.kernels.family import Kernel
from apnc.kernels.objects.fields import Category, Date, Number, Text
from apnc.kernels.objects.graphs import ShortestPath, WeisfeilerLehman
from apnc.kernels.objects.mixed_records import Record
from apnc.kernels.objects.series import TimeWarp
from apnc.kernels.objects.sets import Jaccard
from apnc.kernels.objects.strings import EditSimilarity, Spectrum

__all__ = [
    "NAMES",
    "PARTS",
    "Category",
    "Date",
    "EditSimilarity",
    "Jaccard",
    "Number",
    "Record",
    "ShortestPath",
    "Spectrum",
    "Text",
    "TimeWarp",
    "WeisfeilerLehman",
]

#: Kernels on objects by name. Another one is a class and a line here.
NAMES: dict[str, type[Kernel]] = {
    "spectrum": Spectrum,
    "edit_similarity": EditSimilarity,
    "jaccard": Jaccard,
    "weisfeiler_lehman": WeisfeilerLehman,
    "shortest_path": ShortestPath,
    "time_warp": TimeWarp,
    "record": Record,
}
#: What some of them are made of, such as the fields of a record.
PARTS: dict[str, type] = {"number": Number, "category": Category, "text": Text, "date": Date}
