"""Components in the config: what overrides choose, what cells show, and which overrides are rejected."""

import pytest

from experiments.config.compose import compose
from samplers import HMC, MALA, DualAveraging, InputError, WindowAdaptation

CELL = ("environment=sparse", "rounds=10", "runs=2")


def cells(*overrides):
    return compose([*CELL, *overrides]).cells


def sampler_settings(cell):
    return {key: value for key, value in cell.flat.items() if key.startswith("sampler")}


def test_a_cell_shows_the_chosen_components_with_their_settings():
    (plain,) = cells("sampler=mala")
    expected = {
        "sampler": "mala",
        "sampler.num_steps": 20,
        "sampler.step_size": 1.0,
        "sampler.preconditioner": "dense",
        "sampler.step_size_rule": "curvature",
        "sampler.adaptation": "automatic",
        "sampler.adaptation.target_acceptance_rate": None,
    }
    assert sampler_settings(plain) == expected
    (tuned,) = cells("sampler=mala", "sampler.adaptation=dual_averaging")
    dotted = {"sampler.adaptation": "dual_averaging", "sampler.adaptation.target_acceptance_rate": None}
    assert sampler_settings(tuned) == expected | dotted
    assert plain.id != tuned.id


def test_overrides_build_the_components():
    (cell,) = cells(
        "sampler=mala", "sampler.adaptation=dual_averaging", "sampler.adaptation.target_acceptance_rate=0.7"
    )
    assert cell.agent.sampler == MALA(adaptation=DualAveraging(target_acceptance_rate=0.7))
    (cell,) = cells("sampler=hmc", "sampler.adaptation=window", "sampler.adaptation.every=5")
    assert cell.agent.sampler == HMC(adaptation=WindowAdaptation(every=5))


def test_in_a_grid_a_setting_counts_for_the_components_that_have_it():
    grid = cells("sampler=mala", "sampler.adaptation=none,window", "sampler.adaptation.num_steps=20,50")
    assert [cell.flat.get("sampler.adaptation.num_steps") for cell in grid] == [None, 20, 50]


@pytest.mark.parametrize(
    ("overrides", "message"),
    [
        (["sampler.steps=5"], "unknown key 'sampler.steps' (did you mean 'sampler.num_steps'?)"),
        (["sampler.whiten=none"], "unknown key 'sampler.whiten' (did you mean 'sampler.preconditioner'?)"),
        (["sampler.adapt=true"], "unknown key 'sampler.adapt' (did you mean 'sampler.adaptation'?)"),
        (
            ["sampler.target_acceptance=0.7"],
            "unknown key 'sampler.target_acceptance' (did you mean 'sampler.adaptation.target_acceptance_rate'?)",
        ),
        (
            ["sampler.adaptation.num_steps=5"],
            "sampler.adaptation.num_steps: no selected sampler.adaptation has this setting; "
            "these have it: window",
        ),
        (["sampler.adaptation=windw"], "unknown adaptation 'windw' (did you mean 'window'?)"),
        (
            ["sampler.preconditioner=true"],
            "unknown preconditioner 'true' (did you mean 'dense'?); valid: dense, diagonal, none",
        ),
        (
            ["sampler.adaptation=window", "sampler.adaptation.num_steps=0"],
            "sampler 'mala': adaptation.num_steps=0 must be a whole number, at least 1",
        ),
        (
            ["sampler=sgld", "sampler.adaptation=window"],
            "sampler.adaptation: no selected sampler has this setting; these have it: mala, barker",
        ),
    ],
)
def test_a_wrong_override_is_reported_in_one_line(overrides, message):
    with pytest.raises(InputError) as error:
        cells("sampler=mala", *overrides)
    assert message in str(error.value)
    assert "\n" not in str(error.value)
