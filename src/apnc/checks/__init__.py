"""Validation of user input; messages say what was found and what to do."""

from apnc.checks.asking import (
    check_gamma,
    check_kernel_choice,
    check_start_labels,
    random_seed,
    settings_of,
)
from apnc.checks.data import check_weights, matching, read, read_rows
from apnc.checks.fit import warn_if_other_version
from apnc.checks.precomputed import refuse_other_matrix
from apnc.checks.table import INITS, TABLE, bring_rows, rows_of
from apnc.parameters.rules import known_name, non_negative, positive_integer, size_or_auto

__all__ = [
    "INITS",
    "TABLE",
    "bring_rows",
    "check_gamma",
    "check_kernel_choice",
    "check_start_labels",
    "check_weights",
    "known_name",
    "matching",
    "non_negative",
    "positive_integer",
    "random_seed",
    "read",
    "read_rows",
    "refuse_other_matrix",
    "rows_of",
    "settings_of",
    "size_or_auto",
    "warn_if_other_version",
]
