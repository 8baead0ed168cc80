"""Start Spark sessions whose Python workers use the driver's interpreter, and check for Java."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

#: The oldest Java that Spark 4 runs on.
OLDEST_JAVA = 17


class JavaMissingError(RuntimeError):
    """No Java was found that Spark can run on."""


def session(master: str | None = None, **conf: Any) -> Any:
    """Get the running SparkSession, or start one.

    Python workers use the interpreter of this process, unless the environment variable PYSPARK_PYTHON names another.

    Parameters
    ----------
    master : such as "local[4]", "spark://host:7077", "yarn", "k8s://https://host:443", or "sc://host:15002" for a
        Connect server. None: that of spark-submit or of Spark's configuration, else "local[*]".
    conf : Spark's settings, as in ``session("local[4]", **{"spark.driver.memory": "4g"})``.

    """
    from pyspark.sql import SparkSession

    builder = SparkSession.builder
    for name, value in conf.items():
        builder = builder.config(name, value)
    if SparkSession.getActiveSession() is not None:
        return builder.getOrCreate()
    if master is not None and master.startswith("sc://"):
        return builder.remote(master).getOrCreate()
    if needs_java():
        check_java()
    with workers_python():
        return (builder if master is None else builder.master(master)).getOrCreate()


def needs_java() -> bool:
    """Whether a session would start a Java process: none is running, and no Connect server is named."""
    import pyspark

    context = getattr(pyspark, "SparkContext", None)
    if context is None or context._gateway is not None or "PYSPARK_GATEWAY_PORT" in os.environ:
        return False
    return not os.environ.get("SPARK_REMOTE", "").startswith("sc://")


def check_java() -> None:
    """Refuse to start without a suitable Java, before Spark fails with pages of output."""
    java = java_command()
    version = None if java is None else java_version(java)
    if version is not None and version >= OLDEST_JAVA:
        return
    home = os.environ.get("JAVA_HOME")
    where = f"JAVA_HOME is {home}" if home else "JAVA_HOME is not set"
    found = "no working java" if version is None else f"Java {version} in {java}"
    raise JavaMissingError(
        f"Spark needs Java {OLDEST_JAVA} or newer; found {found} ({where}). Install one (Debian and Ubuntu: apt-get "
        "install default-jre-headless; Fedora: dnf install java-latest-openjdk-headless; conda install -c conda-forge "
        "openjdk; macOS: brew install openjdk) and set JAVA_HOME to its folder if it is not on the PATH."
    )


def java_command() -> str | None:
    """The java that Spark would run."""
    home = os.environ.get("JAVA_HOME")
    return str(Path(home, "bin", "java")) if home else shutil.which("java")


def java_version(java: str) -> int | None:
    """The version of a java command; None if it does not run. Java 8 reports 1.8."""
    try:
        done = subprocess.run([java, "-version"], capture_output=True, text=True, timeout=60, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.search(r'version "(?:1\.)?(\d+)', done.stderr + done.stdout)
    return int(found[1]) if found else None


@contextmanager
def workers_python() -> Iterator[None]:
    """Set PYSPARK_PYTHON to this interpreter while a session starts, unless it is set already."""
    if "PYSPARK_PYTHON" in os.environ:
        yield
        return
    os.environ["PYSPARK_PYTHON"] = sys.executable
    try:
        yield
    finally:
        del os.environ["PYSPARK_PYTHON"]
