"""How far a part of the work has come, in words."""

from dataclasses import dataclass


def duration(seconds: float) -> str:
    """Time in at most two units: ``0.25 s``, ``42 s``, ``1 min 20 s``, ``2 h 5 min``, ``3 d 4 h``."""
    if seconds < 9.95:
        return f"{max(seconds, 0.001):.2g} s"
    if round(seconds) < 60:
        return f"{round(seconds)} s"
    if round(seconds) < 3600:
        return "{} min {} s".format(*divmod(round(seconds), 60))
    if round(seconds / 60) < 1440:
        return "{} h {} min".format(*divmod(round(seconds / 60), 60))
    return "{} d {} h".format(*divmod(round(seconds / 3600), 24))


@dataclass
class Stage:
    """How far a part of the work has come.

    Attributes
    ----------
    name : "sampling", "embedding", "clustering", "labels", ...
    started : time on the clock.
    total_rows : rows of one pass; None where they are not known yet.
    passes : over the rows, at most; of stages without iterations.
    max_iter : iterations at most, each a pass over the rows; None where there are none.
    n_rows, before : rows handled in all passes, and before the iteration that is under way.
    n_iter, quality : number of the last iteration, and what it came to.

    """

    name: str
    started: float
    total_rows: int | None = None
    passes: int = 1
    max_iter: int | None = None
    n_rows: int = 0
    before: int = 0
    n_iter: int = 0
    quality: str = ""

    @property
    def unit(self) -> str:
        """What is counted."""
        return "iterations" if self.max_iter else "rows"

    @property
    def total(self) -> int | None:
        """Iterations, else rows of all passes; None where that is not known."""
        return self.max_iter or (None if self.total_rows is None else self.total_rows * self.passes)

    @property
    def done(self) -> float:
        """Of the total; of iterations, with the part of the one under way."""
        if not self.max_iter:
            return self.n_rows if self.total is None else min(self.n_rows, self.total)
        part = min(1.0, (self.n_rows - self.before) / self.total_rows) if self.total_rows else 0.0
        return min(self.max_iter, self.n_iter + part)

    def told(self, now: float) -> str:
        """How fast it is, and what the last iteration came to."""
        speed = (
            f"{self.n_rows / (now - self.started):,.0f} rows/s" if self.n_rows and now > self.started else ""
        )
        return ", ".join(filter(None, [speed, self.quality]))

    def text(self, now: float) -> str:
        """Where it stands: what is done, what is left."""
        elapsed, bound = now - self.started, "at most " if self.max_iter else ""
        of = "" if self.total is None else f" of {bound}{self.total:,}"
        place = f"{int(self.done):,}{of} {self.unit}"
        left = (
            f"{bound}{duration(elapsed * (self.total / self.done - 1))} left"
            if self.total and self.done
            else ""
        )
        return ", ".join(filter(None, [place, self.told(now), left]))

    def finished(self, now: float) -> str:
        """What it took."""
        if self.max_iter:
            work = f"{self.n_iter} iteration{'' if self.n_iter == 1 else 's'}"
        elif self.total_rows and self.n_rows > self.total_rows:
            work = f"{self.n_rows / self.total_rows:.3g} passes over {self.total_rows:,} rows"
        else:
            work = f"{self.n_rows:,} rows" if self.n_rows else "done"
        return ", ".join(filter(None, [f"{work} in {duration(now - self.started)}", self.told(now)]))
