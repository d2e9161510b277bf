"""The table of samplers on rewards without a closed form: its generator, its rows, and what its columns see."""

import jax.numpy as jnp
import numpy as np
import pytest

from fgtsva_ppl.diagnostics.long_runs import rows_of
from fgtsva_ppl.diagnostics.validation import GatedReference, Played, Sizes, compare, validate
from fgtsva_ppl.diagnostics.validation_cases import cases
from fgtsva_ppl.diagnostics.validation_page import (
    BEGIN,
    END,
    LONG_BEGIN,
    LONG_END,
    PAGE,
    REFERENCES_BEGIN,
    REFERENCES_END,
    long_rows,
    reference_rows,
    table_rows,
    update_long_runs,
    update_references,
    update_table,
    validated_samplers,
)
from samplers import SAMPLERS

MAIN = (
    "mala",
    "hmc",
    "nuts",
    "barker",
    "mclmc",
)  # those that must be in the committed tables, on all rewards

NOT_GENERATED = pytest.mark.xfail(
    reason="VALIDATION.md has not been generated", strict=True, raises=AssertionError
)


def between(begin, end, page=PAGE):
    return page.read_text().split(begin)[1].split(end)[0]


def numbers(row):
    """The columns of a row that are numbers."""
    columns = [column.strip() for column in row.split("|")]
    return [float(column) for column in columns if column.replace(".", "", 1).isdigit()]


@NOT_GENERATED
def test_the_committed_table_has_all_rewards_and_the_main_samplers():
    rows = table_rows(between(BEGIN, END))
    assert set(rows) <= {(case, name) for case in cases() for name in validated_samplers()}
    assert {(case, name) for case in cases() for name in MAIN} <= set(rows)
    assert all(numbers(row) for row in rows.values())


@NOT_GENERATED
def test_every_class_has_a_reference_or_the_reason_why_not():
    references = reference_rows(between(REFERENCES_BEGIN, REFERENCES_END))
    assert set(references) == set(cases())
    rows = table_rows(between(BEGIN, END))
    for case, reference in references.items():
        passed = "passed" in reference or "exact draws" in reference
        assert passed or "of the reference" in reference  # a reason of the gate
        assert all((len(numbers(row)) >= 7) == passed for key, row in rows.items() if key[0] == case)


def test_rows_are_replaced_and_others_kept(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(f"before\n{BEGIN}\n| mlp 8 | hmc | old |\n| gp | hmc | kept |\n{END}\nafter\n")
    update_table(
        page, {("mlp 8", "hmc"): "| mlp 8 | hmc | new |", ("mlp 8", "mala"): "| mlp 8 | mala | more |"}
    )
    lines = page.read_text().splitlines()
    assert lines[4:7] == ["| gp | hmc | kept |", "| mlp 8 | mala | more |", "| mlp 8 | hmc | new |"]
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
def test_the_generator_at_a_tiny_size(tmp_path):
    """gp has exact draws; MALA agrees with them."""
    page = tmp_path / "page.md"
    marks = (BEGIN, END, REFERENCES_BEGIN, REFERENCES_END, LONG_BEGIN, LONG_END)
    page.write_text("\n".join(marks))
    reference, rows = validate(["mala"], "gp", Sizes(num_rounds=8, num_agents=16, num_draws=4))
    update_references(page, {"gp": reference})
    update_table(page, rows)
    update_long_runs(page, rows_of("gp", "mala", 8))
    ((key, row),) = table_rows(between(BEGIN, END, page)).items()
    assert key == ("gp", "mala")
    assert "exact draws" in reference_rows(between(REFERENCES_BEGIN, REFERENCES_END, page))["gp"]
    acceptance, _, _, mean_error = numbers(row)[:4]
    assert 0.3 < acceptance < 1
    assert mean_error < 1
    assert {noise for _, _, noise in long_rows(between(LONG_BEGIN, LONG_END, page))} == {
        "revealed",
        "constant",
        "sparse",
    }
