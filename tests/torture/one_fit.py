"""One fit with a memory limit, in a process that loads what a user would have loaded.

python -m tests.torture.one_fit JSON    prints the peak of memory, or why the fit was refused, as JSON
"""

import json
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

#: Rows written at once.
PIECE = 200_000


def pieces(n: int, d: int, dtype: str, seed: int) -> Iterator[np.ndarray]:
    """Rows in pieces, so that the writer needs little memory."""
    rng = np.random.default_rng(seed)
    for start in range(0, n, PIECE):
        X = rng.random(size=(min(PIECE, n - start), d), dtype=np.float32)
        X += (np.arange(start, start + len(X)) % 4)[:, None].astype(np.float32)
        yield X.astype(dtype)


def main() -> None:
    """The fit that the first argument describes."""
    import apnc

    fit = json.loads(sys.argv[1])
    kind = {
        "kernel": apnc.KernelKMeans,
        "spectral": apnc.SpectralClustering,
        "embedding": apnc.KernelEmbedding,
    }
    names = ("n_landmarks", "n_components", "n_clusters", "kernel", "embedding")
    options = {name: fit[name] for name in names if name in kind[fit["method"]]._get_param_names()}
    options |= {"max_iter": 3, "n_init": 1} if fit["method"] != "embedding" else {}
    estimator = kind[fit["method"]](**options, random_state=0, memory_limit=fit["limit"])
    data: Any = fit["path"]
    if fit["kind"] == "array":
        data = np.concatenate(list(pieces(fit["n"], fit["d"], fit["dtype"], fit["seed"])))
    to = {"to": f"{fit['path']}.labels.parquet"} if fit["to"] and fit["method"] != "embedding" else {}
    Path("/proc/self/clear_refs").write_text("5")
    warnings.simplefilter("ignore")
    try:
        estimator.fit(data, **to)
    except ValueError as error:
        print(json.dumps({"refused": str(error)}))
        return
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))  # noqa: SIM115
    print(json.dumps({"peak": int(line.split()[1]) * 1024}))


if __name__ == "__main__":
    main()
