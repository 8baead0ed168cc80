"""Generated sequences and networks, with the groups that they come from."""

import numpy as np
from scipy import sparse

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


def network(n: int, groups: int = 10, degree: float = 20.0, within: float = 0.8, seed: int = 0) -> tuple:
    """Adjacency of a block model as CSR: ``degree`` friends on average, a share ``within`` of them in one's group."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(0, groups, n)
    members = [np.flatnonzero(labels == group) for group in range(groups)]
    n_edges = int(n * degree / 2)
    one = rng.integers(0, n, n_edges)
    inside = rng.random(n_edges) < within
    two = rng.integers(0, n, n_edges)
    for group, some in enumerate(members):
        here = inside & (labels[one] == group)
        two[here] = some[rng.integers(0, len(some), here.sum())]
    keep = one != two
    rows, columns = np.concatenate([one[keep], two[keep]]), np.concatenate([two[keep], one[keep]])
    A = sparse.csr_array((np.ones(len(rows), np.float32), (rows, columns)), shape=(n, n))
    A.sum_duplicates()
    A.data[:] = 1
    return A, labels
