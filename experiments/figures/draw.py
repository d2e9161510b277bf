"""Which figures any study gets, and the files of figures."""

from collections.abc import Callable, Mapping
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from experiments.analysis.results import StudyResults
from experiments.config.labels import by_panel
from experiments.figures import comparison_plots, curves, gap_plots, sweeps
from experiments.figures.style import style
from experiments.storage.files import write_atomically

MAX_ROWS = 80  # of a figure of gaps


class Draft(NamedTuple):
    """A figure that can be drawn."""

    draw: Callable[[], Figure]
    title: str  # a few words, for lists of figures
    caption: str


class Drawn(NamedTuple):
    """The files that were written, the captions by name, and a line for each figure that could not be drawn."""

    paths: list[Path]
    captions: Mapping[str, str]
    failures: list[str]


def draw(folder: Path, drafts: Mapping[str, Draft]) -> Drawn:
    """Draws figures, as SVG for the report and as PNG for everything else.

    Args:
        folder: where the files go.
        drafts: figures by file name, as `experiments.studies.figures(results)` chooses them.
    """
    folder.mkdir(exist_ok=True)
    drawn = Drawn([], {name: draft.caption for name, draft in drafts.items()}, [])
    for name, draft in drafts.items():
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


def default_figures(results: StudyResults) -> dict[str, Draft]:
    """The figures of a study that has none of its own, by file name, in the order of the report."""
    return _of_algorithms(results) or _of_cells(results)


def quality_figure(results: StudyResults) -> dict[str, Draft]:
    """Diagnostics against the regret gap; nothing where no cell with a reference was probed."""
    if not results.probed_pairs:
        return {}
    caption = (
        "Sampler quality against the regret gap to exact draws; a thin line leads from each cell's floor of TV, "
        "its mean for samples of equal distributions, to its TV."
    )
    title = "diagnostics against the regret gap to exact draws"
    return {"quality": Draft(partial(gap_plots.against_quality, results), title, caption)}


def _of_algorithms(results: StudyResults) -> dict[str, Draft]:
    """Algorithms at textbook and at tuned settings; nothing where a study compares none."""
    if not results.tuned_algorithms:
        return {}
    if results.comparison.sweep is not None:
        return {
            "regret": _over_rounds(partial(curves.sweep_curves, results)),
            "sweep": _along_setting(partial(comparison_plots.along_sweep, results)),
        }
    return {"regret": _over_rounds(partial(curves.standing_curves, results))}


def _of_cells(results: StudyResults) -> dict[str, Draft]:
    """Regret against the setting that a study varies, else against rounds."""
    done, sweep, figures = results.done, results.comparison.sweep, {}
    if sweep is not None and len({cell.flat.get(sweep) for cell in done}) > 1:
        figures["sweep"] = _along_setting(partial(sweeps.against_setting, results, sweep))
        if sweeps.condition_numbers(results):
            figures["condition_number"] = Draft(
                partial(sweeps.against_condition_number, results),
                "final regret against the condition number",
                "Final regret with its 95% interval against the largest condition number met at a probe round, "
                "median over runs; a sampler that keeps playing one arm makes its own posterior stiffer.",
            )
        return figures
    horizons = list(dict.fromkeys(cell.rounds for cell in done))
    fits = len(horizons) == 1 and max(map(len, by_panel(done).values())) <= MAX_ROWS
    if fits and results.pairs:
        figures["gaps"] = Draft(
            partial(gap_plots.by_cell, results),
            "regret gap of each to exact draws",
            "Mean regret beyond that of exact draws with the same random numbers, with its 95% interval.",
        )
    for rounds in horizons:
        name = "regret" if len(horizons) == 1 else f"regret_{rounds}"
        figures[name] = _over_rounds(partial(curves.regret_curves, results, rounds))
    return figures


def _over_rounds(function: Callable[[], Figure]) -> Draft:
    caption = "Cumulative regret, mean over runs; bands are two standard errors on either side."
    return Draft(function, "regret against rounds", caption)


def _along_setting(function: Callable[[], Figure]) -> Draft:
    caption = (
        "Along the setting that the study varies, with 95% intervals; the floor of TV is its mean for samples of "
        "equal distributions."
    )
    return Draft(function, "final regret along a setting", caption)


def _files(draft: Draft) -> dict[str, bytes]:
    """A figure's content, by the suffix of its file."""
    with style():
        figure, content = draft.draw(), {suffix: BytesIO() for suffix in (".svg", ".png")}
        for suffix, file in content.items():
            metadata = {"Date": None} if suffix == ".svg" else None
            figure.savefig(file, format=suffix[1:], metadata=metadata)
    return {suffix: file.getvalue() for suffix, file in content.items()}
