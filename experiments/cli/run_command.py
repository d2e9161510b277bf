"""`fgtsva run`: computes a study, then analyses it."""

import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.markup import escape

from experiments.cli import completion, signals, stages
from experiments.cli.consoles import console, errors
from experiments.config.text import counted

if TYPE_CHECKING:
    from experiments.config.study import DaskBackend, Study
    from experiments.execute.runner import Backend
    from experiments.report.analyse import Analysis

MAX_FAILURES = 10  # failed cells that are printed on the terminal

Overrides = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="KEY=VALUE",
        help="Settings; a comma makes a grid: sampler=sgld,mala",
        autocompletion=completion.complete_run,
    ),
]


def run(
    overrides: Overrides = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print failures only.")] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show the cells and an estimate of time; write nothing.")
    ] = False,
    quick: Annotated[
        bool, typer.Option("--quick", help="The study's small size: seconds, for a look; no evidence.")
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
    from experiments.config.overrides import repeated
    from experiments.config.request import parse_request

    overrides = [*(overrides or []), *(["quick=true"] if quick else [])]
    for line in repeated(overrides) if not quiet else ():
        console.print(line, style="yellow", soft_wrap=True, markup=False)
    parse_request(overrides)  # a misspelt name or a wrong value is reported before JAX is imported
    from experiments.cli import estimate, progress
    from experiments.config.compose import compose
    from experiments.execute import local_workers, runner
    from experiments.execute.estimate import estimate as estimate_study
    from experiments.execute.job import Job
    from experiments.report.analyse import analyse
    from fgtsva_ppl.jax_config import configure, cores

    # A full or shared cache costs compile time only.
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache entry")
    study = compose(overrides)
    configure(precision=study.precision, devices=study.devices)
    output = runner.folder_of(study)
    job = Job(study, output)
    computed = [index for index, cell in enumerate(study.cells) if not job.is_finished(cell)]
    expected = estimate_study(study, job.is_finished)
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
        _print_notes(study, console)
        estimate.show(console, study, expected, output)
        raise typer.Exit
    warn = partial(errors.print, style="yellow", markup=False, soft_wrap=True)
    folder = runner.prepare(study, warn)
    shown = Console(quiet=True) if quiet else console
    shown.print(f"[bold]{escape(study.title)}[/]: {counted(len(study.cells), 'cell')}")
    _print_notes(study, shown)
    num_probes = sum(len(study.diagnostics.probes(cell)) for cell in study.cells)
    ends = [time.monotonic()]
    kept = f"Interrupted. Finished results are kept in {folder.path}"
    with signals.exit_message(kept, "The same command continues from there."):
        with (
            _connected(study.backend) as backend,
            local_workers.workers(processes - 1, overrides, folder, study.devices or 1, warn),
            progress.progress(
                errors if not quiet else shown,
                study.cells,
                num_probes,
                expected,
                None if quiet else folder,
                shown,
            ) as report_progress,
        ):
            signals.run_in_thread(partial(runner.execute, study, folder, report_progress, warn, backend))
        ends.append(time.monotonic())
        with folder.locks() as locks, locks.held("results"):
            analysis = signals.run_in_thread(partial(analyse, folder.path, warn))
    ends.append(time.monotonic())
    _print_analysis(study, analysis, shown)
    spent = stages.describe_time(ends, analysis.rows, computed, processes)
    shown.print(spent, style="dim", soft_wrap=True, markup=False)
    if analysis.failures:
        for line in analysis.failures[:MAX_FAILURES]:
            errors.print(line, style="red", soft_wrap=True, markup=False)
        total = f"{len(analysis.failures)} of {counted(len(study.cells), 'cell')} failed: see summary.csv"
        errors.print(total, style="red", soft_wrap=True)
        raise typer.Exit(1)


def _print_notes(study: "Study", shown: Console) -> None:
    """Prints what is to be said of the data."""
    for line in study.notes():
        shown.print(line, style="dim", soft_wrap=True, markup=False, highlight=False)


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
    from experiments.analysis.summary import defaults_note
    from experiments.cli import terminal

    shown.print(
        terminal.standings_table(analysis.standings, shown.width)
        if analysis.standings
        else terminal.summary_table(analysis.rows, shown.width, study.cells)
    )
    if note := defaults_note(analysis.rows):
        shown.print(note, style="dim", markup=False)
    shown.print(f"Results: {analysis.folder}", soft_wrap=True, markup=False)
    if analysis.has_verdicts:
        shown.print(f"Verdicts: {analysis.folder / 'verdicts.md'}", soft_wrap=True, markup=False)
    shown.print(f"Report: {analysis.folder / 'report.html'}", soft_wrap=True, markup=False)
