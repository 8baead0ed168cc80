"""Agreement of labels with a ground truth: two files compared in pieces."""

from apnc.evaluation.comparing import compare
from apnc.evaluation.label_files import count_rows
from apnc.evaluation.measures import Comparison

__all__ = ["Comparison", "compare", "count_rows"]
