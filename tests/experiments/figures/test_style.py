"""One style for all figures: exact draws look the same everywhere, and every other name has its own colour."""

from itertools import pairwise

import numpy as np
import pytest
from helpers.synthetic_comparison import study, tree
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.analysis.results import StudyResults
from experiments.config.compose import compose
from experiments.figures import comparison_plots, curves, gap_plots, sweeps
from experiments.figures.style import (
    COLOURS,
    DASHES,
    FIRST,
    distinct,
    handles_below,
    look,
    panels_of,
    plain_axis,
    style,
    variants,
)
from experiments.studies.table1 import figures as table1
from fgtsva_ppl import AGENTS, POSTERIORS

ORACLE = {"color": "black", "linestyle": "--"}


def is_the_oracle(shown) -> bool:
    return {key: shown[key] for key in ORACLE} == ORACLE


def names_of(name):
    return list(dict.fromkeys(entry.name for entry in study(name).comparison.algorithm_runs.values()))


def owners(*labels):
    return {label: label.partition(" ")[0] for label in labels}


def test_every_algorithm_has_one_distinct_appearance():
    looks = [distinct(names_of(name)) for name in ("figure1", "figure2", "table1")]
    for first, second in pairwise(looks):
        for name in first.keys() & second.keys():
            assert (first[name]["color"], first[name]["linestyle"]) == (
                second[name]["color"],
                second[name]["linestyle"],
            )
    shown = looks[0]
    assert is_the_oracle(shown["FGTS-VA (exact)"])
    assert shown["FGTS-VA (SGLD)"]["color"] == look("sgld")["color"]
    assert len({own["color"] for own in shown.values()}) == len(shown)


def test_agents_and_posteriors_do_not_share_colours_with_common_samplers():
    usual = {look(name)["color"] for name in (*FIRST, "exact")}
    for name in (*AGENTS.names(), *POSTERIORS.names()):
        assert look(name)["color"] not in usual
    assert look("save") == look("SAVE")


@pytest.mark.parametrize(
    "labels",
    [
        ("exact",),
        ("exact c=1", "exact c=2", "exact c=3", "exact c=4"),
        ("exact c=1", "exact c=2", "mala c=1", "mala c=2", "nuts c=2"),
        ("exact c=1", *(f"control c=1 spread={spread}" for spread in range(8))),
    ],
)
def test_only_exact_draws_are_black_and_dashed(labels):
    shown = variants(owners(*labels))
    for label, own in shown.items():
        assert is_the_oracle(own) == label.startswith("exact")
    appearances = {(own["color"], own.get("marker")) for own in shown.values()}
    assert len(appearances) == len(labels)


def test_equal_settings_have_equal_markers_and_dashes():
    shown = variants(owners("exact c=1", "exact c=2", "mala c=2", "mala c=1", "hmc c=1", "hmc c=2"))
    for c, dash in ((1, DASHES[0]), (2, DASHES[1])):
        assert len({shown[f"{name} c={c}"]["marker"] for name in ("exact", "mala", "hmc")}) == 1
        assert [shown[f"{name} c={c}"]["linestyle"] for name in ("mala", "hmc")] == [dash, dash]
    assert (
        "marker"
        not in variants({"thompson gp": "mala", "thompson linear": "mala"}, several=False)["thompson gp"]
    )


def test_shades_of_a_single_sampler_are_no_other_colours():
    shown = variants(owners("mala c=1", "mala c=2", "mala c=3"))
    assert not {own["color"] for own in shown.values()} & set(COLOURS)


def test_a_legend_has_rows_of_equal_length():
    for count, most in ((7, 7), (8, 8), (15, 8)):
        figure = Figure(figsize=(9, 4))
        handles_below(figure, {f"name {i:2}": Line2D([], []) for i in range(count)})
        (legend,) = figure.legends
        assert legend._ncols <= most
        assert -(-count // legend._ncols) * legend._ncols - count < -(-count // legend._ncols)


@pytest.mark.parametrize(("low", "high"), [(3.1, 6.4), (6, 19), (0.4, 2.2), (1.1, 90), (1, 1e5)])
def test_a_logarithmic_axis_has_two_numbers_at_least(low, high):
    ax = Figure().subplots()
    ax.set(yscale="log", ylim=(low, high))
    plain_axis(ax.yaxis)
    assert sum(low <= at <= high for at in ax.yaxis.get_majorticklocs()) >= 2


def test_no_more_than_two_panels_beside_each_other():
    figure, axes = panels_of(3, 5.2, 4.0)
    assert figure.get_figwidth() == pytest.approx(10.4)
    assert [ax.axison for ax in axes] == [True, True, True, False]


def results_of(name, total):
    composed = study(name)
    data = {cell.id: tree(cell, total(cell)) for cell in composed.cells}
    return StudyResults.from_cells(name, composed.cells, data, composed.comparison)


def labels_in(figure):
    return [text.get_text() for legend in figure.legends for text in legend.get_texts()]


def test_one_line_is_drawn_where_tuning_chose_the_textbook():
    results = results_of("figure2", lambda cell: 5.0 if cell.flat["posterior.alpha"] < 0.2 else 9.0)
    with style():
        figure = comparison_plots.along_sweep(results)
    drawn_labels = labels_in(figure)
    assert "FGTS-VA (exact), textbook and tuned" in drawn_labels
    drawn = [line for line in figure.axes[0].get_lines() if line.get_linestyle() == "--"]
    assert len(drawn) == 1
    assert drawn[0].get_color() == "black"
    assert drawn[0].get_fillstyle() == "full"


def test_exponents_figure_has_a_legend_for_levels_and_theory():
    results = results_of("table1", lambda cell: cell.flat["environment.dim"])
    with style():
        figure = table1.exponents(results)
    assert labels_in(figure) == ["textbook settings", "tuned settings", "theory"]
    assert figure.axes[0].get_title() == "exponent of regret in d"
    bars = [line for line in figure.axes[0].get_lines() if line.get_linewidth() == table1.THEORY["linewidth"]]
    assert bars
    assert all(line.get_color() == table1.THEORY["color"] for line in bars)


def test_panels_above_each_other_share_the_label_of_their_rounds():
    results = results_of("figure1", lambda cell: 5.0)
    with style():
        figure = curves.standing_curves(results)
    assert [ax.get_xlabel() for ax in figure.axes] == ["", "", "round", "round"]


def test_variants_of_exact_draws_are_horizontal_lines_with_distinct_markers():
    cells = compose(["study=warmstart", "environment=sparse", "rounds=20", "runs=40"]).cells
    data = {cell.id: tree(cell, 5.0) for cell in cells}
    with style():
        figure = sweeps.against_setting(
            StudyResults.from_cells("warmstart", cells, data), "sampler.num_steps"
        )
    level = [line for line in figure.axes[0].get_lines() if line.get_color() == "black"]
    assert [line.get_linestyle() for line in level] == ["--", "--"]
    assert len({line.get_marker() for line in level}) == 2


def test_symmetric_axis_has_tick_labels_up_to_its_end():
    for reach in (47.0, 400.0, 20_000.0):
        ticks = np.array(gap_plots._symmetric_ticks(reach))
        assert 0 in ticks
        assert ticks[ticks <= reach].max() * 10 > reach
        assert sorted(-ticks) == sorted(ticks)
    assert {20.0, 50.0} <= set(gap_plots._symmetric_ticks(70.0))
