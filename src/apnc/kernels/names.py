"""Kernels on vectors by name, and what each of them takes."""

#: Kernels by name, and the parameters that each takes.
TAKES: dict[str, tuple[str, ...]] = {
    "linear": (),
    "rbf": ("gamma",),
    "polynomial": ("gamma", "coef0", "degree"),
    "sigmoid": ("gamma", "coef0"),
    "laplacian": ("gamma",),
    "cosine": (),
    "chi2": ("gamma",),
}
KERNELS = tuple(TAKES)
#: Kernels with a length scale: ``gamma=None`` tunes it from the data.
SCALED = ("rbf", "laplacian", "chi2")
#: Kernels of sums of squares, which must be within the range of the compute type.
SQUARED = tuple(name for name in KERNELS if name not in ("laplacian", "chi2"))
#: Kernels of the inner product with ``gamma`` as a slope: ``gamma=None`` is 1 / n_features.
SLOPED = ("polynomial", "sigmoid")
