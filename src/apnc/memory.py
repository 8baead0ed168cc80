"""How much memory there is, and how much of it a fit may take."""

import re
from dataclasses import dataclass
from pathlib import Path

UNITS = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}
#: Share of the free memory that a fit without a limit of its own takes for Y.
FREE_SHARE = 0.75


def parse_bytes(limit: str | int | float) -> int:
    """``"2GB"``, ``"512MiB"`` or a number of bytes as an integer."""
    if isinstance(limit, (int, float)) and not isinstance(limit, bool) and 0 < limit < float("inf"):
        limit = str(int(limit))
    found = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]i?)?b?\s*", limit, re.I) if isinstance(limit, str) else None
    try:
        amount = float(found[1]) * UNITS[(found[2] or "").lower()] if found else 0.0
    except ValueError:
        amount = 0.0
    if amount < 1:
        raise ValueError(
            f"memory_limit={limit!r} must be a size such as '2GB' or '512MiB', or a number of bytes."
        )
    if amount < UNITS["m"]:
        raise ValueError(f"memory_limit={limit!r} is {amount:g} bytes. Add a unit: 4GB, 512MB.")
    return int(amount)


def show_bytes(amount: float) -> str:
    """A size for people, rounded up: ``"1.3GB"``, ``"420MB"``."""
    if amount >= 10**10:
        return f"{-(-amount // 10**9):.0f}GB"
    if amount >= 10**9:
        return f"{-(-amount // 10**8) / 10:.1f}GB"
    return f"{-(-amount // 10**6):.0f}MB"


def resident() -> int:
    """Memory of this process now; 0 where it cannot be told."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
    except OSError:
        return 0
    import resource

    return pages * resource.getpagesize()


def available() -> float:
    """Memory that can still be had: of the machine, and of the container if it has a limit."""
    return min(_of_machine(), _of_container())


def _of_machine() -> float:
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return float("inf")
    return float(next((line.split()[1] for line in lines if line.startswith("MemAvailable")), "inf")) * 1024


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


@dataclass(frozen=True)
class Budget:
    """What a fit may take.

    Attributes
    ----------
    limit : bytes of resident memory, interpreter included; None: what is free.
    base : resident memory when the fit began.

    """

    limit: int | None
    base: int

    @classmethod
    def now(cls, limit: str | int | float | None) -> "Budget":
        """A limit as the user gave it, from here on."""
        return cls(None if limit is None else parse_bytes(limit), resident())

    @property
    def free(self) -> float:
        """Bytes that may be taken on top of the base."""
        return FREE_SHARE * available() if self.limit is None else float(self.limit - self.base)

    def require(self, parts: dict[str, float]) -> None:
        """Refuse a limit below the sum of what is needed, and say which would do."""
        if self.limit is None or sum(parts.values()) <= self.free:
            return
        enough = show_bytes(1.02 * (self.base + sum(parts.values())))
        shown = ", ".join(f"{name} {show_bytes(size)}" for name, size in parts.items() if size >= 10**6)
        raise ValueError(
            f"memory_limit={show_bytes(self.limit)} is too small: this needs at least {enough} "
            f"({show_bytes(self.base)} is in use already; {shown}). Raise the limit, or lower n_landmarks, "
            "n_components or n_jobs."
        )
