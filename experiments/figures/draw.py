"""Which figures a study gets, and their files."""

from collections.abc import Callable, Mapping
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from experiments import studies
from experiments.analysis.results import StudyResults
from experiments.config.labels import by_panel
from experiments.figures import comparison_plots, curves, gap_plots, sweeps
from experiments.figures.style import style
from experiments.storage.files import write_atomically

CROWDED, MAX_ROWS = 12, 80  # with more lines than this in a panel, gaps are drawn as well, up to so many rows

type Draft = Callable[[], Figure | None]  # None where there is nothing to show


class Drawn(NamedTuple):
    """The files that were written, and a line for each figure that could not be drawn."""

    paths: list[Path]
    failures: list[str]


def draw(folder: Path, results: StudyResults) -> Drawn:
    """Draws what the cells allow, as SVG for the report and as PNG for everything else.

    Args:
        folder: where the files go.
        results: the results of a study.
    """
    folder.mkdir(exist_ok=True)
    drawn = Drawn([], [])
    for name, draft in drafts(results).items():
        try:
            files = _files(draft)
        except Exception as error:  # an error here must lose neither other figures nor the report
            drawn.failures.append(f"{name} ({type(error).__name__}: {error})")
            continue
        for suffix, content in files.items():
            path = folder / f"{name}{suffix}"
            write_atomically(path, content)
            drawn.paths.append(path)
    return drawn


def drafts(results: StudyResults) -> Mapping[str, Draft]:
    """The figures of a study by file name: its own, or the usual ones; and diagnostics against the regret gap."""
    own = studies.hooks(results.name).figures
    chosen = (own(results) if own else {}) or _of_algorithms(results) or _of_cells(results)
    quality: dict[str, Draft] = {"quality": partial(gap_plots.against_quality, results)}
    return {**chosen, **(quality if results.probed_pairs else {})}


def _of_algorithms(results: StudyResults) -> dict[str, Draft]:
    """Algorithms at textbook and at tuned settings; nothing where a study compares none."""
    if not results.tuned_algorithms:
        return {}
    if results.comparison.sweep is not None:
        return {
            "sweep": partial(comparison_plots.along_sweep, results),
            "regret": partial(curves.sweep_curves, results),
        }
    return {"regret": partial(curves.standing_curves, results)}


def _of_cells(results: StudyResults) -> dict[str, Draft]:
    """Regret against the setting that a study varies, else against rounds."""
    done, sweep = results.done, results.comparison.sweep
    if sweep is not None and len({cell.flat.get(sweep) for cell in done}) > 1:
        return {
            "sweep": partial(sweeps.against_setting, results, sweep),
            "condition": partial(sweeps.against_condition, results),
        }
    horizons = list(dict.fromkeys(cell.rounds for cell in done))
    figures: dict[str, Draft] = {
        "regret" if len(horizons) == 1 else f"regret_{rounds}": partial(curves.regret_curves, results, rounds)
        for rounds in horizons
    }
    crowded = len(horizons) == 1 and CROWDED < max(map(len, by_panel(done).values())) <= MAX_ROWS
    if crowded and results.pairs:
        figures["gaps"] = partial(gap_plots.by_cell, results)
    return figures


def _files(draft: Draft) -> dict[str, bytes]:
    """A figure's content, by the suffix of its file."""
    with style():
        figure, content = draft(), {suffix: BytesIO() for suffix in (".svg", ".png")}
        if figure is None:
            return {}
        for suffix, file in content.items():
            metadata = {"Date": None} if suffix == ".svg" else None
            figure.savefig(file, format=suffix[1:], metadata=metadata)
    return {suffix: file.getvalue() for suffix, file in content.items()}
