"""
Molecules as graphs
===================

Chemists draw molecules as graphs: atoms are nodes, bonds are edges. Two molecules are alike if many atoms have the same
surroundings. The Weisfeiler-Lehman kernel counts surroundings of growing radius; no descriptor has to be invented.
"""

# %%
# Three families with random side groups: fatty acids, which are chains that end in two oxygens; pyridines, rings of six
# with a nitrogen; naphthalenes, two rings that share a bond.
import os

import numpy as np
from matplotlib import pyplot as plt
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path
from sklearn.cluster import KMeans
from sklearn.manifold import smacof
from sklearn.metrics import normalized_mutual_info_score

import apnc
from apnc.kernels import ShortestPath, WeisfeilerLehman

n = int(os.environ.get("ROWS", 1500))
rng = np.random.default_rng(0)


def fatty_acid():
    size = int(rng.integers(7, 13))
    edges = [[i, i + 1] for i in range(size)]
    return ["C"] * size + ["O", "O"], [*edges, [size - 1, size + 1]]


def pyridine():
    return ["N"] + ["C"] * 5, [[i, (i + 1) % 6] for i in range(6)]


def naphthalene():
    ring = [[i, (i + 1) % 6] for i in range(6)]
    return ["C"] * 10, [*ring, [1, 6], [6, 7], [7, 8], [8, 9], [9, 0]]


def molecule(family):
    atoms, edges = family()
    size = len(atoms)
    for _ in range(rng.integers(1, 5)):
        edges = [*edges, [int(rng.integers(size)), len(atoms)]]
        atoms = [*atoms, str(rng.choice(["C", "C", "N", "O"]))]
    return {"n": len(atoms), "node_labels": atoms, "edges": edges}


families = rng.integers(0, 3, n)
molecules = [molecule([fatty_acid, pyridine, naphthalene][family]) for family in families]
print(molecules[0])

# %%
# Numbers of atoms and bonds alone do not tell the families apart, nor do the elements:
sizes = np.array([[one["n"], len(one["edges"])] for one in molecules])
elements = np.array([[one["node_labels"].count(atom) / one["n"] for atom in "CNO"] for one in molecules])
for name, table in {"sizes": sizes, "elements": elements}.items():
    labels = KMeans(3, n_init=10, random_state=0).fit_predict(table)
    print(f"{name}: NMI {normalized_mutual_info_score(families, labels):.2f}")

# %%
# Surroundings up to radius 2, and distances between atoms:
for kernel in (WeisfeilerLehman(2), ShortestPath()):
    km = apnc.KernelKMeans(3, kernel=kernel, n_landmarks=min(500, n), random_state=0).fit(molecules)
    print(
        f"{kernel}: NMI {normalized_mutual_info_score(families, km.labels_):.2f}, residual {km.residual_:.2f}"
    )

# %%
# Both kernels are normalised: they ignore how large a graph is. If size matters, ``normalize=False`` keeps it. Here is
# what each cluster contains:
print(km.describe(molecules, n=2))

# %%
# The molecules in the middle of each cluster. Distances on paper follow the number of bonds between atoms.
colours = {"C": "#12719e", "N": "#e8833a", "O": "#c05c5c"}


def draw(axis, molecule):
    one, two = np.array(molecule["edges"], dtype=np.int32).T
    graph = coo_array((np.ones(len(one)), (one, two)), shape=(molecule["n"], molecule["n"]))
    distances = shortest_path(graph, directed=False)
    places, _ = smacof(distances, n_init=8, random_state=0, normalized_stress=False)
    axis.plot(places[[one, two], 0], places[[one, two], 1], color="#8a949c", linewidth=1.5, zorder=1)
    axis.scatter(*places.T, c=[colours[atom] for atom in molecule["node_labels"]], s=45, zorder=2)


figure, axes = plt.subplots(3, 5, figsize=(10, 6), layout="constrained")
for cluster, (row, examples) in enumerate(zip(axes, km.prototypes(molecules, n=5), strict=True)):
    for axis, molecule in zip(row, examples.rows, strict=False):
        draw(axis, molecule)
    row[0].set_ylabel(f"cluster {cluster}", fontsize=12)
for axis in axes.flat:
    axis.set(xticks=[], yticks=[])
    axis.set_aspect("equal", adjustable="datalim")
    axis.spines[:].set_visible(False)
for atom, colour in colours.items():
    axes[0, 0].scatter([], [], color=colour, label={"C": "carbon", "N": "nitrogen", "O": "oxygen"}[atom])
figure.legend(loc="outside lower center", ncols=3, frameon=False)
figure.suptitle("Each cluster has a skeleton of its own", fontsize=14)
plt.show()
