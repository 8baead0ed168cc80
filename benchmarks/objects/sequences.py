"""Generated sequences and networks, with the groups that they come from."""

import numpy as np

PAGES, BEHAVIOURS = 20, 5
#: Share of steps that follow the behaviour; the others go anywhere.
FAITHFUL = 0.5


def clickstreams(n: int, seed: int = 0) -> tuple[list[list[str]], np.ndarray]:
    """Sessions of 5 behaviours: each leads from every page to another one, so that all pages are visited equally."""
    rng = np.random.default_rng(seed)
    following = np.array([rng.permutation(PAGES) for _ in range(BEHAVIOURS)])
    labels = rng.integers(0, BEHAVIOURS, n)
    sessions = []
    for behaviour, length in zip(labels, rng.integers(15, 40, n), strict=True):
        page, pages = int(rng.integers(PAGES)), []
        for faithful, other in zip(
            rng.random(length) < FAITHFUL, rng.integers(0, PAGES, length), strict=True
        ):
            pages.append(f"page-{page}")
            page = int(following[behaviour, page]) if faithful else int(other)
        sessions.append(pages)
    return sessions, labels
