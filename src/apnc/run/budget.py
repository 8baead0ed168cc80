"""How much memory is available, and how much of it a fit may use."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from apnc.engines.local import CHUNK_BYTES
from apnc.parameters.rules import parse_bytes
from apnc.settings import Sizes

#: Share of the available memory that a fit without a limit may use for Y.
FREE_SHARE = 0.75
#: Approximate resident memory of a process that has loaded what a fit needs. Sizes are derived from the limit minus
#: this constant rather than from actual memory use, so that runs are reproducible bit for bit.
NOMINAL_BASE = 360_000_000
#: The smallest useful chunk, and the number of chunks that a limit is divided into.
LEAST_CHUNK_BYTES, CHUNKS_OF_LIMIT = 1 << 19, 40
#: Numbers of landmarks below this are tried one by one, larger ones in steps of 10 %.
SMALL_STEPS = 20


def show_bytes(amount: float) -> str:
    """A human-readable size, rounded up: ``"1.3GB"``, ``"420MB"``."""
    if amount >= 10**10:
        return f"{-(-amount // 10**9):.0f}GB"
    if amount >= 10**9:
        return f"{-(-amount // 10**8) / 10:.1f}GB"
    return f"{-(-amount // 10**6):.0f}MB"


#: Source of memory statistics on Linux; elsewhere psutil is used, which is a dependency of apnc there.
PROC = Path("/proc")


def resident() -> int:
    """Resident memory of this process; 0 if unknown."""
    try:
        pages = int((PROC / "self/statm").read_text().split()[1])
    except OSError:
        psutil = _psutil()
        return 0 if psutil is None else int(psutil.Process().memory_info().rss)
    import resource

    return pages * resource.getpagesize()


def available() -> float:
    """Memory that can still be allocated, on the machine and in the container if it has a limit."""
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


#: Files with the limits of containers, for cgroups 2 and 1: limit, usage, and the page cache within the usage, which
#: the kernel reclaims when memory is short.
GROUPS = {
    "": ("memory.max", "memory.current", ("active_file", "inactive_file")),
    "memory": (
        "memory.limit_in_bytes",
        "memory.usage_in_bytes",
        ("total_active_file", "total_inactive_file"),
    ),
}


def _of_container(root: Path = Path("/sys/fs/cgroup"), own: Path = Path("/proc/self/cgroup")) -> float:
    """The tightest limit among the process's groups and their parents."""
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


@dataclass(frozen=True)
class Budget:
    """The memory that a fit may use.

    Attributes
    ----------
    limit : bytes of resident memory, including the interpreter; None: the available memory.
    base : resident memory at the beginning of the fit.

    """

    limit: int | None = None
    base: int = 0

    @classmethod
    def now(cls, limit: str | int | float | None) -> "Budget":
        """A budget with the user's limit, measured from now; libraries that the fit loads are part of the base."""
        if limit is None:
            return cls()
        from apnc.loops.compiled import load

        load()
        return cls(parse_bytes(limit), resident())

    @property
    def free(self) -> float:
        """Bytes that may be used on top of the base."""
        return FREE_SHARE * available() if self.limit is None else float(self.limit - self.base)

    @property
    def chunk_bytes(self) -> int:
        """Memory of one chunk: a small share of the limit, between the smallest and the largest useful size."""
        share = CHUNK_BYTES if self.limit is None else (self.limit - NOMINAL_BASE) // CHUNKS_OF_LIMIT
        return max(LEAST_CHUNK_BYTES, min(CHUNK_BYTES, share))

    def require(self, needs: Callable[["Budget"], dict[str, float]], instead: str = "") -> None:
        """Refuse a limit below what is needed within it, by part; name a sufficient limit, and what to do instead."""
        if self.limit is None or sum(needs(self).values()) <= self.free:
            return
        # A larger limit allows larger chunks and sizes and so raises the need: iterate to one that suffices for itself.
        enough = self
        while (least := self.base + sum(needs(enough).values())) > (enough.limit or 0):
            enough = replace(self, limit=int(1.02 * least))
        parts = needs(enough)
        shown = ", ".join(f"{name} {show_bytes(size)}" for name, size in parts.items() if size >= 10**6)
        raise ValueError(
            f"memory_limit={show_bytes(self.limit)} is too small: this needs at least {show_bytes(enough.limit or 0)} "
            f"({show_bytes(self.base)} already in use; {shown}). Raise the limit{instead}."
        )


NO_LIMIT = Budget()


def largest_that_fit(
    needs: Callable[[Sizes], dict[str, float]], sizes: Sizes, free: float
) -> tuple[int, int]:
    """The largest l and m <= l, up to the given sizes, that need at most ``free`` bytes; (0, 0) if there are none."""
    l, least = sizes.n_landmarks, max(1, min(sizes.n_landmarks, sizes.n_clusters))  # noqa: E741
    while l >= least:
        m = min(sizes.n_components, l)
        if sum(needs(sizes.shrunk(l, m)).values()) <= free:
            return l, m
        l = l - 1 if l < SMALL_STEPS else int(0.9 * l)  # noqa: E741
    return 0, 0
