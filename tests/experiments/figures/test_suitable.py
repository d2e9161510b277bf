"""Public figure functions say what they lack, before anything is drawn."""

import inspect

import pytest
from helpers.synthetic_cells import compared

from experiments import figures
from experiments.analysis.results import StudyResults
from experiments.figures import draw
from experiments.studies import table1
from samplers.errors import InputError

PUBLIC = {name: getattr(figures, name) for name in figures.__all__}
TABLE1 = {"along_axes": table1.figures.along_axes, "exponents": table1.figures.exponents}


@pytest.fixture(scope="module")
def samplers():
    """Cells of several samplers with diagnostics: no algorithms are compared, nothing is swept."""
    return compared()


def call(function, results):
    return (
        function(results, "sampler.num_steps")
        if "key" in inspect.signature(function).parameters
        else function(results)
    )


@pytest.mark.parametrize("name", [*PUBLIC, *TABLE1])
def test_results_without_cells_are_an_input_error(name):
    with pytest.raises(InputError, match=r"^this figure needs "):
        call({**PUBLIC, **TABLE1}[name], StudyResults.from_cells("mine", [], {}))


@pytest.mark.parametrize(
    ("name", "missing"),
    [
        ("standing_curves", "compares algorithms"),
        ("sweep_curves", "compares algorithms"),
        ("along_sweep", "compares algorithms"),
        ("along_axes", "study=table1"),
        ("exponents", "study=table1"),
    ],
)
def test_a_study_of_another_kind_is_an_input_error(samplers, name, missing):
    with pytest.raises(InputError, match=missing):
        call({**PUBLIC, **TABLE1}[name], samplers)


def test_an_unknown_setting_or_horizon_is_an_input_error(samplers):
    with pytest.raises(InputError, match=r"'sampler\.num_stpes' .did you mean 'sampler\.num_steps'"):
        figures.against_setting(samplers, "sampler.num_stpes")
    with pytest.raises(InputError, match="of 7 rounds; there are cells of: 50"):
        figures.regret_curves(samplers, rounds=7)


def test_cells_without_reference_or_probes_are_an_input_error(samplers):
    mala = [cell for cell in samplers.cells if cell.flat["sampler"] == "mala"]
    alone = StudyResults.from_cells("mine", mala, {cell.id: samplers.data[cell.id] for cell in mala})
    for function in (figures.by_cell, figures.against_quality):
        with pytest.raises(InputError, match=r"exact reference \(sampler=exact"):
            function(alone)
    assert not draw.quality_figure(alone)


def test_suitable_results_are_drawn(samplers):
    for function in (figures.regret_curves, figures.by_cell, figures.against_quality):
        assert function(samplers).axes
    assert figures.against_setting(samplers, "sampler.num_steps").axes
