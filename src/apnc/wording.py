"""How messages quote what comes from data: nothing that a terminal would obey, and nothing endless."""

from collections.abc import Sequence

#: Characters of a message that are shown.
LONGEST = 400


def printable(text: str) -> str:
    """Text without control characters, which a terminal would obey: they are escaped, but for the ends of lines."""
    return "\n".join(map(one_line, text.split("\n")))


def one_line(text: str) -> str:
    """The same, ends of lines included."""
    return text if text.isprintable() else "".join(c if c.isprintable() else _escaped(c) for c in text)


def _escaped(character: str) -> str:
    return character.encode("unicode_escape").decode()


def told(text: str, most: int = LONGEST) -> str:
    """A message that is safe to show; one that is too long is cut in the middle, as its end says what to do."""
    safe, end, gap = printable(text), most * 3 // 10, " ... "
    return safe if len(safe) <= most else f"{safe[: most - end - len(gap)]}{gap}{safe[-end:]}"


def some(texts: Sequence[str], most: int = 10) -> str:
    """The first texts of a list, and how many more there are."""
    more = len(texts) - most
    return ", ".join(texts[:most]) + (f" and {more} more" if more > 0 else "")
