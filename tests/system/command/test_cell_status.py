"""Errors inside a cell are in the summary, the report and the exit code; other cells finish."""

import csv
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest

from experiments.cli import commands
from experiments.execute.cell_status import status_of_exception
from fgtsva_ppl import ENVIRONMENTS, REWARDS, SAMPLERS, Sparse
from fgtsva_ppl.types import Outcome
from samplers import Draw, Sampler, SamplerState
from samplers.settings import settings, traced_float

SMALL = (
    "environment=sparse",
    "environment.dim=2",
    "rounds=12",
    "runs=3",
    "diagnostics.runs=0",
    "output=here",
)


@settings
class Blank(Sampler):
    """A sampler all of whose draws are NaN."""

    rate: float = traced_float(default=1.0, doc="unused")

    def sample(self, key, target, state):
        position = jnp.full_like(state.position, jnp.nan)
        return SamplerState(position), Draw(position, jnp.asarray(jnp.nan), jnp.asarray(0), jnp.asarray(0))


@settings
class Frozen(Sampler):
    """A sampler that always returns where it started."""

    rate: float = traced_float(default=1.0, doc="unused")

    def sample(self, key, target, state):
        return state, Draw.without_acceptance(state.position)


@settings
class Diverging(Sampler):
    """A sampler that moves, but all of whose transitions diverge."""

    rate: float = traced_float(default=1.0, doc="unused")

    def sample(self, key, target, state):
        position = 0.1 * jax.random.normal(key, state.position.shape)
        draw = Draw(position, jnp.asarray(0.9), jnp.asarray(1), jnp.asarray(0))
        return SamplerState(position), draw


@settings
class Raising(Sparse):
    """An environment that raises when a round is drawn."""

    def round(self, key, instance, t):
        raise LookupError("no such shelf\nand more lines")


@settings
class Voiceless(Sparse):
    """An environment whose mean rewards are not numbers."""

    def round(self, key, instance, t):
        seen, outcome = super().round(key, instance, t)
        return seen, Outcome(outcome.means * jnp.nan, outcome.rewards)


def impossible(dim):
    theta = numpyro.sample("theta", dist.Normal(0, 1).expand([dim]).to_event(1))
    numpyro.factor("nowhere", -jnp.inf)
    return lambda features: features @ theta


def enormous(dim):
    theta = numpyro.sample("theta", dist.Normal(0, 1).expand([dim]).to_event(1))
    return lambda features: 1e200 * (2 + jnp.tanh(features @ theta))


def raising(dim):
    theta = numpyro.sample("theta", dist.Normal(0, 1).expand([dim]).to_event(1))

    def function(features):
        if features.shape[0] > 4:  # only with the rows of a history, not when the program is inspected
            raise ZeroDivisionError("in a user's program")
        return features @ theta

    return function


def called_back(dim):
    """Raises while it runs, long after everything was traced and compiled."""
    theta = numpyro.sample("theta", dist.Normal(0, 1).expand([dim]).to_event(1))

    def complain(values):
        if np.shape(values)[-1] > 4:
            raise ArithmeticError("while running")
        return values

    @jax.custom_jvp
    def checked(values):
        kind = jax.ShapeDtypeStruct(values.shape, values.dtype)
        return jax.pure_callback(complain, kind, values, vmap_method="expand_dims")

    checked.defjvp(lambda primals, tangents: (checked(*primals), tangents[0]))
    return lambda features: checked(features @ theta)


@pytest.fixture
def fgtsva(capsys, monkeypatch, tmp_path):
    """Calls `fgtsva run` with these faulty parts known; gives exit code, errors, rows by a column, the report."""
    monkeypatch.chdir(tmp_path)
    REWARDS.names(), SAMPLERS.names(), ENVIRONMENTS.names()
    for registry, parts in (
        (SAMPLERS, {"blank": Blank, "frozen": Frozen, "diverging": Diverging}),
        (ENVIRONMENTS, {"raising": Raising, "voiceless": Voiceless}),
        (
            REWARDS,
            {"impossible": impossible, "enormous": enormous, "raising": raising, "called_back": called_back},
        ),
    ):
        monkeypatch.setattr(registry, "_classes", dict(registry._classes))
        for name, part in parts.items():
            registry.register(name, part)

    def call(*arguments, by):
        monkeypatch.setattr(sys, "argv", ["fgtsva", "run", *SMALL, *arguments])
        with pytest.raises(SystemExit) as stop:
            commands.main()
        with open("here/summary.csv", newline="") as file:
            rows = {row[by]: row for row in csv.DictReader(file)}
        return stop.value.code, capsys.readouterr().err, rows, Path("here/report.html").read_text()

    return call


def assert_reported(reported, bad, good, reason):
    code, err, rows, page = reported
    assert code == 1
    assert "Traceback" not in err
    assert "\n1 of 2 cells failed" in err
    assert rows[good]["status"] == "done"
    assert float(rows[good]["final_regret_mean"]) >= 0
    assert rows[bad]["status"] in ("failed", "diverged", "stuck")
    for text in (rows[bad]["reason"], err, page):
        assert reason in text
    assert "\n" not in rows[bad]["reason"]
    assert rows[good]["reason"] == ""


