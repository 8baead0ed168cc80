"""Progress of long operations: nothing, lines or bars; and scikit-learn's callbacks."""

from apnc.progress.callbacks import HEARD, CallbackProgress, CallbackSupport, told_to_callbacks
from apnc.progress.display import make_progress
from apnc.progress.listener import SILENT, Progress

__all__ = [
    "HEARD",
    "SILENT",
    "CallbackProgress",
    "CallbackSupport",
    "Progress",
    "make_progress",
    "told_to_callbacks",
]
