"""Options of the commands: names, help texts, and the words that complete them."""

from typing import Annotated

import typer

from apnc.cli.config import read_config
from apnc.cli.declaring import REQUIRED, Declared, option
from apnc.embeddings import EMBEDDINGS
from apnc.kernels import KERNELS
from apnc.sources import TAKES
from apnc.validation import INITS

DATA, KERNEL, CLUSTERING, OUTPUT, RUN = "Data", "Kernel", "Clustering", "Output", "Run"
ENGINES = ("local", "spark")
SCALES = ("minmax", "standard", "unit", "none")


Data = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="File, folder or address (s3://...) of the rows: Parquet, Arrow, CSV, TSV, .npy, sparse .npz, svmlight or "
        "JSON lines. - reads CSV, or what --format says, from standard input.",
    ),
]
Model = Annotated[str, typer.Argument(metavar="MODEL", help="Model file that apnc fit has written.")]

Columns = Annotated[
    list[str] | None,
    option(DATA, "--columns", "NAMES", "Features, in this order: a,b,c. Without it: all columns of numbers."),
]
Exclude = Annotated[list[str] | None, option(DATA, "--exclude", "NAMES", "Columns that are not features.")]
IdColumn = Annotated[
    list[str] | None,
    option(
        DATA,
        "--id-column",
        "NAMES",
        "Columns to write in front of the results; they are not features. The model keeps them: predict and embed "
        'write them too, unless others are named, or none by --id-column "".',
    ),
]
WeightColumn = Annotated[
    str | None, option(DATA, "--weight-column", "NAME", "Column of weights: a row of weight 2 counts twice.")
]
DropNull = Annotated[
    bool,
    option(
        DATA,
        "--drop-null",
        None,
        "Skip rows with missing values; by default they are an error. Missing are null and NaN; in CSV empty values, "
        "NA, N/A, #N/A, n/a, NULL, null, NaN and nan.",
    ),
]
Format = Annotated[
    str | None,
    option(
        DATA,
        "--format",
        "NAME",
        f"Format of the data, where its name does not tell: {', '.join(TAKES)}.",
        TAKES,
    ),
]
Separator = Annotated[
    str | None,
    option(
        DATA,
        "--separator",
        "CHARACTER",
        "What is between the values of CSV, such as ';'. Without it: a comma. It is kept in the model.",
    ),
]
ObjectField = Annotated[
    str | None,
    option(
        DATA,
        "--object-field",
        "NAME",
        "Field of each JSON line that is the object; by default all of it. It is kept in the model.",
    ),
]
Scale = Annotated[
    str,
    option(
        DATA,
        "--scale",
        "NAME",
        "What is done to the features first: minmax (to [0, 1]), standard (mean 0, variance 1), unit (rows of length "
        "1) or none. It is kept in the model.",
        SCALES,
    ),
]

Kernel = Annotated[
    str,
    option(
        KERNEL,
        "--kernel",
        "NAME",
        f"One of {', '.join(KERNELS)}; or package.module:function, which is imported (from the current folder, too).",
        KERNELS,
    ),
]
Gamma = Annotated[
    str | None,
    option(
        KERNEL,
        "--gamma",
        "NUMBER",
        "Width of the kernel: a number, or local (from the distance to near rows). Without it: tuned from the data.",
        ["local"],
    ),
]
Coef0 = Annotated[
    float, option(KERNEL, "--coef0", "NUMBER", "Constant of the polynomial and sigmoid kernels.")
]
Degree = Annotated[float, option(KERNEL, "--degree", "NUMBER", "Exponent of the polynomial kernel.")]
NormalizeKernel = Annotated[
    bool, option(KERNEL, "--normalize-kernel", None, "Divide k(x, y) by the root of k(x, x) k(y, y).")
]
Embedding = Annotated[
    str,
    option(KERNEL, "--embedding", "NAME", f"How rows become vectors: {', '.join(EMBEDDINGS)}.", EMBEDDINGS),
]
Landmarks = Annotated[
    str,
    option(
        KERNEL,
        "--landmarks",
        "NUMBER",
        "Rows that all others are compared with; more are better and slower.",
        ["auto"],
    ),
]
Components = Annotated[
    str,
    option(KERNEL, "--components", "NUMBER", "Length of the vectors that rows become, at most.", ["auto"]),
]

Clusters = Annotated[int, option(CLUSTERING, "--clusters", "NUMBER", "How many clusters to find.")]
Init = Annotated[str, option(CLUSTERING, "--init", "NAME", f"How clusters begin: {', '.join(INITS)}.", INITS)]
NInit = Annotated[
    str,
    option(
        CLUSTERING, "--n-init", "NUMBER", "Starts that are tried on a sample; the best is taken.", ["auto"]
    ),
]
MaxIter = Annotated[int, option(CLUSTERING, "--max-iter", "NUMBER", "Iterations at most.")]
Tol = Annotated[
    float, option(CLUSTERING, "--tol", "NUMBER", "How little the centroids move when it has converged.")
]

