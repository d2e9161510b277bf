"""The commands `fgtsva targets export` and `fgtsva targets run`."""

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.consoles import console, errors

app = typer.Typer(
    no_args_is_help=True, help="A benchmark of samplers: sequences of posteriors that bandits meet."
)

Names = Annotated[
    list[str] | None, typer.Option("--target", help="A sequence; may be repeated. Default: all.")
]


@app.command("export")
def export_(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the files go.")],
    target: Names = None,
    quick: Annotated[bool, typer.Option("--quick", help="The four smallest, with short references.")] = False,
) -> None:
    """Write posteriors of recorded runs with data, gradient check values and reference draws (netCDF and JSON).

    Example: fgtsva targets export targets
    """
    from experiments.targets.sequences import chosen

    chosen(target, quick=quick)  # before JAX is imported
    from experiments.targets.export import export

    progress = partial(errors.print, style="dim", markup=False)
    digests = export(folder, target, quick=quick, progress=progress)
    console.print(f"{len(digests)} sequences: {folder}", soft_wrap=True, markup=False)


@app.command("run")
def run_(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Of `fgtsva targets export`.")] = Path(
        "targets"
    ),
    sampler: Annotated[
        list[str] | None,
        typer.Option("--sampler", help="file.py:Class, or a registered name; may be repeated."),
    ] = None,
    beside: Annotated[
        str,
        typer.Option(
            "--beside", help="Registered samplers to compare with: names with commas, all, or none."
        ),
    ] = "all",
    output: Annotated[
        Path, typer.Option("--output", metavar="DIR", help="Where the leaderboard goes.")
    ] = Path("leaderboard"),
    time_limit: Annotated[
        float, typer.Option("--time-limit", min=1, help="Seconds of a sampler on a target.")
    ] = 600.0,
    chains: Annotated[
        int | None, typer.Option("--chains", min=32, max=1000, help="Chains of a sampler. [default: 256]")
    ] = None,
    draws: Annotated[
        int | None, typer.Option("--draws", min=1, help="Draws of a cold chain. [default: 16]")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Fewer chains and draws: 64 and 8.")] = False,
) -> None:
    """Measure samplers on exported targets: errors against gradients and seconds, cold and following.

    Example: fgtsva targets run targets --sampler my_file.py:MySampler --beside mala,nuts
    """
    from experiments.targets.leaderboard import check_spec, registered_samplers

    others = {"all": registered_samplers(), "none": []}.get(beside, beside.split(","))
    samplers = list(dict.fromkeys(check_spec(spec) for spec in [*(sampler or []), *others]))
    from experiments.targets import leaderboard, page
    from experiments.targets.measure import QUICK, Budget, calls_up_to

    budget = QUICK if quick else Budget()
    calls = budget.calls if draws is None else calls_up_to(draws)
    limits = leaderboard.Limits(chains or budget.num_chains, calls, time_limit)
    progress = partial(errors.print, style="dim", markup=False)
    table = leaderboard.run(folder, samplers, limits, progress)
    paths = page.write(output, table, leaderboard.described(folder))
    console.print("   score  ± se  gradients  sampler", style="bold", markup=False)
    for row in leaderboard.standings(table).itertuples():
        note = f"  ({row.num_failed} failed)" if row.num_failed else ""
        line = f"{row.score:8.2f} {row.score_se:5.2f} {row.gradients:10.0f}  {row.sampler}{note}"
        console.print(line, markup=False, highlight=False)
    failed = table[table["status"] == "failed"]
    if len(failed):
        errors.print(f"{len(failed)} rows failed: see {paths[0]}", style="yellow", markup=False)
    for row in failed[~failed["sampler"].isin(registered_samplers())].itertuples():
        errors.print(f"{row.sampler} on {row.target}: {row.reason}", style="yellow", markup=False)
    console.print(f"Leaderboard: {paths[-1]}", soft_wrap=True, markup=False)
