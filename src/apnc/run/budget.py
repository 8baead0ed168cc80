"""How much memory there is, and how much of it a fit may take."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from apnc.engines.local import CHUNK_BYTES
from apnc.parameters.rules import parse_bytes
from apnc.run.costs import Sizes

#: Share of the free memory that a fit without a limit of its own takes for Y.
FREE_SHARE = 0.75
#: Resident memory of a process that has loaded what a fit needs, about: what a limit allows beside it follows from the
#: limit as it was given, so that a run can be repeated bit for bit.
NOMINAL_BASE = 360_000_000
#: The least that is worth working on at a time, and the share of what a limit allows that one chunk takes.
LEAST_CHUNK_BYTES, CHUNKS_OF_LIMIT = 1 << 19, 40
#: Numbers of landmarks below this are tried one by one.
SMALL_STEPS = 20


def show_bytes(amount: float) -> str:
    """A size for people, rounded up: ``"1.3GB"``, ``"420MB"``."""
    if amount >= 10**10:
        return f"{-(-amount // 10**9):.0f}GB"
    if amount >= 10**9:
        return f"{-(-amount // 10**8) / 10:.1f}GB"
    return f"{-(-amount // 10**6):.0f}MB"


#: Where Linux tells of memory; other systems are asked by psutil, which is installed with apnc there.
PROC = Path("/proc")


def resident() -> int:
    """Memory of this process now; 0 where it cannot be told."""
    try:
        pages = int((PROC / "self/statm").read_text().split()[1])
    except OSError:
        psutil = _psutil()
        return 0 if psutil is None else int(psutil.Process().memory_info().rss)
    import resource

    return pages * resource.getpagesize()


def available() -> float:
    """Memory that can still be had: of the machine, and of the container if it has a limit."""
    return min(_of_machine(), _of_container())


def _of_machine() -> float:
    try:
        lines = (PROC / "meminfo").read_text().splitlines()
    except OSError:
        psutil = _psutil()
        return float("inf") if psutil is None else float(psutil.virtual_memory().available)
    return float(next((line.split()[1] for line in lines if line.startswith("MemAvailable")), "inf")) * 1024


def _psutil() -> Any | None:
    try:
        import psutil
    except ImportError:
        return None
    return psutil


#: Where the limits of containers are told, by version of cgroups: limit, use, and the page cache within the use,
#: which is given back when memory is short.
GROUPS = {
    "": ("memory.max", "memory.current", ("active_file", "inactive_file")),
    "memory": (
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        ("total_active_file", "total_inactive_file"),
    ),
}


def _of_container(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> float:
    """The least of the groups that the process is in, and of those around them."""
    try:
        lines = [line.split(":", 2) for line in own.read_text().splitlines()]
    except OSError:
        lines = []
    found = [float("inf")]
    for folder, files in GROUPS.items():
        inner = next((path for _, kind, path in lines if folder in kind.split(",")), "/").strip("/")
        group = root / folder / inner
        while group.is_relative_to(root / folder):
            found.append(_of_group(group, *files))
            group = group.parent
    return min(found)


def _of_group(group: Path, limit_file: str, used_file: str, cache: tuple[str, ...]) -> float:
    try:
        limit, used = (group / limit_file).read_text(), float((group / used_file).read_text())
        stat = dict(line.split() for line in (group / "memory.stat").read_text().splitlines())
    except OSError:
        return float("inf")
    held = used - sum(float(stat.get(name, 0)) for name in cache)
    return float("inf") if limit.strip() == "max" else max(0.0, float(limit) - max(0.0, held))


class Needs(Protocol):
    """Memory that a fit of such sizes needs within a budget, by part."""

    def __call__(self, sizes: Sizes, budget: "Budget") -> dict[str, float]: ...


@dataclass(frozen=True)
class Budget:
    """What a fit may take.

    Attributes
    ----------
    limit : bytes of resident memory, interpreter included; None: what is free.
    base : resident memory when the fit began.

    """

    limit: int | None = None
    base: int = 0

    @classmethod
    def now(cls, limit: str | int | float | None) -> "Budget":
        """A limit as the user gave it, from here on; libraries that the fit loads count as part of the interpreter."""
        if limit is None:
            return cls()
        from apnc.loops.compiled import load

        load()
        return cls(parse_bytes(limit), resident())

    @property
    def free(self) -> float:
        """Bytes that may be taken on top of the base."""
        return FREE_SHARE * available() if self.limit is None else float(self.limit - self.base)

    @property
    def chunk_bytes(self) -> int:
        """Memory of one chunk: as large as is of use, and a small share of the limit."""
        share = CHUNK_BYTES if self.limit is None else (self.limit - NOMINAL_BASE) // CHUNKS_OF_LIMIT
        return max(LEAST_CHUNK_BYTES, min(CHUNK_BYTES, share))

    def require(self, needs: Needs, sizes: Sizes, fitted: bool = False) -> None:
        """Refuse a limit below the sum of what is needed; say which limit or, before a fit, which sizes would do."""
        parts = needs(sizes, self)
        if self.limit is None or sum(parts.values()) <= self.free:
            return
        enough = self
        while (least := self.base + sum(needs(sizes, enough).values())) > (enough.limit or 0):
            enough = replace(self, limit=int(1.02 * least))
        parts = needs(sizes, enough)
        shown = ", ".join(f"{name} {show_bytes(size)}" for name, size in parts.items() if size >= 10**6)
        raise ValueError(
            f"memory_limit={show_bytes(self.limit)} is too small: this needs at least {show_bytes(enough.limit or 0)} "
            f"({show_bytes(self.base)} is in use already; {shown}). Raise the "
            f"limit{'' if fitted else self._instead(needs, sizes)}."
        )

    def _instead(self, needs: Needs, sizes: Sizes) -> str:
        """Sizes that the limit would allow."""
        l, m = largest_that_fit(partial(needs, budget=self), sizes, self.free)  # noqa: E741
        return f", or ask for less: n_landmarks={l}, n_components={m} would fit" if l else ""


NO_LIMIT = Budget()


def largest_that_fit(
    needs: Callable[[Sizes], dict[str, float]], sizes: Sizes, free: float
) -> tuple[int, int]:
    """The largest l up to the one given, and m no larger than it, that need no more than ``free``; (0, 0): none."""
    l, least = sizes.n_landmarks, max(1, min(sizes.n_landmarks, sizes.n_clusters))  # noqa: E741
    while l >= least:
        m = min(sizes.n_components, l)
        if sum(needs(replace(sizes, n_landmarks=l, n_components=m)).values()) <= free:
            return l, m
        l = l - 1 if l < SMALL_STEPS else int(0.9 * l)  # noqa: E741
    return 0, 0
