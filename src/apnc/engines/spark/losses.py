"""Failures of Spark: whatever it raises becomes one error that says what happened and what to do."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from apnc.wording import one_line, told

#: Characters of an error at most.
LONGEST = 1000
#: What is said of a failed job, by what Spark's report contains.
REPORTED = {
    r"No module named 'apnc'": (
        "Spark's Python workers do not have apnc. Install it where they run, or set PYSPARK_PYTHON to a Python that "
        "has it before the session starts."
    ),
    r"\bcancell?ed\b": "The Spark job was cancelled. Nothing was kept of this work: start it again.",
    r"Python worker (exited unexpectedly|failed to connect back)": (
        "The Spark job failed: its Python workers died again and again. Most often they lack memory: raise "
        "spark.executor.memoryOverhead, or use fewer cores for each executor; the executors' logs tell more."
    ),
}
LOST = re.compile(r"ExecutorLostFailure \(.*?\)(?: Reason: (.*))?")
#: An exception in Spark's report, in a Python or Java traceback.
RAISED = re.compile(r"^(?:: |Caused by: )?([\w.$]*(?:Error|Exception|Interrupt)): (.*\S.*)$", re.M)
STOPPED = (
    "The Spark session was stopped while it was needed. Start a session, create the DataFrame again and repeat the "
    "work."
)


class SparkError(RuntimeError):
    """A failed Spark job; the message names the cause."""


def is_connect(frame: Any) -> bool:
    """Whether a DataFrame belongs to a Spark Connect session."""
    return ".connect." in type(frame).__module__


@contextmanager
def told_plainly(frame: Any) -> Iterator[None]:
    """Errors of Spark raised here become ``SparkError``, with the original as their cause."""
    try:
        yield
    except SparkError:
        raise
    except Exception as error:
        stopped = is_stopped(frame)
        if not (stopped or isinstance(error, _kinds(frame))):
            raise
        raise SparkError(STOPPED if stopped else told(one_line(_sentence(error)), LONGEST)) from error


def is_stopped(frame: Any) -> bool:
    """Whether the session of a DataFrame has ended; a session that does not answer has not ended by its own account."""
    try:
        if is_connect(frame):
            return bool(frame.sparkSession.is_stopped)
        context = frame.sparkSession.sparkContext
        return context._jsc is None or bool(context._jsc.sc().isStopped())
    except Exception:
        return False


def _kinds(frame: Any) -> tuple[type[Exception], ...]:
    """Exceptions by which Spark reports a failure; classic Spark lets those of its connection to Java through."""
    from pyspark.errors import PySparkException

    if is_connect(frame):
        return (PySparkException,)
    from py4j.protocol import Py4JError

    return PySparkException, Py4JError, ConnectionError, EOFError


def _sentence(error: Exception) -> str:
    from pyspark.errors import PySparkException

    try:
        report = str(error)
    except Exception as lost:
        # Classic Spark asks its Java process for the text.
        return _sentence(lost)
    if isinstance(error, PySparkException) or hasattr(error, "java_exception"):
        return reason_of(report)
    # What the bridge to Java says of its own state helps nobody.
    own = type(error).__module__.startswith("py4j.")
    found = "" if own else f" ({told(f'{type(error).__name__}: {report}'.strip(': '), 200)})"
    return (
        f"The connection to the Spark driver was lost{found}. Look for the reason in its log, start a "
        "new session, create the DataFrame again and repeat the work."
    )


def reason_of(report: str) -> str:
    """What Spark's report of a failed job comes down to."""
    for pattern, says in REPORTED.items():
        if re.search(pattern, report):
            return says
    if lost := LOST.search(report):
        why = f" ({told(lost[1].strip().rstrip('.'), 300)})" if lost[1] else ""
        return (
            f"The Spark job failed: it lost executors again and again{why}. Check their logs and their memory "
            "(spark.executor.memory, spark.executor.memoryOverhead), and repeat the work."
        )
    # The last exception in a report is the root cause.
    raised = RAISED.findall(report)
    name, message = raised[-1] if raised else ("", report.strip().splitlines()[0])
    kind = "" if name.startswith(("org.", "java.", "scala.")) or not name else f"{name}: "
    return f"The Spark job failed: {kind}{message.strip()}"
