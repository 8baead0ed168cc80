"""Options that are not estimator parameters: names, help texts, and completions."""

import re

from apnc import outputs
from apnc.cli.config import read_config
from apnc.cli.declaring import MANY, Declared, argument, option
from apnc.estimators import ESTIMATORS
from apnc.parameters import CLUSTERING, DATA, KERNEL, OUTPUT, REQUIRED, RUN
from apnc.sources import FORMATS

METHODS = "; ".join(f"{name} ({re.split('[.:]', kind.__doc__)[0]})" for name, kind in ESTIMATORS.items())
TABLE_OF_LABELS = "Table of ids and labels to write: .parquet, .arrow, .feather, .csv or .csv.gz."

ROWS: Declared = {
    "data": argument(
        "DATA",
        "File, folder, pattern ('2024-*.parquet') or address (s3://...) of the rows: Parquet, Arrow, CSV, TSV, .npy, "
        "sparse .npz, svmlight or JSON lines. - reads CSV, or what --format says, from standard input.",
    )
}
MODEL: Declared = {"model": argument("MODEL", "Model file written by apnc fit.")}
READING: Declared = {
    "id_columns": option(
        DATA,
        "--id-columns",
        "NAMES",
        "Columns to write in front of the results; they are not features. The model remembers them: predict and embed "
        'write them too, unless you name others, or none with --id-columns "".',
        kind=MANY,
    ),
    "drop_null": option(
        DATA,
        "--drop-null",
        None,
        "Skip rows with missing values; by default they are an error. Null and NaN count as missing; in CSV also empty "
        "values, NA, N/A, #N/A, n/a, NULL, null, NaN and nan.",
    ),
    "format": option(
        DATA,
        "--format",
        "NAME",
        f"Format of the data, if it cannot be inferred from the file name: {', '.join(FORMATS)}.",
        FORMATS,
    ),
    "separator": option(
        DATA,
        "--separator",
        "CHARACTER",
        "Separator of CSV values, such as ';'. By default a comma. The model remembers it.",
    ),
    "object_field": option(
        DATA,
        "--object-field",
        "NAME",
        "Field of each JSON line, or column of a table, that is the object; by default the whole line. The model "
        "remembers it.",
    ),
}
FITTING: Declared = {
    "columns": option(
        DATA,
        "--columns",
        "NAMES",
        "Features, in this order: a,b,c. By default all columns of numbers but an index; a warning names the others.",
        kind=MANY,
    ),
    "exclude": option(DATA, "--exclude", "NAMES", "Columns that are not features.", kind=MANY),
    **READING,
    "weight_column": option(
        DATA, "--weight-column", "NAME", "Column of weights: a row of weight 2 counts twice."
    ),
    "method": option(
        CLUSTERING,
        "--method",
        "NAME",
        f"What to fit: {METHODS}; or package.module:Class, which is imported, also from the current folder.",
        ESTIMATORS,
        "kernel",
    ),
}
WEIGHTS: Declared = {"weight_column": FITTING["weight_column"]}
SAVING: Declared = {
    "model": option(OUTPUT, "--model", "FILE", "Model file to write, for apnc predict, embed and inspect."),
    "labels": option(OUTPUT, "--labels", "FILE", TABLE_OF_LABELS),
}
KEEPING: Declared = {
    "checkpoint": option(
        RUN,
        "--checkpoint",
        "FOLDER",
        "Folder that keeps what is done: the same command, run again after an interruption, resumes from there, with "
        "the same result. Removed at the end.",
    )
}
LABELS: Declared = {"labels": option(OUTPUT, "--labels", "FILE", TABLE_OF_LABELS, default=REQUIRED)}
BESIDE: Declared = {
    "beside": option(
        OUTPUT,
        "--with",
        "NAMES",
        "Columns to write beside the label: distance (to the own centroid), membership (a share for each cluster; they "
        "sum to 1), outlier (0 to 1: the share of the cluster's rows that are nearer).",
        outputs.BESIDE,
        kind=MANY,
    )
}
DESCRIBING: Declared = {
    "show": option(
        OUTPUT,
        "--show",
        "N",
        "Features and rows to show for each cluster.",
        default=5,
        kind=int,
        min=1,
    ),
    "feature_names": option(
        DATA,
        "--feature-names",
        "FILE",
        "Names of the features, one on each line, such as the words of a sparse matrix.",
    ),
}
VECTORS: Declared = {
    "out": option(
        OUTPUT,
        "--out",
        "FILE",
        "File of vectors to write: .npy, or a table: .parquet, .arrow, .feather, .csv, .csv.gz.",
        default=REQUIRED,
    )
}
TRUSTING: Declared = {
    "kernel": option(
        KERNEL,
        "--kernel",
        "NAME",
        "The kernel of the model. A function, package.module:function, is imported, also from the current folder, and "
        "used if the model names the same or none (a functools.partial, for instance, has no name).",
    ),
    "trust": option(
        KERNEL,
        "--trust",
        "NAME",
        "A kernel function or estimator class of the model, package.module:name, that may be imported, also from the "
        "current folder. If the model names another, nothing is imported.",
        kind=MANY,
    ),
}
SHOWING: Declared = {"quiet": option(RUN, "--quiet", None, "Do not show progress.")}
STRICT: Declared = {"strict": option(RUN, "--strict", None, "Exit with code 3 if the fit does not converge.")}
DEBUG: Declared = {"debug": option(RUN, "--debug", None, "Show the traceback of an error.")}
ALWAYS: Declared = {
    "as_json": option(OUTPUT, "--json", None, "Print one line of JSON instead of the summary."),
    "config": option(
        RUN,
        "--config",
        "FILE",
        'TOML file with options, such as max-iter = 100 or columns = ["a", "b"]. The command line takes precedence. '
        "One file serves all commands: options of others are ignored.",
        is_eager=True,
        callback=read_config,
    ),
    **DEBUG,
}
