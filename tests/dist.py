"""Build wheel and sdist, and try each as a user would get it: ``make dist``.

Each is installed in a clean environment without extras, with each extra and with all of them. There the README's
examples and the command line are run, away from the sources; the metadata is checked.
"""

import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from importlib.metadata import PathDistribution
from pathlib import Path

ROOT = Path(__file__).parents[1]
#: Extras for users; the others are for work on apnc itself.
EXTRAS = ("files", "progress", "cli", "spark", "dask", "plot", "objects", "report")
#: What every environment must be able to do.
IMPORTS = (
    "import apnc, apnc.kernels, apnc.evaluation, apnc.baselines; apnc.KernelKMeans; apnc.SpectralClustering"
)
#: More that an extra must be able to do.
PROMISED = {
    "files": "import pyarrow, apnc; apnc.open",
    "progress": "import rich",
    "cli": "import typer, rich, pyarrow; from apnc.cli.app import app",
    "spark": "import pyspark, apnc.spark",
    "dask": "import apnc, dask.array; apnc.open(dask.array.ones((4, 2)))",
    "plot": "import matplotlib",
    "objects": "from apnc.kernels import EditSimilarity; EditSimilarity()(['ab'], ['ac'])",
    "report": "import bokeh, jinja2",
}


def main() -> None:
    """Build, check, try; the first failure ends it."""
    shutil.rmtree(ROOT / "dist", ignore_errors=True)
    run(sys.executable, "-m", "build", "--outdir", "dist", cwd=ROOT)
    built = sorted((ROOT / "dist").iterdir())
    assert len(built) == 2, built
    run(sys.executable, "-m", "twine", "check", "--strict", *map(str, built), cwd=ROOT)
    choices = [(), *((extra,) for extra in EXTRAS), EXTRAS]
    for package in built:
        for extras in choices:
            with tempfile.TemporaryDirectory() as folder:
                tried(package, extras, Path(folder))
            print(f"{package.name} with {', '.join(extras) or 'no extras'}: works", flush=True)


def tried(package: Path, extras: tuple[str, ...], folder: Path) -> None:
    """Install a package in an environment of its own and use it."""
    python = folder / "env" / "bin" / "python"
    run(
        sys.executable,
        "-m",
        "uv",
        "venv",
        "--quiet",
        "--python",
        sys.executable,
        str(folder / "env"),
        cwd=folder,
    )
    wanted = f"apnc[{','.join(extras)}] @ {package.as_uri()}" if extras else f"apnc @ {package.as_uri()}"
    run(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", str(python), wanted, cwd=folder)
    run(str(python), "-c", IMPORTS, cwd=folder)
    for extra in extras:
        run(str(python), "-c", PROMISED[extra], cwd=folder)
    for block in examples():
        example(python, block, {"files", "cli", "spark"}.isdisjoint(extras), folder)
    command(python, "cli" in extras, folder)
    metadata(python)


def examples() -> list[str]:
    """The README's examples in Python."""
    return re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)


def example(python: Path, block: str, without_tables: bool, folder: Path) -> None:
    """An example works; where its file needs the extra ``files``, which is not there, it says so."""
    words = [str(python), "-W", "ignore", "-c", block]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    told = 'pip install "apnc[files]"' in done.stderr
    if done.returncode and not (without_tables and told):
        sys.exit(f"{block}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


def command(python: Path, there: bool, folder: Path) -> None:
    """The command line works with its extra, and says what is missing without it."""
    words = [str(python.with_name("apnc")), "--version"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, check=False)
    if not there:
        assert done.returncode == 2, (done.returncode, done.stderr)
        assert 'pip install "apnc[cli]"' in done.stderr, done.stderr
        return
    assert done.returncode == 0, done.stderr
    rows = "import numpy as np; np.save('x.npy', np.random.default_rng(0).normal(size=(500, 3)))"
    run(str(python), "-c", rows, cwd=folder)
    apnc = words[0]
    run(apnc, "fit", "x.npy", "-k", "3", "--model", "m.apnc", "--labels", "l.csv", "--quiet", cwd=folder)
    run(apnc, "predict", "m.apnc", "x.npy", "--labels", "again.csv", "--quiet", cwd=folder)
    assert (folder / "l.csv").read_text() == (folder / "again.csv").read_text()
    run(apnc, "doctor", cwd=folder)


def metadata(python: Path) -> None:
    """What an index would show."""
    (found,) = python.parents[1].glob("lib/python*/site-packages/apnc-*.dist-info")
    told = PathDistribution(found).metadata
    stated = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert told["Name"] == "apnc"
    assert told["Summary"] == stated["description"]
    assert told["License-Expression"] == stated["license"]
    assert told["Requires-Python"] == stated["requires-python"]
    assert set(EXTRAS) <= set(told.get_all("Provides-Extra"))
    assert (found / "licenses" / "LICENSE").is_file()
    assert (found.parent / "apnc" / "py.typed").is_file()


def run(*words: str, cwd: Path) -> None:
    """Run a command; a failure shows what it printed."""
    done = subprocess.run(words, cwd=cwd, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(words)[:200]}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")


if __name__ == "__main__":
    main()
