"""The baseline loops run the same algorithm as this library, and `fgtsva bench` writes its measures."""

import json
import sys

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.montecarlo import SEED, assert_mean, standard_error

from experiments import bench
from experiments.bench import c_baseline, numpy_baseline, paper
from experiments.bench.draws import _untilted, predicted_acceptance
from experiments.bench.rounds import Blocks
from experiments.bench.timing import Time, at_least, at_most
from experiments.cli import commands
from fgtsva_ppl import FGTSVA, SGLD, Sparse, Thompson, simulate
from fgtsva_ppl.types import Round
from samplers.errors import InputError
from samplers.reference import tilted_gaussian

needs_compiler = pytest.mark.skipif(c_baseline.library() is None, reason="no C compiler with OpenMP")
LOOPS = [pytest.param(c_baseline, marks=needs_compiler), numpy_baseline]


@pytest.mark.parametrize("loop", LOOPS)
def test_baseline_gradient_equals_ours(loop):
    agent, environment = Thompson(posterior=FGTSVA(c=0.3), sampler=SGLD()).for_horizon(50), Sparse()
    instance = environment.start(jax.random.key(0))
    state = agent.start(jax.random.key(1), environment.shape)
    for t in range(4):
        seen, outcome = environment.round(jax.random.key(t), instance, jnp.asarray(t))
        state = agent.update(state, agent.embed(seen), jnp.asarray(7 * t), outcome.means[7 * t])
    target = agent.target(state, agent.embed(Round(seen.actions, jnp.asarray(0.0))))
    lam = float(agent.posterior.bonus_scale(state.history.total_variance, jnp.asarray(0.0)))
    precision, shift = (np.asarray(part) for part in target.gaussian)
    for key in range(3):
        theta = np.array(jax.random.normal(jax.random.key(key), (5,)))
        ours = np.asarray(jax.grad(target.logdensity)(theta))
        theirs = loop.gradient(paper.arms(), precision, shift, lam, theta)
        np.testing.assert_allclose(theirs, ours, rtol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("loop", LOOPS)
def test_baseline_regret_has_the_same_distribution_as_ours(loop):
    """Mean regret and its square root, whose tails are lighter, of runs that have nothing in common."""
    runs = {c_baseline: 2000, numpy_baseline: 100}[loop]
    theirs = loop.langevin(paper.arms(), **paper.settings(runs, rounds=40, seed=1))
    ours = paper.ours(1000, rounds=40)
    for power in (1.0, 0.5):
        assert_mean(theirs**power, np.mean(ours**power), standard_error(ours**power))


@needs_compiler
def test_c_baseline_is_reproducible():
    first, again = (c_baseline.langevin(paper.arms(), **paper.settings(6, rounds=20)) for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert np.unique(first).size > 1


@pytest.mark.parametrize("pull", [0.0, 0.5, 3.0])
def test_predicted_acceptance_is_target_mass_over_envelope_mass(pull):
    """The target's mass by plain Monte Carlo, which is accurate while the tilt is not too strong."""
    density = _untilted(8)._replace(lam=jnp.asarray(pull))
    z = jax.random.normal(jax.random.key(SEED), (20_000, density.mean.size))
    weights = np.exp(density.lam * jnp.max(density.offset + z @ density.arms.T, axis=-1))
    env, predicted = tilted_gaussian.envelopes(density), predicted_acceptance(density)
    envelope = np.exp(min(env.mixture, env.inflated))
    assert 0 < predicted.value <= 1 + 1e-9
    assert_mean(weights / envelope, predicted.value, predicted.error + 1e-12)


@pytest.mark.parametrize("arms", [1, 6])
def test_predicted_acceptance_is_one_under_a_strong_tilt(arms):
    """Under a strong tilt towards arms in different directions the mixture is nearly the target."""
    density = _untilted(arms)
    predicted = predicted_acceptance(density._replace(lam=jnp.asarray(200.0)))
    np.testing.assert_allclose(predicted.value, 1, atol=1e-3)


@needs_compiler
@pytest.mark.parametrize("dim", [1, 2, 5, 12])
def test_c_baseline_finds_the_largest_eigenvalue(dim):
    rows = np.array(jax.random.normal(jax.random.key(dim), (3 * dim, dim))) * 10.0 ** np.arange(dim)
    np.testing.assert_allclose(
        c_baseline.largest(rows.T @ rows), np.linalg.eigvalsh(rows.T @ rows)[-1], rtol=1e-9
    )


def test_blocks_environment_has_one_block_of_features_per_arm():
    environment = Blocks()
    seen, _ = environment.round(jax.random.key(0), environment.start(jax.random.key(1)), jnp.asarray(0))
    assert seen.actions.shape == (5, 20)
    assert np.linalg.matrix_rank(seen.actions) == 5
    assert float(seen.sigma) == 0.5


@pytest.mark.slow
def test_aggregated_rounds_are_sums_of_single_rounds():
    agent = Thompson(sampler=SGLD(num_steps=3))
    single = simulate(Sparse(dim=2), agent, rounds=24, runs=3)
    several = simulate(Sparse(dim=2), agent, rounds=24, runs=3, record_every=6)
    assert several.regret.shape == (3, 4)
    for name in ("regret", "num_divergent", "num_gradients", "num_resets"):
        whole = getattr(single, name).reshape(3, 4, 6).sum(axis=2)
        np.testing.assert_allclose(getattr(several, name), whole, rtol=1e-12)
    np.testing.assert_array_equal(several.action, single.action[:, 5::6])
    with pytest.raises(InputError, match="multiple"):
        simulate(Sparse(dim=2), agent, rounds=24, record_every=5)


def test_bench_writes_its_measures(tmp_path, monkeypatch, capsys):
    measures = [
        bench.Measure("ask_tell", "a [b]", 1.5, "ms"),
        at_most("ask_tell", "c", np.float64(3.0), 2),
        at_least("ask_tell", "d", np.float64(3.0), 2),
    ]
    monkeypatch.setitem(bench.PARTS, "ask_tell", lambda quick: measures)
    monkeypatch.setattr(
        sys, "argv", ["fgtsva", "bench", "ask_tell", "--quick", "--output", str(tmp_path / "b")]
    )
    with pytest.raises(SystemExit) as stop:
        commands.main()
    assert stop.value.code == 0
    measure, *others = json.loads((tmp_path / "b" / "bench.json").read_text())["measures"]
    assert measure == {
        "part": "ask_tell",
        "what": "a [b]",
        "value": 1.5,
        "unit": "ms",
        "aim": "",
        "met": None,
    }
    assert [other["met"] for other in others] == [False, True]
    assert "a [b]" in capsys.readouterr().out


def test_a_measure_that_is_not_available_is_null(tmp_path, monkeypatch):
    monkeypatch.setattr(c_baseline, "library", lambda: None)
    monkeypatch.setattr(paper, "fastest", lambda works, turns: dict.fromkeys(works, Time(1.0, 1.0)))
    monkeypatch.setattr(paper, "ours", lambda runs, rounds: None)
    missing = bench.Measure("memory", "peak", float("nan"), "MB")
    bench.write(tmp_path / "bench.json", [*paper.measure(True), missing], True)
    read = json.loads((tmp_path / "bench.json").read_text(), parse_constant=pytest.fail)["measures"]
    assert [one["what"] for one in read if one["value"] is None] == [
        "C: no compiler with OpenMP here",
        "peak",
    ]
    assert bench.table(paper.measure(True)).row_count == 4


def test_an_output_that_is_a_file_is_rejected_before_measuring(tmp_path, monkeypatch, capsys):
    monkeypatch.setitem(bench.PARTS, "ask_tell", lambda quick: pytest.fail("measured"))
    (tmp_path / "file").write_text("")
    for folder in (tmp_path / "file", tmp_path / "file" / "below"):
        monkeypatch.setattr(sys, "argv", ["fgtsva", "bench", "ask_tell", "--output", str(folder)])
        with pytest.raises(SystemExit) as stop:
            commands.main()
        assert stop.value.code == 2
        assert capsys.readouterr().err.startswith(f"fgtsva: cannot write to --output {folder}: ")


def test_an_unknown_part_is_rejected():
    with pytest.raises(
        InputError, match=r"unknown part 'papper' \(did you mean 'paper'\?\); valid: paper, sizes, linear"
    ):
        bench.chosen(["papper"])


@pytest.mark.slow
@pytest.mark.parametrize("part", bench.PARTS)
def test_every_part_measures_something(part):
    """Aims that are counts are met; times may vary."""
    measures = bench.PARTS[part](True)
    assert measures
    for measure in measures:
        assert measure.part == part
        assert measure.value is None or np.isfinite(measure.value)
        if measure.unit in ("programs", "errors", "MB") or "working memory" in measure.what:
            assert measure.met is not False, measure
