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
        return int(limit)
    found = re.fullmatch(r"\s*([0-9.]+)\s*([kmgt]i?)?b?\s*", limit, re.I) if isinstance(limit, str) else None
    try:
        amount = float(found[1]) * UNITS[(found[2] or "").lower()] if found else 0.0
    except ValueError:
        amount = 0.0
    if amount < 1:
        raise ValueError(
            f"memory_limit={limit!r} must be a size such as '2GB' or '512MiB', or a number of bytes."
        )
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


def _of_container() -> float:
    group = Path("/sys/fs/cgroup")
    try:
        limit, used = (group / "memory.max").read_text(), (group / "memory.current").read_text()
    except OSError:
        return float("inf")
    return float("inf") if limit.strip() == "max" else max(0.0, float(limit) - float(used))


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
