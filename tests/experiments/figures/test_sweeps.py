"""Sampler quality in figures along a setting, on synthetic cells."""

from helpers.synthetic_cells import ROUNDS, RUNS, synthetic_cell

from experiments.analysis.results import StudyResults
from experiments.config.compose import compose
from experiments.figures import sweeps

FLOOR = 0.04


def test_the_floor_of_tv_is_drawn_below_the_lines():
    overrides = ["environment=sparse,dense", "sampler=exact,mala", f"rounds={ROUNDS}", f"runs={RUNS}"]
    cells = compose([*overrides, "sampler.num_steps=1,20"]).cells
    floors = {"sparse": FLOOR, "dense": 2 * FLOOR}

    def floor_of(cell):
        return floors[cell.flat["environment"]] * cell.flat.get("sampler.num_steps", 7)

    data = {c.id: synthetic_cell(c, 0.1, 0.3, total_variation_floor=floor_of(c)) for c in cells}
    figure = sweeps.against_setting(StudyResults.from_cells("mine", cells, data), "sampler.num_steps")
    for ax, floor in zip(figure.axes[2:], floors.values(), strict=True):
        (line,) = (line for line in ax.lines if line.get_label() == "floor of TV")
        assert list(line.get_xdata()) == [1, 20]
        assert list(line.get_ydata()) == [floor, 20 * floor]
    assert "floor of TV" in [text.get_text() for text in figure.legends[0].texts]
