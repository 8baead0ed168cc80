"""
Users by their friends
======================

A network knows nothing of its users but who is friends with whom. Users of one circle have friends in common: the rows
of the adjacency matrix are alike. What works depends on the size of the network.
"""

# %%
# A network of ten circles; everybody has some twenty friends, most of them within their circle.
import os
import time

import numpy as np
from matplotlib import pyplot as plt
from scipy import sparse
from sklearn.metrics import normalized_mutual_info_score
from sklearn.preprocessing import normalize
from sklearn.utils.extmath import randomized_svd

import apnc

n = int(os.environ.get("ROWS", 20_000))


def network(n, seed=0):
    rng = np.random.default_rng(seed)
    circles = rng.integers(0, 10, n)
    members = [np.flatnonzero(circles == circle) for circle in range(10)]
    one, two, near = rng.integers(0, n, 10 * n), rng.integers(0, n, 10 * n), rng.random(10 * n) < 0.8
    for circle, some in enumerate(members):
        here = near & (circles[one] == circle)
        two[here] = rng.choice(some, here.sum())
    friends = sparse.coo_array((np.ones(10 * n, np.float32), (one, two)), shape=(n, n)).tocsr()
    return sparse.csr_array((friends + friends.T) > 0, dtype=np.float32), circles


friends, circles = network(n)
print(f"{n:,} users, {friends.nnz // 2:,} friendships")

# %%
# Up to some 20,000 users, compare rows of the adjacency directly: the cosine of two users' lists of friends. Two users
# of one circle share few friends in a large network, so this needs many landmarks, and fails as networks grow.
begin = time.perf_counter()
km = apnc.KernelKMeans(10, kernel="cosine", n_landmarks=min(2000, n // 4), random_state=0).fit(friends)
score = normalized_mutual_info_score(circles, km.labels_)
print(
    f"rows of the adjacency: NMI {score:.2f} in {time.perf_counter() - begin:.0f} s, residual {km.residual_:.2f}"
)

# %%
# Beyond that, first find the few directions that explain the friendships, then cluster. A residual near 1 above is the
# hint that landmarks alone cannot see the circles.
begin = time.perf_counter()
left, values, _ = randomized_svd(friends, 10, random_state=0)
directions = normalize(left * values)
km = apnc.KernelKMeans(10, kernel="linear", random_state=0).fit(directions)
score = normalized_mutual_info_score(circles, km.labels_)
print(f"truncated SVD, then apnc: NMI {score:.2f} in {time.perf_counter() - begin:.0f} s")

# %%
# Friendships as a picture: users as they come, and in the order of their clusters. Most friendships are within a
# cluster.
one, two = friends.nonzero()
figure, axes = plt.subplots(1, 2, figsize=(10, 4.8), layout="constrained")
for axis, order, title in (
    (axes[0], np.arange(n), "Users as they come: nothing to see"),
    (axes[1], np.argsort(km.labels_, kind="stable"), "Users by cluster: ten circles of friends"),
):
    place = np.empty(n, int)
    place[order] = np.arange(n)
    density, _, _ = np.histogram2d(place[one], place[two], bins=150, range=[[0, n], [0, n]])
    axis.imshow(density, cmap="Blues", vmin=0, extent=(0, n, n, 0), interpolation="none")
    axis.set(title=title, xlabel="user", ylabel="user")
    axis.locator_params(nbins=5)
    axis.spines[:].set_color("#d5dade")
plt.show()

# %%
# ``ROWS=200000 python examples/users.py`` shows both at 200,000 users.