SaveModel = Annotated[
    str | None,
    option(OUTPUT, "--model", "FILE", "Model file to write, for apnc predict, embed and inspect."),
]
SaveLabels = Annotated[
    str | None,
    option(
        OUTPUT,
        "--labels",
        "FILE",
        "Table of ids and labels to write: .parquet, .arrow, .feather, .csv or .csv.gz.",
    ),
]
Labels = Annotated[
    str,
    option(
        OUTPUT,
        "--labels",
        "FILE",
        "Table of ids and labels to write: .parquet, .arrow, .feather, .csv or .csv.gz.",
    ),
]
Out = Annotated[
    str,
    option(
        OUTPUT,
        "--out",
        "FILE",
        "File of vectors to write: .npy, or a table: .parquet, .arrow, .feather, .csv, .csv.gz.",
    ),
]
Json = Annotated[bool, option(OUTPUT, "--json", None, "Print one line of JSON instead of the summary.")]

MemoryLimit = Annotated[
    str | None,
    option(
        RUN,
        "--memory-limit",
        "SIZE",
        "Memory that the process may take: 4GB, 512MiB (1 MB is 10^6 bytes, 1 MiB is 2^20). About 330 MB are in use "
        "before any data is read, so 500MB is about the least. Without it: what is free.",
    ),
]
Seed = Annotated[
    int,
    option(CLUSTERING, "--seed", "NUMBER", "Begins the random numbers; the same seed gives the same result."),
]
Threads = Annotated[int | None, option(RUN, "--threads", "NUMBER", "Cores to use. Without it: all.")]
Engine = Annotated[
    str,
    option(
        RUN,
        "--engine",
        "NAME",
        "Where the work is done: local (this machine) or spark, which reads DATA itself and writes folders.",
        ENGINES,
    ),
]
Master = Annotated[
    str | None,
    option(
        RUN,
        "--master",
        "URL",
        "With --engine spark: spark://host:7077, yarn, k8s://..., sc://... (Connect) or local[4]. Without it: what "
        "spark-submit says, else all cores of this machine.",
    ),
]
Quiet = Annotated[bool, option(RUN, "--quiet", None, "Show no progress.")]
Strict = Annotated[bool, option(RUN, "--strict", None, "End with exit code 3 if it has not converged.")]
Debug = Annotated[bool, option(RUN, "--debug", None, "Show where in the program an error comes from.")]
Config = Annotated[
    str | None,
    option(
        RUN,
        "--config",
        "FILE",
        'TOML file with options, such as max-iter = 100 or columns = ["a", "b"]. What is on the command line wins. One '
        "file serves all commands: options of others are left aside.",
        is_eager=True,
        callback=read_config,
    ),
]
KernelAgain = Annotated[
    str | None,
    option(
        KERNEL,
        "--kernel",
        "NAME",
        "What you say the kernel of the model is. A function, package.module:function, is imported, from the current "
        "folder too, and used if the model names the same or none (a functools.partial, for instance, has no name).",
    ),
]
Trust = Annotated[
    str | None,
    option(
        KERNEL,
        "--trust",
        "NAME",
        "The kernel function that the model names, package.module:function, which may be imported, from the current "
        "folder too. If the model names another, nothing is imported.",
    ),
]


#: Options that several commands share, by parameter: what they are, and their default.
READING: Declared = {
    "id_column": (IdColumn, None),
    "drop_null": (DropNull, False),
    "format": (Format, None),
    "separator": (Separator, None),
    "object_field": (ObjectField, None),
}
FITTING: Declared = {
    "columns": (Columns, None),
    "exclude": (Exclude, None),
    **READING,
    "weight_column": (WeightColumn, None),
    "scale": (Scale, "none"),
    "kernel": (Kernel, "rbf"),
    "gamma": (Gamma, None),
    "coef0": (Coef0, 1.0),
    "degree": (Degree, 3.0),
    "normalize_kernel": (NormalizeKernel, False),
    "embedding": (Embedding, "nystroem"),
    "landmarks": (Landmarks, "auto"),
    "components": (Components, "auto"),
    "clusters": (Clusters, REQUIRED),
    "init": (Init, "k-means++"),
    "n_init": (NInit, "auto"),
    "max_iter": (MaxIter, 300),
    "tol": (Tol, 1e-4),
    "seed": (Seed, 0),
}
TRUSTING: Declared = {"kernel": (KernelAgain, None), "trust": (Trust, None)}
LIMITS: Declared = {"memory_limit": (MemoryLimit, None), "threads": (Threads, None)}
PLACE: Declared = {"engine": (Engine, "local"), "master": (Master, None)}
SHOWING: Declared = {"quiet": (Quiet, False)}
ALWAYS: Declared = {"as_json": (Json, False), "config": (Config, None), "debug": (Debug, False)}
