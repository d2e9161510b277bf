"""What the figures over cells show of sampler quality, on made-up cells."""

import pytest
from made_up import LEVELS, ROUNDS, RUNS, compared, made_up

from experiments import sweeps
from experiments.config import resolve
from experiments.relation import pairs
from fgtsva_ppl.diagnostics import METRICS

FLOOR = 0.04


def test_the_floor_of_tv_is_drawn_below_the_lines():
    words = ["environment=sparse,dense", "sampler=exact,mala", f"rounds={ROUNDS}", f"runs={RUNS}"]
    cells = resolve([*words, "sampler.steps=1,20"]).cells
    floors = {"sparse": FLOOR, "dense": 2 * FLOOR}

    def floor_of(cell):
        return floors[cell.flat["environment"]] * cell.flat.get("sampler.steps", 7)

    data = {c.id: made_up(c, 0.1, 0.3, tv_floor=floor_of(c)) for c in cells}
    figure = sweeps.against_setting(cells, data, "sampler.steps")
    for ax, floor in zip(figure.axes[2:], floors.values(), strict=True):
        (line,) = (line for line in ax.lines if line.get_label() == "floor of TV")
        assert list(line.get_xdata()) == [1, 20]
        assert list(line.get_ydata()) == [floor, 20 * floor]
    assert "floor of TV" in [text.get_text() for text in figure.legends[0].texts]


@pytest.mark.parametrize("known", [True, False])
def test_quality_is_set_against_the_gap_with_the_floor_where_it_is_known(known):
    floor = dict.fromkeys(LEVELS, FLOOR if known else float("nan"))
    figure = sweeps.against_gap(pairs(*compared(tv_floor=floor)))
    shown = (
        "tv",
        "nested_rhat",
        "rhat",
        "covariance_error",
    )  # the spread of a mean-field approximation is always 1
    assert [ax.get_xlabel() for ax in figure.axes] == [METRICS[name] for name in shown]
    ways = [line.get_xdata() for line in figure.axes[0].lines if line.get_linewidth() == sweeps.FROM_FLOOR]
    assert [way[0] for way in ways] == [FLOOR] * (len(LEVELS) - 1) * known  # all but exact draws
    assert ("from its floor of TV" in [text.get_text() for text in figure.legends[0].texts]) == known
