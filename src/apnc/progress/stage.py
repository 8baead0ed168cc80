"""The progress of one stage, as numbers and text."""

from dataclasses import dataclass


def duration(seconds: float) -> str:
    """A duration in at most two units: ``0.25 s``, ``42 s``, ``1 min 20 s``, ``2 h 5 min``, ``3 d 4 h``."""
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
    """The progress of one stage.

    Attributes
    ----------
    name : "sampling", "embedding", "clustering", "labels", ...
    started : clock time of the beginning.
    total_rows : rows per pass; None if not known yet.
    passes : maximum number of passes over the rows, for stages without iterations.
    max_iter : maximum number of iterations, each a pass over the rows; None for stages without iterations.
    pairs : pairs of objects that the kernel compares for each row; 0 if it does not work by pairs.
    n_rows, before : rows processed in all passes, and before the current iteration.
    n_iter, quality : number of the last iteration, and its result as text.

    """

    name: str
    started: float
    total_rows: int | None = None
    passes: int = 1
    max_iter: int | None = None
    pairs: int = 0
    n_rows: int = 0
    before: int = 0
    n_iter: int = 0
    quality: str = ""

    @property
    def unit(self) -> str:
        """Unit of ``done`` and ``total``."""
        return "iterations" if self.max_iter else "rows"

    @property
    def total(self) -> int | None:
        """Number of iterations, or else of rows in all passes; None if unknown."""
        return self.max_iter or (None if self.total_rows is None else self.total_rows * self.passes)

    @property
    def done(self) -> float:
        """How much of ``total`` is done, including part of the current iteration."""
        if not self.max_iter:
            return self.n_rows if self.total is None else min(self.n_rows, self.total)
        part = min(1.0, (self.n_rows - self.before) / self.total_rows) if self.total_rows else 0.0
        return min(self.max_iter, self.n_iter + part)

    def told(self, now: float) -> str:
        """Speed, and the result of the last iteration."""
        if not self.n_rows or now <= self.started:
            return self.quality
        speed = self.n_rows / (now - self.started)
        pairs = f"{self.pairs * speed:,.0f} pairs/s" if self.pairs else ""
        return ", ".join(filter(None, [f"{speed:,.0f} rows/s", pairs, self.quality]))

    def text(self, now: float) -> str:
        """Current state: work done and time left."""
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
        """Summary of the finished stage: work and time."""
        if self.max_iter:
            work = f"{self.n_iter} iteration{'' if self.n_iter == 1 else 's'}"
        elif self.total_rows and self.n_rows > self.total_rows:
            # Some passes, such as those of a search that leaves candidates out, are over a part of the rows.
            about = "about " if self.n_rows % self.total_rows else ""
            passes = round(self.n_rows / self.total_rows)
            work = f"{about}{passes:,} pass{'' if passes == 1 else 'es'} over {self.total_rows:,} rows"
        else:
            work = f"{self.n_rows:,} rows" if self.n_rows else "done"
        return ", ".join(filter(None, [f"{work} in {duration(now - self.started)}", self.told(now)]))