def test_a_sampler_that_returns_nan_is_reported(fgtsva):
    assert_reported(
        fgtsva("sampler=mala,blank", by="sampler"), "blank", "mala", "3 of 3 runs had no finite draw"
    )


def test_an_unstable_step_size_is_reported(fgtsva):
    reported = fgtsva(
        "sampler=exact,sgld",
        "sampler.step_size=1e200",
        "sampler.step_size_rule=constant",
        "sampler.num_steps=3",
        by="sampler",
    )
    assert_reported(reported, "sgld", "exact", "3 of 3 runs had no finite draw")
    assert reported[2]["sgld"]["num_resets"] == "36"


def test_a_sampler_that_accepts_nothing_is_reported(fgtsva):
    reported = fgtsva("sampler=exact,mala", "sampler.step_size=1e6", by="sampler")
    assert_reported(reported, "mala", "exact", "3 of 3 runs accept less than 1% of their proposals; try")
    assert reported[2]["mala"]["status"] == "stuck"
    assert (
        ": stuck so far, at round 3: 3 of 3 runs accept less than 1% of their proposals; try" in reported[1]
    )


def test_a_sampler_that_stays_where_it_is_is_reported(fgtsva):
    reported = fgtsva("sampler=exact,frozen", by="sampler")
    assert_reported(reported, "frozen", "exact", "3 of 3 runs return the same position in more than 95%")
    assert reported[2]["frozen"]["status"] == "stuck"
    assert ": stuck so far, at round 3: 3 of 3 runs return the same position" in reported[1]


def test_a_sampler_that_diverges_is_reported(fgtsva):
    reported = fgtsva("sampler=exact,diverging", by="sampler")
    assert_reported(
        reported, "diverging", "exact", "3 of 3 runs diverge in more than 5% of their transitions"
    )
    assert reported[2]["diverging"]["status"] == "diverged"
    assert ": diverged so far, at round 3: 3 of 3 runs diverge" in reported[1]


def test_a_log_density_of_minus_infinity_is_reported(fgtsva):
    reported = fgtsva("reward=linear,impossible", "sampler=mala", by="reward")
    assert_reported(reported, "impossible", "linear", "its log-density is not finite at 256 of 256 draws")


def test_a_study_without_any_valid_cell_is_rejected(fgtsva, capsys, monkeypatch, tmp_path):
    """One clear line and exit code 2; among cells that can run it is a failed cell, as above."""
    monkeypatch.setattr(sys, "argv", ["fgtsva", "run", *SMALL, "reward=impossible", "sampler=mala,hmc"])
    with pytest.raises(SystemExit, match="2"):
        commands.main()
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("fgtsva: reward impossible: its log-density is not finite at 256 of 256 draws")
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_a_log_density_of_minus_infinity_given_data_is_reported(fgtsva):
    plain = ("sampler.preconditioner=none", "sampler.step_size_rule=constant", "sampler.step_size=0.001")
    reported = fgtsva("reward=linear,enormous", "sampler=mala", *plain, by="reward")
    assert_reported(reported, "enormous", "linear", "3 of 3 runs ended where the log-density is -inf")


def test_a_program_that_raises_while_tracing_is_reported(fgtsva):
    reported = fgtsva("reward=raising,linear", "sampler=mala", by="reward")
    assert_reported(reported, "raising", "linear", "ZeroDivisionError: in a user")
    assert reported[2]["raising"]["final_regret_mean"] == ""


@pytest.mark.slow
def test_a_program_that_raises_at_run_time_is_reported(fgtsva):
    reported = fgtsva("reward=called_back,linear", "sampler=sgld", "sampler.num_steps=1", by="reward")
    assert_reported(reported, "called_back", "linear", "ArithmeticError: while running")


def test_an_environment_that_raises_is_reported(fgtsva):
    reported = fgtsva("environment=raising,sparse", "sampler=exact", by="environment")
    assert_reported(reported, "raising", "sparse", "LookupError: no such shelf")


def test_regret_that_is_nan_is_reported(fgtsva):
    reported = fgtsva("environment=sparse,voiceless", "sampler=exact", by="environment")
    assert_reported(reported, "voiceless", "sparse", "the regret of 3 of 3 runs is not finite")


def test_a_study_of_failed_cells_only_has_a_report(fgtsva):
    code, err, rows, page = fgtsva("sampler=mala", "reward=raising", by="sampler")
    assert code == 1
    assert "Traceback" not in err
    assert rows["mala"]["status"] == "failed"
    assert "ZeroDivisionError" in page


def test_failed_cells_are_retried(fgtsva):
    first = fgtsva("sampler=mala", "reward=raising,linear", by="reward")
    again = fgtsva("sampler=mala", "reward=raising,linear", by="reward")
    assert (first[0], first[2]) == (again[0], again[2])


def test_a_reason_is_one_line():
    assert status_of_exception(ValueError("a\nb")).reason == "ValueError: a"
    assert status_of_exception(ValueError()).reason == "ValueError"
    assert len(status_of_exception(ValueError("x" * 1000)).reason) == 200
