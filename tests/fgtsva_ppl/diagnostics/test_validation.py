"""The table of samplers on rewards without a closed form: its generator, its rows, and what its columns see."""

import jax.numpy as jnp
import numpy as np
import pytest

from fgtsva_ppl.diagnostics import validation
from fgtsva_ppl.diagnostics.validation import (
    BEGIN,
    END,
    PAGE,
    GatedReference,
    Played,
    Sizes,
    cases,
    compare,
    table_rows,
    update_table,
    validated_samplers,
)
from samplers import SAMPLERS


def test_the_committed_table_has_rows_of_the_registry_only():
    rows = table_rows(PAGE.read_text())
    assert set(rows) <= {(case, name) for case in cases() for name in validated_samplers()}


def test_rows_are_replaced_and_others_kept(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\n| mlp | hmc | old |\n| gp | hmc | kept |\n{END}\nafter\n")
    update_table(page, {("mlp", "hmc"): "| mlp | hmc | new |", ("mlp", "mala"): "| mlp | mala | more |"})
    lines = page.read_text().splitlines()
    assert lines[4:7] == ["| gp | hmc | kept |", "| mlp | mala | more |", "| mlp | hmc | new |"]
    assert (lines[0], lines[-1]) == ("before", "after")


def played(values):
    ones = jnp.ones(len(values))
    return Played(jnp.asarray(values), 0.8 * ones, 0 * ones, 20 * ones)


def test_the_columns_see_a_shift_a_wrong_spread_and_chains_that_disagree():
    rng = np.random.default_rng(3)
    reference = GatedReference(rng.normal(size=(4000, 5)) @ rng.normal(size=(5, 5)), "")
    exact = reference.values[rng.integers(4000, size=(64, 8))]
    good = compare(played(exact), reference)
    assert good.mean_error < 0.15
    assert abs(good.sd_ratio - 1) < 0.1
    assert good.rhat < 1.1
    assert good.total_variation < 2 * good.floor
    centre = reference.values.mean(0)
    assert compare(played(centre + 0.5 * (exact - centre)), reference).sd_ratio == pytest.approx(
        0.5, abs=0.05
    )
    assert compare(played(exact + reference.values.std(0)), reference).mean_error > 0.4
    assert compare(played(np.repeat(exact[:, :1], 8, axis=1)), reference).rhat > 2
    assert np.isnan(compare(played(exact), reference._replace(rejection="R-hat")).mean_error)


def test_every_adjusted_sampler_is_validated_and_no_control():
    adjusted = {name for name, cls in SAMPLERS if cls.info.family == "Metropolis-adjusted"}
    assert adjusted <= set(validated_samplers())
    assert not {"exact", "control"} & set(validated_samplers())


@pytest.mark.slow
def test_the_generator_at_a_tiny_size(monkeypatch, tmp_path):
    """gp has exact draws; MALA agrees with them."""
    page = tmp_path / "page.md"
    page.write_text(f"{BEGIN}\n{END}\n")
    update_table(page, validation.validate(["mala"], ["gp"], Sizes(num_rounds=8, num_agents=16, num_draws=4)))
    ((key, row),) = table_rows(page.read_text()).items()
    assert key == ("gp", "mala")
    acceptance, _, _, mean_error = (float(column) for column in row.split("|")[3:7])
    assert 0.3 < acceptance < 1
    assert mean_error < 1
