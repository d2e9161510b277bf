"""Names on the command line: algorithms that are no agents, unused overrides, labels of reconstructions."""

import pytest

from experiments.config.compose import compose
from experiments.config.labels import labels_of
from fgtsva_ppl import AGENTS, POSTERIORS
from samplers.errors import InputError


@pytest.mark.parametrize(
    ("name", "instead"),
    [(name, f"agent=thompson posterior={name}") for name in POSTERIORS.names()]
    + [("FGTS-A", "agent=thompson posterior=fgts_a"), ("linucb", "agent=oful"), ("LinUCB", "agent=oful")],
)
def test_algorithm_name_that_is_no_agent_is_rejected_with_its_settings(name, instead):
    with pytest.raises(InputError) as error:
        compose([f"agent={name}"])
    text = str(error.value)
    assert text.startswith(f"unknown agent {name!r}: use {instead}")
    assert text.endswith(f"valid: {', '.join(AGENTS.names())}")
    assert "\n" not in text


def test_message_for_ts_has_plain_and_weighted_settings():
    with pytest.raises(InputError, match=r"posterior=ts; .*posterior=fgts_va posterior\.c=0;"):
        compose(["agent=thompson,ts"])


@pytest.mark.parametrize("override", ["reward=mlp", "posterior=ts", "posterior.c=0.1", "sampler=exact"])
def test_override_for_a_group_that_no_selected_agent_has_is_rejected(override):
    key = override.partition("=")[0]
    group = key.partition(".")[0]
    with pytest.raises(InputError, match=rf"^{key}: no selected agent has a {group}; these have one: thom"):
        compose(["agent=oful", override, "environment=sparse"])


def test_override_needs_only_one_selected_agent_that_uses_it():
    composed = compose(
        ["agent=oful,thompson", "posterior=ts", "sampler=exact", "environment=sparse", "noise=default"]
    )
    assert [cell.flat["agent"] for cell in composed.cells] == ["oful", "thompson"]


def test_settings_of_a_study_file_may_be_unused():
    for overrides in (["study=theorem", "environment.p=0"], ["study=stiffness"]):
        assert {cell.flat["agent"] for cell in compose([*overrides, "agent=uniform"]).cells} == {"uniform"}


def test_reconstructions_have_their_label():
    composed = compose(["agent=linvdts,linnats,save,thompson", "environment=sparse", "sampler=exact"]).cells
    names = {
        "linvdts": "LinVDTS-style",
        "linnats": "LinNATS-style",
        "save": "save",
        "thompson": "thompson exact",
    }
    labels = labels_of(composed)
    for cell in composed:
        assert labels[cell.id].startswith(names[cell.flat["agent"]].split()[0])
    assert {cell.name.removeprefix("sparse ") for cell in composed} == {*names.values()} - {
        "thompson exact"
    } | {"thompson fgts_va exact"}
    alone = compose(["agent=linvdts", "environment=sparse"]).cells
    assert list(labels_of(alone).values()) == ["LinVDTS-style"]
    radii = compose(["agent=linvdts", "environment=sparse", "agent.radius=1,0.1"]).cells
    assert list(labels_of(radii).values()) == ["LinVDTS-style radius=1", "LinVDTS-style radius=0.1"]


def test_cells_of_an_agent_that_is_not_installed_keep_its_name():
    """A report is written from stored cells alone, on any machine."""
    (cell,) = compose(["agent=save", "environment=sparse"]).cells
    stored = type("Stored", (), {"id": "x", "flat": {**cell.flat, "agent": "elsewhere"}})()
    assert labels_of([stored]) == {"x": "elsewhere"}


def test_settings_that_the_data_recommend_are_in_no_label():
    """Of two environments with one posterior each, the panel says which; a setting of a grid is named."""
    both = ["environment=sparse,iris", "sampler=exact,mala"]
    ts = compose([*both, "posterior=ts"]).cells
    assert len({cell.flat["posterior.eta"] for cell in ts}) == 2
    assert set(labels_of(ts).values()) == {"exact", "mala"}
    grid = compose([*both, "posterior=ts", "posterior.eta=1,2"]).cells
    assert set(labels_of(grid).values()) == {"exact eta=1", "exact eta=2", "mala eta=1", "mala eta=2"}
