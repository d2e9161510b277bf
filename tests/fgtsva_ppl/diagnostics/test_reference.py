"""The reference that accuracy is measured against: the gate of MCMC references, and what a rejected one affects."""

import jax
import numpy as np
import pytest
from scipy import stats

from experiments.config.compose import compose
from experiments.execute import diagnose
from fgtsva_ppl import FGTSVA, MALA, Sparse, Thompson, simulate
from fgtsva_ppl.diagnostics import ProbeSizes, Samples, Values, probe, quality
from fgtsva_ppl.diagnostics.mixing import mixing
from fgtsva_ppl.diagnostics.reference import rejection_reason
from fgtsva_ppl.simulation import Snapshot
from samplers import Draw


def test_the_gate_rejects_divergences_separated_chains_and_random_walks():
    rng = np.random.default_rng(8)
    good = rng.normal(size=(4, 1000, 2))
    assert rejection_reason(good, 0) == ""
    assert rejection_reason(good, 3) == "3 transitions of the reference diverged"
    assert "R-hat" in rejection_reason(good + 5 * np.arange(4)[:, None, None], 0)
    walk = np.cumsum(rng.normal(size=(4, 1000, 2)), axis=1)
    assert rejection_reason(walk, 0) != ""


def separated_chains(distance):
    """Four chains of independent draws, their means at equal distances in units of the standard deviation."""
    rng = np.random.default_rng(15)
    chains = rng.normal(size=(4, 1000, 2))
    chains -= chains.mean(axis=1, keepdims=True)
    chains[..., 0] += distance * np.arange(4)[:, None]
    return chains


@pytest.mark.parametrize(
    ("distance", "low", "high", "accepted"),
    [(0.11, 1.008, 1.01, True), (0.12, 1.01, 1.011, False), (0.2, 1.02, 1.05, False)],
)
def test_the_gate_is_at_an_rhat_of_1_01(distance, low, high, accepted):
    """Chains that a gate at 1.05 would pass are rejected, because of their R-hat; chains just below 1.01 pass."""
    chains = separated_chains(distance)
    rhat = float(mixing(chains).rhat)
    assert low < rhat < high
    reason = f"R-hat {rhat:.3f} of the reference is not below 1.01"
    assert rejection_reason(chains, 0) == ("" if accepted else reason)


