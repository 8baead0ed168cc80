"""Where the real data sets are."""

import os
from pathlib import Path


def data_folder() -> Path | None:
    """The folder in APNC_DATA, else ``../shared/data`` beside the checkout, else None."""
    given = os.environ.get("APNC_DATA")
    folder = Path(given) if given else Path(__file__).parents[3] / "shared" / "data"
    return folder if folder.is_dir() else None
