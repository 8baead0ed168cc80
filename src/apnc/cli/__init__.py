"""The command line ``apnc``."""

import sys


def main() -> None:
    """Run the command line; what it is made of is an extra, so it may be missing."""
    try:
        from apnc.cli.app import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        print(f'apnc: the command line needs {error.name}: pip install "apnc[cli]"', file=sys.stderr)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)
    app(prog_name="apnc")
