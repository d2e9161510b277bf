"""The commands `fgtsva run`, `fgtsva report`, `fgtsva list` and `fgtsva bench`.

Exit codes: 0 done; 1 a cell failed or its sampler diverged, or the disk is full; 2 an error in the command; 130
interrupted. JAX is imported only by commands that compute something.
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

from experiments.cli import completion, signals
from experiments.config.text import counted
from experiments.storage.errors import StoreError
from experiments.storage.layout import check_finished
from samplers.errors import InputError

if TYPE_CHECKING:
    from experiments.config.study import DaskBackend, Study
    from experiments.execute.runner import Backend
    from experiments.report.analyse import Analysis

app = typer.Typer(
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    help="Approximate Thompson sampling: exchangeable samplers, compared with exact draws.\n\n"
    "Example: fgtsva run sampler=exact,sgld,mala environment=sparse\n\n"
    "Exit codes: 0 done, 1 a cell failed or its sampler diverged, or the disk is full, 2 an error in the command, "
    "130 interrupted.",
)
console = Console(highlight=False)
errors = Console(stderr=True, highlight=False)

MAX_FAILURES = 10  # failed cells that are printed on the terminal

Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY=VALUE",
        help="Settings; a comma makes a grid: sampler=sgld,mala",
        autocompletion=completion.complete_run,
    ),
]


@app.command()
def run(
    overrides: Overrides = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print failures only.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the cells and an estimate of time; write nothing.")
    ] = False,
    worker_of: Annotated[int | None, typer.Option(hidden=True)] = None,
) -> None:
    """Run a study and write its results, tables, figures and report.

    Example: fgtsva run sampler=exact,sgld,mala environment=sparse rounds=1000 runs=100 posterior.c=0.003

    Exit code 0: done.
    Exit code 1: a cell failed or its sampler diverged, or the disk is full.
    Exit code 2: an error in the command.
    Exit code 130: interrupted.

    After 1 and 130 the same command continues where it stopped.
    Reasons for failed cells are in summary.csv and in the report; all other cells are complete.
    """
    from experiments.config.request import parse_request

    parse_request(overrides or [])  # a misspelt name or a wrong value is reported before JAX is imported
    from experiments.cli import estimate, terminal
    from experiments.config.compose import compose
    from experiments.execute import local_workers, runner
    from experiments.execute.estimate import estimate as estimate_study
    from experiments.execute.job import Job
    from experiments.report.analyse import analyse
    from fgtsva_ppl.jax_config import configure, cores

    # A full or shared cache costs compile time only.
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache entry")
    study = compose(overrides or [])
    configure(precision=study.precision, devices=study.devices)
    output = runner.folder_of(study)
    expected = estimate_study(study, Job(study, output).is_finished)
    processes = local_workers.num_processes(study, expected, cores())
    if processes > 1:
        study = replace(study, devices=study.devices or max(1, cores() // processes))
    if worker_of is not None:
        local_workers.exit_with(worker_of)
        runner.run_worker(study, output)
        raise typer.Exit
    if dry_run:
        console.print(study.title, style="bold", markup=False)
        runner.check(study)
        estimate.show(console, study, expected, output)
        raise typer.Exit
    warn = partial(errors.print, style="yellow", markup=False)
    folder = runner.prepare(study, warn)
    shown = Console(quiet=True) if quiet else console
    shown.print(f"[bold]{escape(study.title)}[/]: {counted(len(study.cells), 'cell')}")
    num_probes = sum(len(study.diagnostics.probes(cell)) for cell in study.cells)
    kept = f"Interrupted. Finished results are kept in {folder.path}"
    with signals.exit_message(kept, "The same command continues from there."):
        with (
            _connected(study.backend) as backend,
            local_workers.workers(processes - 1, overrides or [], folder, study.devices or 1, warn),
            terminal.progress(
                errors if not quiet else shown, study.cells, num_probes, expected
            ) as report_progress,
        ):
            signals.run_in_thread(partial(runner.execute, study, folder, report_progress, warn, backend))
        with folder.locks() as locks, locks.held("results"):
            analysis = signals.run_in_thread(partial(analyse, folder.path, warn))
    _print_analysis(study, analysis, shown)
    if analysis.failures:
        for line in analysis.failures[:MAX_FAILURES]:
            errors.print(line, style="red", soft_wrap=True, markup=False)
        total = f"{len(analysis.failures)} of {counted(len(study.cells), 'cell')} failed: see summary.csv"
        errors.print(total, style="red", soft_wrap=True)
        raise typer.Exit(1)


@contextmanager
def _connected(backend: "DaskBackend | None") -> "Iterator[Backend | None]":
    """The function that computes cells elsewhere; None if they are computed here."""
    if backend is None:
        yield None
        return
    from experiments.execute.dask_backend import connect, distribute

    with connect(backend) as client:
        yield partial(distribute, client=client, backend=backend)


def _print_analysis(study: "Study", analysis: "Analysis", shown: Console) -> None:
    """Prints the table of results, and where the files are."""
    from experiments.cli import terminal

    shown.print(
        terminal.standings_table(analysis.standings, shown.width)
        if analysis.standings
        else terminal.summary_table(analysis.rows, shown.width, study.cells)
    )
    shown.print(f"Results: {analysis.folder}", soft_wrap=True, markup=False)
    if analysis.has_verdicts:
        shown.print(f"Verdicts: {analysis.folder / 'verdicts.md'}", soft_wrap=True, markup=False)
    shown.print(f"Report: {analysis.folder / 'report.html'}", soft_wrap=True, markup=False)


@app.command()
def report(folder: Annotated[Path, typer.Argument(metavar="DIR", help="A run's output folder.")]) -> None:
    """Rebuild the tables, the figures and report.html from a run's stored results.

    Example: fgtsva report results/default-1a2b3c4d
    """
    check_finished(folder)  # before JAX is imported
    from experiments.report.analyse import analyse

    analyse(folder, partial(errors.print, style="yellow", markup=False))
    console.print(f"Report: {folder / 'report.html'}", soft_wrap=True, markup=False)


@app.command()
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

    Parts: paper, sizes, linear, exact_draws, nuts, general, ask_tell, diagnostics, compilation, memory.

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


@app.command("list")
def list_(
    group: Annotated[
        str | None,
        typer.Argument(
            help="samplers, environments, posteriors, ...", autocompletion=completion.complete_group
        ),
    ] = None,
) -> None:
    """Show all samplers, environments, noises, rewards, posteriors, agents or studies, with their settings.

    Example: fgtsva list samplers
    """
    from experiments.cli.listing import show

    show(console, group)


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
