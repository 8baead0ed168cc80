"""Two rings, 200,000 rows: kernel k-means separates them, k-means cuts through the outer one.

Run it with ``make demo``. Everything it writes goes to the folder ``demo/``.
"""

from pathlib import Path
from time import perf_counter

import numpy as np
from matplotlib.figure import Figure
from sklearn.cluster import KMeans
from sklearn.datasets import make_circles
from sklearn.metrics import normalized_mutual_info_score

from apnc import KernelKMeans

FOLDER = Path("demo")
COLOURS = np.array(["#12719e", "#e8833a"])


def main():
    FOLDER.mkdir(exist_ok=True)
    rings, truth = make_circles(n_samples=200_000, factor=0.15, noise=0.05, random_state=0)
    np.save(FOLDER / "rings.npy", rings)
    X = np.load(FOLDER / "rings.npy")

    methods = {
        "apnc KernelKMeans": KernelKMeans(n_clusters=2, gamma=2.0, random_state=0),
        "scikit-learn KMeans": KMeans(2, n_init=10, random_state=0),
    }
    _, first_fit = timed_labels(methods["apnc KernelKMeans"], X)

    results = []
    for name, method in methods.items():
        labels, seconds = timed_labels(method, X)
        nmi = 100 * normalized_mutual_info_score(truth, labels, average_method="geometric")
        results.append((name, labels, nmi, seconds))

    print(f"{'method':<20}{'NMI %':>8}{'seconds':>10}")
    for name, _, nmi, seconds in results:
        print(f"{name:<20}{nmi:>8.1f}{seconds:>10.2f}")
    print(f"(apnc's first fit took {first_fit:.2f} s: it loads the compiled loops, or compiles them once.)")
    print(f"Picture: {draw(X, results)}")


def timed_labels(method, X):
    start = perf_counter()
    return method.fit_predict(X), perf_counter() - start


def draw(X, results):
    """The same 3,000 random rows under each result."""
    shown = np.random.default_rng(0).choice(len(X), 3_000, replace=False)
    figure = Figure(figsize=(8.4, 4.8), layout="tight")
    for axes, (name, labels, nmi, seconds) in zip(figure.subplots(1, 2), results, strict=True):
        axes.scatter(*X[shown].T, c=COLOURS[labels[shown]], s=6, alpha=0.7, linewidths=0)
        axes.set_title(f"{name}: NMI {nmi:.0f} %, {seconds:.1f} s", fontsize=12, color="#333333")
        axes.set(xticks=[], yticks=[], aspect="equal")
        axes.spines[:].set_visible(False)
    figure.suptitle(f"Two rings, {len(X):,} rows", fontsize=15, weight="bold", color="#333333")
    path = FOLDER / "rings.png"
    figure.savefig(path, dpi=110)
    return path


if __name__ == "__main__":
    main()
