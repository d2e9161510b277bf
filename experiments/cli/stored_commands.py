"""Commands on stored studies: `fgtsva report`, `show`, `compare`, `open` and `atlas`."""

import webbrowser
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from experiments.cli.consoles import console, errors
from experiments.storage.layout import check_readable

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="A run's output folder.")]


def report(folder: Folder) -> None:
    """Rebuild the tables, the figures and report.html from a run's stored results.

    Example: fgtsva report results/default-1a2b3c4d
    """
    check_readable(folder)  # before JAX is imported
    from experiments.report.analyse import analyse

    analyse(folder, partial(errors.print, style="yellow", markup=False))
    console.print(f"Report: {folder / 'report.html'}", soft_wrap=True, markup=False)


def show(folder: Folder) -> None:
    """Print the findings and the table of a stored study, finished or not.

    Example: fgtsva show results/default-1a2b3c4d
    """
    check_readable(folder)  # before JAX is imported
    from experiments.cli import stored

    stored.show(console, folder)


def compare(first: Folder, second: Folder) -> None:
    """Print two stored studies side by side: the regret of the cells that they have in common, and the difference.

    Example: fgtsva compare results/default-1a2b3c4d results/default-5e6f7a8b
    """
    for folder in (first, second):
        check_readable(folder)
    from experiments.cli import stored

    stored.compare(console, first, second)


def open_(folder: Folder) -> None:
    """Open the report of a stored study in the browser.

    Example: fgtsva open results/default-1a2b3c4d
    """
    check_readable(folder)
    page = folder / "report.html"
    if not page.is_file():
        report(folder)
    if webbrowser.open(page.resolve().as_uri()):
        console.print(f"Opened {page}", soft_wrap=True, markup=False)
    else:
        console.print(f"No browser was found. Report: {page}", soft_wrap=True, markup=False)


def atlas(
    folders: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="DIR", help="Output folders of runs, or folders that hold some; default: results."
        ),
    ] = None,
    output: Annotated[Path, typer.Option(metavar="FILE", help="The page.")] = Path("atlas.html"),
    markdown: Annotated[
        bool,
        typer.Option(
            "--markdown", help="Also write README.md of the claims, with small pictures, into this checkout."
        ),
    ] = False,
) -> None:
    """Put every published claim that was run on one page, with its verdict; the others with their command.

    Example: fgtsva run study=claims/two_divergences && fgtsva atlas
    """
    from experiments.config.compose import compose
    from experiments.execute.estimate import estimate
    from experiments.report import atlas as page
    from experiments.report import atlas_table
    from experiments.storage.files import write_atomically

    places = folders or ([page.DEFAULT] if page.DEFAULT.is_dir() else [])
    found = page.find(places)  # raises for a folder that is none
    entries = page.gather(found, partial(errors.print, style="yellow", markup=False))
    write_atomically(output, page.render(entries).encode())
    if markdown:
        names = [entry.study for entry in entries if entry.judgement]
        seconds = {name: estimate(compose([f"study={name}"]), lambda cell: False).seconds for name in names}
        atlas_table.write(entries, seconds)
    for entry in entries:
        verdict = (
            entry.judgement.verdict
            if entry.judgement
            else f"cannot be tested here, because {entry.claim.missing}"
            if entry.claim.missing
            else f"not run: {entry.command}"
        )
        size = f" ({entry.size})" if entry.size else ""
        console.print(f"{entry.claim.id:<8} {verdict}{size}", soft_wrap=True, markup=False)
    console.print(f"Atlas: {output}", soft_wrap=True, markup=False)