def chains_without_rhat(draws):
    """Chains whose halves all hold the same values in random order: R-hat is below 1, ESS at most 4 x draws."""
    half = stats.norm.ppf((np.arange(draws // 2) + 0.5) / (draws // 2))
    values = np.broadcast_to(half, (4, 2, 2, draws // 2))
    shuffled = np.random.default_rng(8).permuted(values, axis=-1)
    return shuffled.reshape(4, 2, draws).swapaxes(1, 2)


@pytest.mark.parametrize(
    ("draws", "low", "high", "accepted"),
    [(90, 350, 370, False), (96, 380, 400, False), (104, 400, 420, True)],
)
def test_the_gate_is_at_an_ess_of_400(draws, low, high, accepted):
    chains = chains_without_rhat(draws)
    rhat, ess_bulk, ess_tail, _, _ = mixing(chains)
    ess = min(ess_bulk, ess_tail)
    assert rhat < 1.01
    assert low < ess < high
    reason = f"effective sample size {ess:.0f} of the reference is not above 400"
    assert rejection_reason(chains, 0) == ("" if accepted else reason)


def test_the_gate_requires_bulk_and_tail_ess():
    """A slow bulk with independent outliers lowers the bulk ESS only, outliers in bursts lower the tail ESS only."""
    rng = np.random.default_rng(16)
    noise = rng.normal(size=(4, 600, 1))
    block = np.arange(600)[:, None] // 50  # the same in all chains, so that R-hat is near 1
    outlier = rng.uniform(size=noise.shape) < 0.2
    slow_bulk = np.where(outlier, 20 * rng.normal(size=noise.shape), noise + np.where(block % 2, 2, -2))
    slow_tail = np.where(block % 10 == 0, 20.0, 1.0) * noise
    for chains, small, large in ((slow_bulk, "ess_bulk", "ess_tail"), (slow_tail, "ess_tail", "ess_bulk")):
        diagnosed = mixing(chains)._asdict()
        assert diagnosed["rhat"] < 1.01
        assert diagnosed[small] < 400 < diagnosed[large]
        assert rejection_reason(chains, 0).startswith(f"effective sample size {diagnosed[small]:.0f} ")


def sample_draw(rng, *shape, size=2, energy=True):
    """A draw with synthetic costs."""
    energies = np.ones(shape) if energy else float("nan")
    return Draw(rng.normal(size=(*shape, size)), np.ones(shape), np.zeros(shape), np.ones(shape), energies)


def test_a_rejected_reference_is_not_used():
    rng = np.random.default_rng(9)
    separated = rng.normal(size=(4, 100, 2)) + 5 * np.arange(4)[:, None, None]
    actions = rng.integers(0, 3, 400)
    samples = Samples(
        replicas=sample_draw(rng, 64),
        actions=actions[:64],
        reference=separated,
        reference_actions=actions,
        reference_divergent=np.zeros((), int),
        superchains=rng.normal(size=(8, 8, 2)),
        chains=sample_draw(rng, 4, 50),
        condition_number=np.ones(()),
        best_arm=np.asarray(1),
        arm_mask=np.ones(3),
    )
    diagnosed = quality(jax.tree.map(lambda x: np.asarray(x)[None], samples))
    assert "R-hat" in diagnosed.rejections[0]
    assert np.isnan(diagnosed.reference_probabilities).all()
    assert np.isnan(diagnosed.metrics["total_variation"])
    assert diagnosed.action_probabilities.sum() == pytest.approx(1)


def network_like(rng, **changes):
    """Samples of two hidden units that may change places: chains stay in one order, their sum has one distribution."""
    runs, arms = 2, 3

    def draws(*shape):
        """Parameters in a fixed order per chain, and mean rewards, which do not depend on it."""
        parts = np.sort(rng.normal(size=(runs, *shape, 2)), axis=-1)
        swapped = np.broadcast_to(rng.random((runs, shape[0], *[1] * len(shape))) < 0.5, parts.shape)
        rewards = parts.sum(axis=-1, keepdims=True) * np.arange(1, arms + 1)
        return np.where(swapped, parts[..., ::-1], parts), rewards + 0.3 * rng.normal(size=rewards.shape)

    (replicas, replica_values), (superchains, superchain_values) = draws(64), draws(8, 8)
    (chains, chain_values), (reference, reference_values) = draws(4, 50), draws(4, 1000)
    values = Values(
        replica_values, superchain_values, chain_values, reference_values, rng.normal(size=(runs, 4, 1000))
    )._replace(**changes)
    unit = np.ones((runs, 4, 50))
    return Samples(
        replicas=Draw(replicas, *np.ones((3, runs, 64))),
        actions=np.argmax(values.replicas, axis=-1),
        reference=reference,
        reference_actions=np.argmax(values.reference, axis=-1).reshape(runs, -1),
        reference_divergent=np.array([0, 0]),
        superchains=superchains,
        chains=Draw(chains, unit, unit, unit, np.nan * unit),
        condition_number=np.ones(runs),
        best_arm=np.zeros(runs, int),
        arm_mask=np.ones((runs, arms)),
        values=values,
    )


def test_symmetric_modes_pass_the_gate_by_their_mean_rewards():
    samples = network_like(np.random.default_rng(21))
    assert "R-hat" in quality(samples._replace(values=None)).rejections[0]
    diagnosed = quality(samples)
    assert diagnosed.rejections == ["", ""]
    assert np.all(diagnosed.metrics["rhat"] < 1.1)
    assert np.all(np.abs(diagnosed.metrics["sd_ratio"] - 1) < 0.3)
    assert np.all(diagnosed.metrics["mean_error"] < 0.4)


@pytest.mark.parametrize("what", ["rewards", "log-density", "stuck", "divergent"])
def test_the_gate_of_mean_rewards_refuses(what):
    """One bad chain of four in the second run: shifted by half a standard deviation, or always at the same point."""
    good = network_like(np.random.default_rng(22))
    reference, logdensity = good.values.reference.copy(), good.values.reference_logdensity.copy()
    num_divergent = np.array([0, 0])
    if what == "rewards":
        reference[1, 0, :, 2] += 0.5 * reference[1, 0, :, 2].std()
    elif what == "log-density":
        logdensity[1, 0] += 0.5
    elif what == "stuck":
        reference[1, 0] = reference[1, 0, :1]
    else:
        num_divergent = np.array([0, 1])
    values = good.values._replace(reference=reference, reference_logdensity=logdensity)
    first, second = quality(good._replace(values=values, reference_divergent=num_divergent)).rejections
    assert first == ""
    assert second.startswith("1 transitions" if what == "divergent" else "R-hat")


def test_a_study_reports_a_rejected_reference(monkeypatch):
    (cell,) = compose(["sampler=mala", "environment=sparse", "rounds=9", "runs=2"]).cells
    rng = np.random.default_rng(14)
    reference = rng.normal(size=(2, 4, 400, 5))
    reference[1] += 5 * np.arange(4)[:, None, None]  # every chain at a mode of its own
    actions = rng.integers(0, 32, size=(2, 1600))
    samples = Samples(
        replicas=sample_draw(rng, 2, 64, size=5),
        actions=actions[:, :64],
        reference=reference,
        reference_actions=actions,
        reference_divergent=np.zeros(2, int),
        gradient_norm=np.ones(2),
        superchains=rng.normal(size=(2, 8, 8, 5)),
        chains=sample_draw(rng, 2, 4, 50, size=5),
        condition_number=np.ones(2),
        best_arm=np.ones(2, int),
        arm_mask=np.ones((2, 32)),
    )
    monkeypatch.setattr(diagnose, "probe_async", lambda *_, **__: lambda: samples)
    groups = diagnose.diagnose(cell, [Snapshot(9, None)], 2, lambda: None)
    message = "no reference for 1 of 2 probed rounds: R-hat"
    assert groups["diagnostics"].attrs["rejections"].startswith(message)
    assert np.isnan(groups["diagnostics"]["total_variation"].values).ravel().tolist() == [False, True]
    assert np.isnan(groups["diagnostics"]["action_probability_exact"].values[1]).all()


def test_costs_and_probabilities_are_those_of_the_draws():
    """Acceptance and divergences of the replicas; effective draws over all gradients of the chains."""
    rng = np.random.default_rng(13)
    position, shape = rng.normal(size=(1, 4, 50, 2)), (1, 4, 50)
    chains = Draw(position, np.full(shape, 0.9), np.zeros(shape), np.full(shape, 3), np.full(shape, np.nan))
    replicas = Draw(
        rng.normal(size=(1, 64, 2)), np.full((1, 64), 0.5), np.full((1, 64), 0.25), np.ones((1, 64))
    )
    samples = Samples(
        replicas=replicas,
        actions=np.array([[0] * 48 + [2] * 16]),
        reference=rng.normal(size=(1, 400, 2)),
        reference_actions=np.array([[0] * 100 + [2] * 300]),
        reference_divergent=np.zeros(1, int),
        superchains=rng.normal(size=(1, 8, 8, 2)),
        chains=chains,
        condition_number=np.array([7.0]),
        best_arm=np.array([2]),
        arm_mask=np.ones((1, 3)),
    )
    metrics = quality(samples).metrics
    known = {
        "acceptance_rate": 0.5,
        "num_divergent": 0.25,
        "best_arm": 0.25,
        "best_arm_exact": 0.75,
        "total_variation": 0.5,
    }
    for name, value in known.items():
        assert metrics[name] == pytest.approx(value)
    assert metrics["ess_per_gradient"] == pytest.approx(metrics["ess_bulk"] / 600)
    assert np.isnan(metrics["ebfmi"])
    assert metrics["condition_number"] == 7
    gradient_free = samples._replace(chains=chains._replace(num_gradients=np.zeros(shape)))
    assert np.isnan(quality(gradient_free).metrics["ess_per_gradient"])


@pytest.mark.slow
def test_without_exact_draws_a_gated_reference_is_used():
    posterior = FGTSVA(c=0.01, maximum="logsumexp")
    agent = Thompson(posterior=posterior, sampler=MALA()).for_horizon(20)
    simulation = simulate(Sparse(dim=3), agent, rounds=20, runs=2, probes=[20])
    sizes = ProbeSizes(num_replicas=256)
    samples = probe(Sparse(dim=3), agent, simulation.snapshots[0], runs=2, seed=0, sizes=sizes)
    diagnosed = quality(samples)
    assert diagnosed.rejections == ["", ""]
    assert np.all(diagnosed.metrics["total_variation"] < 0.15)
    for probabilities in (diagnosed.action_probabilities, diagnosed.reference_probabilities):
        np.testing.assert_allclose(probabilities.sum(axis=1), 1)
