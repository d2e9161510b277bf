"""The figures of a study, from its cells alone."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from matplotlib.figure import Figure

from experiments import contests, curves, gaps, sweeps
from experiments.cells import Cell, by_panel
from experiments.layout import Layout
from experiments.relation import pairs
from experiments.scaling import lines
from experiments.store import write_atomically
from experiments.style import style
from experiments.tuning import Data, places

MANY = 12  # lines in a panel: with more, gaps are shown a row each as well


def draw(folder: Path, cells: Sequence[Cell], data: Data, layout: Layout) -> list[Path]:
    """Draws what the cells allow, as SVG and PNG."""
    folder.mkdir(exist_ok=True)
    done = [cell for cell in cells if cell.id in data]
    with style():
        drawn = _compared(cells, data, layout) or _played(done, data, layout)
        found = [pair for pair in pairs(done, data) if "diagnostics" in pair.data.children]
        if found:
            drawn["quality"] = gaps.against_quality(found)
        return [path for name, figure in drawn.items() for path in save(figure, folder / name)]


def _compared(cells: Sequence[Cell], data: Data, layout: Layout) -> dict[str, Figure]:
    """Algorithms at textbook and at tuned settings; nothing where a study compares none."""
    found = places(cells, data, layout)
    scaled = lines(found, data)
    if scaled:
        return {"scaling": contests.along_axes(scaled), "exponents": contests.exponents(scaled)}
    if found and layout.sweep is not None:
        along = contests.along_sweep(found, data, layout.sweep)
        return {"sweep": along, "regret": curves.sweep_curves(found, data, layout.sweep, layout.bounds)}
    return {"regret": curves.standing_curves(found, data, layout.bounds)} if found else {}


def _played(done: Sequence[Cell], data: Data, layout: Layout) -> dict[str, Figure]:
    """Regret against the setting along which a study goes, else against rounds."""
    if layout.sweep is not None and len({cell.flat.get(layout.sweep) for cell in done}) > 1:
        stiff = sweeps.against_condition(done, data)
        along = {"sweep": sweeps.against_setting(done, data, layout.sweep)}
        return along if stiff is None else along | {"condition": stiff}
    horizons = list(dict.fromkeys(cell.rounds for cell in done))
    drawn = {
        "regret" if len(horizons) == 1 else f"regret_{rounds}": curves.regret_curves(
            [cell for cell in done if cell.rounds == rounds], data, layout.bounds
        )
        for rounds in horizons
    }
    crowded = len(horizons) == 1 and max(map(len, by_panel(done).values())) > MANY
    found = pairs(done, data) if crowded else []
    return drawn | {"gaps": gaps.by_cell(found)} if found else drawn


def save(figure: Figure, path: Path) -> list[Path]:
    """Writes a figure as SVG, for the report, and as PNG, for everything else."""
    paths = [path.with_suffix(suffix) for suffix in (".svg", ".png")]
    for target in paths:
        content = BytesIO()
        metadata = {"Date": None} if target.suffix == ".svg" else None
        figure.savefig(content, format=target.suffix[1:], metadata=metadata)
        write_atomically(target, content.getvalue())
    return paths
