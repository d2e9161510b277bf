"""The command line: `fgtsva run`, `fgtsva report`, `fgtsva list`, `fgtsva bench`.

Exit codes: 0 done; 1 a cell failed or its sampler diverged, or the disk is full; 2 the command asks for what does not
exist or cannot be; 130 interrupted.
"""

import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from experiments.analysis.text import counted
from experiments.cli import completion, signals
from experiments.storage.errors import StoreError
from samplers.settings import InputError

if TYPE_CHECKING:
    from experiments.config.compose import Launcher
    from experiments.execute.runner import Launch

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Approximate Thompson sampling: samplers swapped in the config, measured against exact draws.\n\n"
    "Example: fgtsva run sampler=exact,sgld,mala environment=sparse\n\n"
    "Exit codes: 0 done, 1 a cell failed or its sampler diverged, or the disk is full, 2 the command asks for what "
    "does not exist or cannot be, 130 interrupted.",
)
console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)

NAMED = 10  # failed cells that are told on the terminal

Words = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY=VALUE",
        help="Settings; a comma makes a grid: sampler=sgld,mala",
        autocompletion=completion.words,
    ),
]


@app.command()
def run(
    overrides: Words = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only what failed.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the cells and an estimate of time; write nothing.")
    ] = False,
    assist: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Run a study and write its results, table and figures.

    Example: fgtsva run sampler=exact,sgld,mala environment=sparse rounds=1000 runs=100 posterior.c=0.003

    Exit code 0: done.
    Exit code 1: a cell failed or its sampler diverged, or the disk is full.
    Exit code 2: the command asks for what does not exist or cannot be.
    Exit code 130: interrupted.

    After 1 and 130 the same command goes on where it stopped.
    Why a cell failed is in summary.csv and in the report; the others are there.
    """
    from experiments.cli import estimate, terminal
    from experiments.config.compose import resolve
    from experiments.execute import local_workers, runner
    from fgtsva_ppl.jax_config import configure, cores

    # Of a full or shared cache; it costs compile time, nothing else.
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache entry")
    study = resolve(overrides or [])
    configure(precision=study.precision, devices=study.devices)
    there = runner.folder_of(study)
    ahead = estimate.estimate(study, runner.Job(study, there).finished)
    processes = local_workers.processes_for(study, ahead, cores())
    if processes > 1:
        study = replace(study, devices=study.devices or max(1, cores() // processes))
    if assist is not None:
        local_workers.leave_with(assist)
        runner.assist(study, there)
        raise typer.Exit
    if dry_run:
        console.print(study.title, style="bold", markup=False)
        runner.check(study)
        estimate.show(console, study, ahead, there)
        raise typer.Exit
    warn = partial(errors.print, style="yellow", markup=False)
    folder = runner.prepare(study, warn)
    shown = Console(quiet=True) if quiet else console
    shown.print(f"[bold]{escape(study.title)}[/]: {counted(len(study.cells), 'cell')}")
    probes = sum(len(study.diagnostics.probes(cell)) for cell in study.cells)
    kept = f"Interrupted. What is finished is kept in {folder.path}"
    with (
        signals.saying(kept, "The same command goes on from there."),
        _launched(study.launcher) as launch,
        local_workers.at_work(processes - 1, overrides or [], folder, study.devices or 1, warn),
        terminal.progress(errors if not quiet else shown, study.cells, probes) as tell,
    ):
        outcome = signals.apart(partial(runner.run, study, folder, tell, warn, launch))
    made = (
        terminal.standings(outcome.standings, shown.width)
        if outcome.standings
        else terminal.table(outcome.rows, shown.width, study.cells)
    )
    shown.print(made)
    shown.print(f"Results: {outcome.folder}", soft_wrap=True, markup=False)
    if outcome.has_verdicts:
        shown.print(f"Verdicts: {outcome.folder / 'verdicts.md'}", soft_wrap=True, markup=False)
    shown.print(f"Report: {outcome.folder / 'report.html'}", soft_wrap=True, markup=False)
    if outcome.failures:
        for line in outcome.failures[:NAMED]:
            errors.print(line, style="red", soft_wrap=True, markup=False)
        told = f"{len(outcome.failures)} of {counted(len(study.cells), 'cell')} failed: see summary.csv"
        errors.print(told, style="red", soft_wrap=True)
        raise typer.Exit(1)


@contextmanager
def _launched(launcher: "Launcher | None") -> "Iterator[Launch | None]":
    """How cells are computed elsewhere; None where they are computed here."""
    if launcher is None:
        yield None
        return
    from experiments.execute.dask_backend import cluster, distribute

    with cluster(launcher) as client:
        yield partial(distribute, client=client, launcher=launcher)


@app.command()
def report(folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run's output folder.")]) -> None:
    """Rebuild the tables, the figures and report.html from what a run stored.

    Example: fgtsva report results/default-1a2b3c4d
    """
    from experiments.analysis.analyse import analyse

    analyse(folder, partial(errors.print, style="yellow", markup=False))
    console.print(f"Report: {folder / 'report.html'}", soft_wrap=True, markup=False)


@app.command()
def bench(
    parts: Annotated[
        list[str] | None,
        typer.Argument(metavar="PART", help="Which; all if none is named.", autocompletion=completion.parts),
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Smaller sizes: minutes become seconds.")] = False,
    output: Annotated[Path, typer.Option(metavar="DIR", help="Where bench.json goes.")] = Path("bench"),
) -> None:
    """Measure how fast things are, as ratios inside one run; writes bench.json.

    Parts: paper, linear, oracle, nuts, general, asking, diagnosing, compiling, memory.

    Example: fgtsva bench paper oracle --quick
    """
    from experiments.bench import PARTS, chosen, prepare, table, write

    measures, names = [], chosen(parts or [])
    prepare(output)
    for name in names:
        errors.print(f"{name} ...", style="dim")
        measures += PARTS[name](quick)
        write(output / "bench.json", measures, quick)
    console.print(table(measures))
    console.print(f"Measures: {output / 'bench.json'}", soft_wrap=True, markup=False)


@app.command("list")
def list_(
    group: Annotated[
        str | None,
        typer.Argument(help="samplers, environments, posteriors, ...", autocompletion=completion.groups),
    ] = None,
) -> None:
    """Show what there is: samplers, environments, noises, rewards, posteriors, agents, studies.

    Example: fgtsva list samplers
    """
    from experiments.cli.listing import show

    show(console, group)


def main() -> None:
    """Runs the command line; a mistake in the input is one line and exit code 2."""
    try:
        with signals.at_once():
            app()
    except InputError as error:
        errors.print(f"fgtsva: {error}", soft_wrap=True, markup=False)
        sys.exit(2)
    except StoreError as error:
        errors.print(f"fgtsva: {error}", soft_wrap=True, markup=False)
        sys.exit(1)
