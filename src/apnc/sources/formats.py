"""File formats, one record each: endings, options and opener. A new format is one entry here and one module."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import PurePath
from typing import Any

_TABLE = ("columns", "exclude", "id_columns", "weight_column", "filesystem", "object_field")
COMPRESSED = (".gz", ".bz2", ".zst")


@dataclass(frozen=True)
class Format:
    """A file format.

    Attributes
    ----------
    endings : endings of file names; in text files, one of ``COMPRESSED`` may follow.
    takes : options of ``sources.open`` that apply to it.
    opener : "module:function" with (files, format, drop_null, **options), imported when needed.
    text : rows are lines, so that their number can be estimated from the size of a file.

    """

    endings: tuple[str, ...]
    takes: tuple[str, ...]
    opener: str
    text: bool = False

    def load(self) -> Callable[..., Any]:
        """The function that opens files of this format."""
        module, _, function = self.opener.partition(":")
        found: Callable[..., Any] = getattr(importlib.import_module(module), function)
        return found


FORMATS = {
    "npy": Format((".npy",), (), "apnc.sources.arrays:open_npy"),
    "npz": Format((".npz",), (), "apnc.sources.npz:open_npz"),
    "svmlight": Format(
        (".svm", ".svmlight", ".libsvm"),
        ("zero_based", "filesystem"),
        "apnc.sources.svmlight:open_svmlight",
    ),
    "parquet": Format((".parquet", ".pq"), _TABLE, "apnc.sources.tables:open_table"),
    "arrow": Format((".arrow", ".arrows", ".feather", ".ipc"), _TABLE, "apnc.sources.tables:open_table"),
    "csv": Format((".csv",), (*_TABLE, "separator"), "apnc.sources.tables:open_table", text=True),
    "tsv": Format((".tsv",), _TABLE, "apnc.sources.tables:open_table", text=True),
    "jsonl": Format(
        (".jsonl", ".ndjson"),
        ("id_columns", "weight_column", "filesystem", "object_field"),
        "apnc.sources.objects:open_lines",
        text=True,
    ),
}
ENDINGS = {ending: name for name, format in FORMATS.items() for ending in format.endings}


def format_named(name: str) -> str | None:
    """The format of a file by the ending of its name; None if unknown."""
    path = PurePath(name.split("?")[0])
    return ENDINGS.get(PurePath(path.stem if path.suffix.lower() in COMPRESSED else path).suffix.lower())
