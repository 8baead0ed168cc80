"""How messages quote what comes from data: nothing that a terminal would obey, and nothing endless."""

from collections.abc import Sequence

#: Characters of a message that are shown, and of these how many are its end, which says what to do.
LONGEST, END = 400, 150
CUT = " ... "


def printable(text: str) -> str:
    """Text without control characters, which a terminal would obey: they are escaped, but for the ends of lines."""
    return "".join(c if c.isprintable() or c == "\n" else c.encode("unicode_escape").decode() for c in text)


def told(text: str) -> str:
    """A message that is safe to show; what is too long is cut in the middle."""
    safe = printable(text)
    return safe if len(safe) <= LONGEST else f"{safe[: LONGEST - END - len(CUT)]}{CUT}{safe[-END:]}"


def some(texts: Sequence[str], most: int = 10) -> str:
    """The first texts of a list, and how many more there are."""
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more} more" if more > 0 else "")
