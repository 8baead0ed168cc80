"""What long work shows while it runs: nothing, lines or bars; and scikit-learn's callbacks."""

from apnc.progress.callbacks import CallbackProgress, CallbackSupport, callback_progress, with_callbacks
from apnc.progress.contract import SILENT, Progress
from apnc.progress.display import make_progress

__all__ = [
    "SILENT",
    "CallbackProgress",
    "CallbackSupport",
    "Progress",
    "callback_progress",
    "make_progress",
    "with_callbacks",
]
