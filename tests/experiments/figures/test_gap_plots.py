"""Figures of regret gaps, on synthetic cells."""

import numpy as np
import pytest
from helpers.synthetic_cells import LEVELS, ROUNDS, RUNS, compared, synthetic_cell
from matplotlib.figure import Figure

from experiments import studies
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import Interval
from experiments.config.compose import compose
from experiments.figures import draw, gap_plots
from fgtsva_ppl.diagnostics import METRICS

FLOOR = 0.04
EVERY = ("sgld", "psgld", "sghmc", "mala", "barker", "hmc", "ghmc", "nuts", "mclmc", "rmh", "slice", "smc")


@pytest.mark.parametrize("known", [True, False])
def test_quality_figure_shows_the_gap_and_the_floor(known):
    floor = dict.fromkeys(LEVELS, FLOOR if known else float("nan"))
    figure = gap_plots.against_quality(compared(total_variation_floor=floor))
    shown = (
        "total_variation",
        "nested_rhat",
        "rhat",
        "covariance_error",
    )  # the sd ratio of a mean-field approximation is always 1
    assert [ax.get_xlabel() for ax in figure.axes] == [METRICS[name].doc for name in shown]
    ways = [line.get_xdata() for line in figure.axes[0].lines if line.get_linewidth() == gap_plots.FROM_FLOOR]
    assert [way[0] for way in ways] == [FLOOR] * (len(LEVELS) - 1) * known  # all but exact draws
    assert ("from its floor of TV" in [text.get_text() for text in figure.legends[0].texts]) == known


def studied(samplers):
    """Cells of which each has more regret a round than the one before, and the last less than exact draws."""
    overrides = ["environment=sparse,dense", f"sampler=exact,{','.join(samplers)}"]
    cells = compose([*overrides, f"rounds={ROUNDS}", f"runs={RUNS}"]).cells
    level = dict(zip(("exact", *samplers), [0.5, *np.linspace(0.6, 2, len(samplers) - 1), 0.3], strict=True))
    data = {c.id: synthetic_cell(c, level[c.flat["sampler"]], 0.1, seed=i) for i, c in enumerate(cells)}
    return StudyResults.from_cells("mine", cells, data)


def test_every_cell_has_a_row_with_its_gap_and_interval_the_largest_above():
    results = studied(EVERY)
    figure = gap_plots.by_cell(results)
    assert [ax.get_title() for ax in figure.axes] == ["sparse", "dense"]
    rows = [label.get_text() for label in figure.axes[0].get_yticklabels()]
    assert rows == [*EVERY[-2::-1], EVERY[-1]]
    low, high = figure.axes[0].get_ylim()
    assert low > high  # the first row is above
    for ax in figure.axes:
        assert len(ax.containers) == len(EVERY)
        for bars in ax.containers:
            (point, _, (line,)) = bars
            (x,), (y,) = point.get_data()
            (pair,) = (
                one for one in results.pairs
                if (one.cell.flat["sampler"], one.cell.flat["environment"]) == (rows[round(y)], ax.get_title())
            )  # fmt: skip
            (segment,) = line.get_segments()
            np.testing.assert_allclose(
                [x, *segment[:, 0]], [pair.regret_gap.value, pair.regret_gap.low, pair.regret_gap.high]
            )


def test_gaps_have_a_row_each_unless_they_are_too_many(tmp_path, monkeypatch):
    drafts = studies.figures(studied(EVERY[:3]))
    assert next(iter(drafts)) == "gaps"
    assert not draw.draw(tmp_path, drafts).failures
    monkeypatch.setattr(draw, "MAX_ROWS", 2)
    assert "gaps" not in studies.figures(studied(EVERY[:3]))


@pytest.mark.parametrize(
    "gap", [Interval(3.0, 2.0, 4.0), Interval(-3.0, -4.0, -2.0), Interval(50.0, *[np.nan] * 2)]
)
def test_a_single_gap_is_inside_its_axis(gap):
    axes = Figure().subplots()
    axes.plot(gap.value, 0)
    gap_plots._gap_axis(axes, "x", [gap])
    low, high = axes.get_xlim()
    assert low < gap.value < high
