"""The figures of a study, from its cells alone."""

from collections.abc import Callable, Sequence
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import NamedTuple

from matplotlib.figure import Figure

from experiments.analysis.diagnostics_vs_regret import pairs
from experiments.analysis.hyperparameters import Data, tuned_algorithms
from experiments.analysis.scaling import lines
from experiments.config.cell import Cell
from experiments.config.comparison import Comparison
from experiments.config.labels import by_panel
from experiments.figures import comparison_plots, curves, gap_plots, sweeps
from experiments.figures.style import style
from experiments.storage.files import write_atomically

MANY, MOST = (
    12,
    80,
)  # lines in a panel: with more than many, gaps are shown a row each as well, up to so many rows

type Draft = Callable[[], Figure | None]  # None where there is nothing to show after all


class Drawn(NamedTuple):
    """The files that were written, and a line for each figure that could not be drawn."""

    paths: list[Path]
    undrawn: list[str]


def draw(folder: Path, cells: Sequence[Cell], data: Data, comparison: Comparison) -> Drawn:
    """Draws what the cells allow, as SVG for the report and as PNG for everything else."""
    folder.mkdir(exist_ok=True)
    done = [cell for cell in cells if cell.id in data]
    drafts = _compared(cells, data, comparison) or _played(done, data, comparison)
    found = [pair for pair in pairs(done, data) if "diagnostics" in pair.data.children]
    if found:
        drafts["quality"] = partial(gap_plots.against_quality, found)
    drawn = Drawn([], [])
    for name, draft in drafts.items():
        try:
            files = _files(draft)
        except Exception as error:  # and no other figure, nor the report, may be lost for it
            drawn.undrawn.append(f"{name} ({type(error).__name__}: {error})")
            continue
        for suffix, content in files.items():
            path = folder / f"{name}{suffix}"
            write_atomically(path, content)
            drawn.paths.append(path)
    return drawn


def _compared(cells: Sequence[Cell], data: Data, comparison: Comparison) -> dict[str, Draft]:
    """Algorithms at textbook and at tuned settings; nothing where a study compares none."""
    found = tuned_algorithms(cells, data, comparison)
    scaled = lines(found, data)
    if scaled:
        return {
            "scaling": partial(comparison_plots.along_axes, scaled),
            "exponents": partial(comparison_plots.exponents, scaled),
        }
    if found and comparison.sweep is not None:
        return {
            "sweep": partial(comparison_plots.along_sweep, found, data, comparison.sweep),
            "regret": partial(curves.sweep_curves, found, data, comparison.sweep, comparison.bounds),
        }
    return {"regret": partial(curves.standing_curves, found, data, comparison.bounds)} if found else {}


def _played(done: Sequence[Cell], data: Data, comparison: Comparison) -> dict[str, Draft]:
    """Regret against the setting along which a study goes, else against rounds."""
    if comparison.sweep is not None and len({cell.flat.get(comparison.sweep) for cell in done}) > 1:
        return {
            "sweep": partial(sweeps.against_setting, done, data, comparison.sweep),
            "condition": partial(sweeps.against_condition, done, data),
        }
    horizons = list(dict.fromkeys(cell.rounds for cell in done))
    drafts: dict[str, Draft] = {
        "regret" if len(horizons) == 1 else f"regret_{rounds}": partial(
            curves.regret_curves, [cell for cell in done if cell.rounds == rounds], data, comparison.bounds
        )
        for rounds in horizons
    }
    crowded = len(horizons) == 1 and MANY < max(map(len, by_panel(done).values())) <= MOST
    found = pairs(done, data) if crowded else []
    return drafts | {"gaps": partial(gap_plots.by_cell, found)} if found else drafts


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
