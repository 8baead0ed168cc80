"""All commands under one name."""

from collections.abc import Callable
from typing import Annotated

# Imported first and from here: importing scipy takes longer at the end of a deep chain of imports.
import sklearn.base  # noqa: F401
import typer

from apnc.cli.bench import bench
from apnc.cli.certify import certify
from apnc.cli.choose import choose
from apnc.cli.describe import describe
from apnc.cli.doctor import doctor
from apnc.cli.embed import embed
from apnc.cli.estimator_options import ChoosingCommand, MethodCommand
from apnc.cli.evaluate import evaluate
from apnc.cli.failures import BAD_INPUT, Commands
from apnc.cli.fit import fit
from apnc.cli.inspect import inspect
from apnc.cli.plan import plan
from apnc.cli.predict import predict
from apnc.cli.report import report
from apnc.version import __version__

app = typer.Typer(
    name="apnc",
    cls=Commands,
    invoke_without_command=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
)


def help_of(command: Callable[..., None]) -> str:
    """The docstring with one line per paragraph, which the help wraps itself."""
    return "\n\n".join(" ".join(lines.split()) for lines in (command.__doc__ or "").split("\n\n"))


#: Commands with the parameters of estimators as options.
KINDS = {fit: MethodCommand, plan: MethodCommand, choose: ChoosingCommand}
# One line per command; add new ones here.
for command in (
    fit,
    choose,
    predict,
    describe,
    certify,
    report,
    embed,
    evaluate,
    inspect,
    plan,
    bench,
    doctor,
):
    app.command(help=help_of(command), cls=KINDS.get(command))(command)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"apnc {__version__}")
        raise typer.Exit


Version = Annotated[
    bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
]


def begin(context: typer.Context, version: Version = False) -> None:
    """Kernel k-means for data that outgrows its kernel matrix.

    Results go to files, a summary to standard output, progress to standard error. Exit codes: 0 success, 1 a bug in
    apnc, 2 bad usage or bad input, 3 not converged (with --strict), 128 + n ended by signal n (130 by Ctrl-C).
    """
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
        raise typer.Exit(BAD_INPUT)


app.callback(help=help_of(begin))(begin)
