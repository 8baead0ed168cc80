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


def iteration_line(n_iter: int, shift: float, inertia: float) -> str:
    """What an iteration did."""
    return f"iteration {n_iter}: shift {shift:.3g}, inertia {inertia:.6g}"


@dataclass
class Stage:
    """How far a part of the work has come.

    Attributes
    ----------
    name : "sampling", "embedding", "clustering", "labels", ...
    started : time on the clock.
    total_rows : rows of one pass; None where they are not known yet.
    passes : over the rows; of stages without iterations.
    max_iter : iterations at most, each a pass over the rows; None where there are none.
    n_rows : rows handled in all passes.
    n_iter, shift, inertia : of the last iteration.
    before : rows handled before the iteration that is under way.

    """

    name: str
    started: float
    total_rows: int | None = None
    passes: int = 1
    max_iter: int | None = None
    n_rows: int = 0
    n_iter: int = 0
    shift: float = 0.0
    inertia: float = 0.0
    before: int = 0

    def share(self) -> float | None:
        """Part of the stage that is done; of iterations, of all there may be; None where that is not known."""
        pass_rows = self.total_rows or 0
        if self.max_iter:
            part = min(1.0, (self.n_rows - self.before) / pass_rows) if pass_rows else 0.0
            return min(1.0, (self.n_iter + part) / self.max_iter)
        return min(1.0, self.n_rows / (pass_rows * self.passes)) if pass_rows else None

    def text(self, now: float) -> str:
        """Where it stands: rows, speed, time left."""
        elapsed, share = now - self.started, self.share()
        told = [*self._place(), *self._speed(elapsed)]
        if share:
            bound = "at most " if self.max_iter else ""
            told.append(f"{bound}{duration(elapsed * (1 - share) / share)} left")
        return ", ".join([*told, *self._quality()])

    def finished(self, now: float) -> str:
        """What it took."""
        elapsed = now - self.started
        if self.max_iter:
            s = "" if self.n_iter == 1 else "s"
            told = [f"{self.n_iter} iteration{s} in {duration(elapsed)}", *self._speed(elapsed)]
        elif self.n_rows:
            over = f"{self.passes} passes over " if self.passes > 1 else ""
            told = [
                f"{over}{self.total_rows or self.n_rows:,} rows in {duration(elapsed)}",
                *self._speed(elapsed),
            ]
        else:
            told = [f"done in {duration(elapsed)}"]
        return ", ".join([*told, *self._quality()])

    def stopped(self, now: float) -> str:
        """How far it came before a failure or an interrupt."""
        return ", ".join([f"stopped after {duration(now - self.started)}", *self._place()])

    def _place(self) -> list[str]:
        """Which iteration or pass, and rows of it."""
        done, told = self.n_rows, []
        if self.max_iter:
            done -= self.before
            told.append(f"iteration {min(self.n_iter + 1, self.max_iter)} of at most {self.max_iter:,}")
        elif self.total_rows and self.passes > 1:
            number = min(self.passes, self.n_rows // self.total_rows + 1)
            done -= (number - 1) * self.total_rows
            told.append(f"pass {number} of {self.passes}")
        if self.total_rows is None:
            return [*told, f"{done:,} rows"]
        return [*told, f"{min(done, self.total_rows):,} of {self.total_rows:,} rows"]

    def _speed(self, elapsed: float) -> list[str]:
        told = [f"{self.n_rows / elapsed:,.0f} rows/s"] if self.n_rows and elapsed > 0 else []
        share = self.share() if self.max_iter else None
        if share and self.max_iter:
            told.append(f"{duration(elapsed / (share * self.max_iter))} an iteration")
        return told

    def _quality(self) -> list[str]:
        return [f"shift {self.shift:.3g}", f"inertia {self.inertia:.6g}"] if self.n_iter else []
