"""
Molecules as graphs
===================

Chemists draw molecules as graphs: atoms are nodes, bonds are edges. Two molecules are alike if many atoms have the same
surroundings. The Weisfeiler-Lehman kernel counts surroundings of growing radius; no descriptor has to be invented.
"""

# %%
# Three kinds of skeletons with random side chains: chains, rings of six, and pairs of rings that share a bond.
import os

import numpy as np
from sklearn.metrics import normalized_mutual_info_score

import apnc
from apnc.kernels import ShortestPath, WeisfeilerLehman

n = int(os.environ.get("ROWS", 1500))
rng = np.random.default_rng(0)


def molecule(kind):
    ring = [[i, (i + 1) % 6] for i in range(6)]
    fused = [*ring, [1, 6], [6, 7], [7, 8], [8, 9], [9, 0]]
    edges = [[[i, i + 1] for i in range(rng.integers(6, 11))], ring, fused][kind]
    size = 1 + max(max(edge) for edge in edges)
    for _ in range(rng.integers(1, 6)):
        edges = [*edges, [int(rng.integers(size)), size]]
        size += 1
    return {"n": size, "node_labels": rng.choice(["C", "C", "C", "N", "O"], size).tolist(), "edges": edges}


kinds = rng.integers(0, 3, n)
molecules = [molecule(kind) for kind in kinds]
print(molecules[0])

# %%
# Neighbourhoods up to radius 2, and distances between atoms:
for kernel in (WeisfeilerLehman(2), ShortestPath()):
    km = apnc.KernelKMeans(3, kernel=kernel, n_landmarks=min(500, n), random_state=0).fit(molecules)
    print(f"{kernel}: NMI {normalized_mutual_info_score(kinds, km.labels_):.2f}, residual {km.residual_:.2f}")

# %%
# Look at the sizes first: normalised kernels ignore how large a graph is, and on some data the numbers of nodes and
# edges alone say more. ``normalize=False`` keeps the size. Here is what each cluster contains:
print(km.describe(molecules))
