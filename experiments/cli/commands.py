"""All commands of `fgtsva`, and what every one of them does with an error.

Exit codes: 0 done; 1 a cell failed or its sampler diverged, or the disk is full; 2 an error in the command; 130
interrupted. JAX is imported only by commands that compute something.
"""

import sys
from pathlib import Path
from typing import Annotated

import typer

from experiments.cli import completion, signals, targets_command
from experiments.cli.consoles import console, errors
from experiments.cli.evaluate_command import evaluate
from experiments.cli.run_command import run
from experiments.cli.stored_commands import atlas, compare, open_, report, show
from experiments.storage.errors import StoreError
from samplers.errors import InputError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Approximate Thompson sampling: exchangeable samplers, compared with exact draws.\n\n"
    "Example: fgtsva run sampler=exact,sgld,mala environment=sparse\n\n"
    "Exit codes: 0 done, 1 a cell failed or its sampler diverged, or the disk is full, 2 an error in the command, "
    "130 interrupted.",
)


def bench(
    parts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="PART",
            help="Which benchmarks; all if none is named.",
            autocompletion=completion.complete_benchmark,
        ),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller sizes: minutes become seconds.")] = False,
    output: Annotated[Path, typer.Option(metavar="DIR", help="Where bench.json goes.")] = Path("bench"),
) -> None:
    """Measure speed, as ratios inside one run; writes bench.json.

    Parts: paper, sizes, linear, exact_draws, nuts, general, moving, ask_tell, diagnostics, compilation, memory.

    Example: fgtsva bench paper exact_draws --quick
    """
    completion.check_benchmarks(parts or [])  # before JAX is imported
    from experiments.bench import PARTS, chosen, prepare, table, write

    measures, names = [], chosen(parts or [])
    prepare(output)
    for name in names:
        errors.print(f"{name} ...", style="dim")
        measures += PARTS[name](quick)
        write(output / "bench.json", measures, quick)
    console.print(table(measures))
    console.print(f"Measures: {output / 'bench.json'}", soft_wrap=True, markup=False)


def list_(
    group: Annotated[
        str | None,
        typer.Argument(
            help="samplers, environments, posteriors, ...", autocompletion=completion.complete_group
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(help="One of them, with its settings.", autocompletion=completion.complete_member),
    ] = None,
) -> None:
    """Show the members of a group (samplers, environments, drifts, feedbacks, studies, ...), or one with its settings.

    Example: fgtsva list samplers mala
    """
    from experiments.cli import listing

    listing.show(console, group, name)


for command in (run, show, compare, report, atlas, evaluate, bench):
    app.command()(command)
app.command("open")(open_)
app.add_typer(targets_command.app, name="targets")
app.command("list")(list_)


def main() -> None:
    """Runs the command line; an error in the input is one line and exit code 2."""
    try:
        with signals.exit_on_sigint():
            app()
    except InputError as error:
        errors.print(f"fgtsva: {error}", soft_wrap=True, markup=False)
        sys.exit(2)
    except StoreError as error:
        errors.print(f"fgtsva: {error}", soft_wrap=True, markup=False)
        sys.exit(1)
