"""Reward classes beyond the linear one, rewards given as functions, and programs rejected before compiling."""

import csv
import importlib
import sys

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
import yaml
from helpers.played_rounds import rest_is_slow
from scipy import stats

from experiments.cli import commands
from experiments.config.cell import Cell
from experiments.execute.diagnose import _chains
from fgtsva_ppl import MALA, REWARDS, TS, Contextual, Exact, InputError, Thompson, ThompsonAgent
from fgtsva_ppl.diagnostics import Samples
from fgtsva_ppl.posteriors.history import ReplayBuffer
from fgtsva_ppl.posteriors.loss import gauss_newton
from fgtsva_ppl.rewards import GP, MLP, Hierarchical, LinearFunction, Logistic, NoisyFunction, flat_model
from fgtsva_ppl.simulation import check, play_rounds
from fgtsva_ppl.types import Round
from samplers import Draw
from samplers.registry import Registry

DIM, ARMS = 3, 4
FEATURES = jnp.asarray(np.random.default_rng(0).normal(size=(ARMS, DIM)))


@pytest.mark.parametrize("name", rest_is_slow(REWARDS.names(), ["logistic", "hierarchical", "gp"]))
def test_every_reward_runs_with_every_kind_of_round(name):
    dim = ARMS  # per_arm needs a block of features for each arm
    check(Contextual(dim=dim, arms=ARMS), Thompson(reward=REWARDS.build(name)), rounds=5)


def test_a_logistic_reward_is_a_probability():
    model = flat_model(Logistic(), DIM)
    theta = jnp.asarray([0.5, -2.0, 1.0])
    expected = 1 / (1 + np.exp(-np.asarray(FEATURES @ theta)))
    np.testing.assert_allclose(model.function(theta)(FEATURES), expected, rtol=1e-12)
    np.testing.assert_allclose(model.prior.precision, np.eye(DIM), atol=1e-9)
    assert model.gaussian is None  # Gaussian, but not the coefficients of a linear function


@pytest.mark.slow
def test_a_network_has_the_configured_layers():
    model = flat_model(MLP(width=2, depth=2), DIM)
    assert model.size == (DIM * 2 + 2) + (2 * 2 + 2) + (2 + 1)
    position = model.draw(jax.random.key(0))
    sites = jax.tree.map(np.asarray, model.constrain(position))
    hidden = np.asarray(FEATURES)
    for layer in range(2):
        hidden = np.tanh(hidden @ sites[f"weights_{layer}"] + sites[f"bias_{layer}"])
    expected = hidden @ sites["weights_2"][:, 0] + sites["bias_2"][0]
    np.testing.assert_allclose(model.function(position)(FEATURES), expected, rtol=1e-12)
    precision = np.diagonal(model.prior.precision)  # bias_0, bias_1, bias_2, weights_0, weights_1, weights_2
    np.testing.assert_allclose(precision, [1] * 5 + [DIM] * DIM * 2 + [2] * 4 + [2] * 2, rtol=1e-9)


def test_the_covariance_of_the_gaussian_process_is_its_kernel():
    reward = GP(features=20_000, lengthscale=1.5, amplitude=2.0)
    lifted = np.asarray(reward.embedded(ARMS, DIM).embed(FEATURES))
    distance = np.linalg.norm(np.asarray(FEATURES)[:, None] - np.asarray(FEATURES), axis=-1)
    # a product of two features has variance below 1: 20,000 of them give an error of 0.007, of which this is five
    np.testing.assert_allclose(lifted @ lifted.T, np.exp(-(distance**2) / (2 * 1.5**2)), atol=0.035)


def test_the_gaussian_process_keeps_sums_and_has_exact_draws():
    agent = Thompson(reward=GP(features=5, amplitude=2.0), posterior=TS(), sampler=Exact())
    model = agent.model(ARMS, DIM)
    np.testing.assert_allclose(model.gaussian.precision, np.eye(5) / 4, atol=1e-12)
    state = agent.start(jax.random.key(0), Contextual(dim=DIM, arms=ARMS).shape)
    seen = agent.embed(Round(FEATURES, jnp.asarray(1.0)))
    state = agent.update(state, seen, jnp.asarray(1), jnp.asarray(0.7))
    target = agent.target(state, seen)
    row = model.embed(FEATURES)[1]
    np.testing.assert_allclose(target.gaussian.precision, np.eye(5) / 4 + jnp.outer(row, row), rtol=1e-12)
    assert target.exact is not None


def test_biases_of_arms_come_from_a_common_prior():
    model = flat_model(Hierarchical(bias_scale=2.0), DIM, ARMS)
    assert model.linear
    assert model.gaussian is None
    assert model.size == DIM + ARMS + 2
    rng = np.random.default_rng(1)
    mean, log_scale, standard, theta = rng.normal(), rng.normal(), rng.normal(size=ARMS), rng.normal(size=DIM)
    position = jnp.asarray([mean, log_scale, *standard, *theta])  # sites in alphabetical order
    there = jax.tree.map(np.asarray, model.constrain(position))
    bias = mean + np.exp(log_scale) * standard
    assert set(there) == {"bias", "bias_mean", "bias_scale", "bias_standard", "theta"}
    np.testing.assert_allclose(there["bias"], bias, rtol=1e-12)
    values = model.function(position)(model.embed(FEATURES))
    np.testing.assert_allclose(values, np.asarray(FEATURES) @ theta + bias, rtol=1e-12)
    expected = (
        stats.norm(0, 2).logpdf(mean)
        + stats.halfnorm(scale=2).logpdf(np.exp(log_scale))
        + log_scale  # d scale / d log_scale
        + np.sum(stats.norm.logpdf(standard))
        + np.sum(stats.norm(0, DIM**-0.5).logpdf(theta))
    )
    np.testing.assert_allclose(model.logdensity(model.program)(position), expected, rtol=1e-12)


def test_stored_chains_have_the_names_of_the_sites():
    numbers = {"rounds": 5, "runs": 1, "seed": 0, "precision": "float64"}
    parts = {"environment": {"name": "contextual", "dim": DIM, "arms": ARMS}, "agent": {"name": "thompson"}}
    parts |= {"posterior": {"name": "ts"}, "sampler": {"name": "mala"}, "reward": {"name": "hierarchical"}}
    cell = Cell(parts, **numbers)
    size = cell.agent.model(ARMS, DIM).size
    positions = np.random.default_rng(0).normal(size=(2, 6, size))
    draws = Draw(positions, *(np.zeros((2, 6)) for _ in range(4)))
    groups = _chains(cell, cell.agent, 3, Samples(*[None] * 6, draws, *[None] * 3))
    posterior = groups["round_3/posterior"]
    assert posterior["theta"].shape == (2, 6, DIM)
    assert posterior["bias"].shape == (2, 6, ARMS)
    assert posterior["bias_scale"].shape == (2, 6)
    np.testing.assert_allclose(posterior["bias_scale"], np.exp(positions[..., 1]), rtol=1e-12)


def slope(dim):
    """A slope and a scale."""
    theta = numpyro.sample("theta", dist.Normal(0, 1).expand([dim]).to_event(1))
    scale = numpyro.sample("scale", dist.HalfNormal(1.0))
    return lambda features: scale * jnp.tanh(features @ theta)


def test_a_function_is_a_reward():
    model = flat_model(slope, DIM)
    assert model.size == DIM + 1
    assert flat_model(lambda: slope(DIM), DIM).size == DIM + 1  # one that knows the dimension already
    check(Contextual(dim=DIM, arms=ARMS), Thompson(reward=slope), rounds=5)


def test_a_function_can_be_registered_as_an_entry_point_is():
    registry = Registry("reward", "no.such.group", REWARDS._as_class)
    registry.register("slope", slope)
    assert registry["slope"].__doc__ == "A slope and a scale."
    assert flat_model(registry.build("slope"), DIM).size == DIM + 1
    assert registry.build("slope") == registry.build("slope")
    assert registry["slope"].__module__ == slope.__module__  # a cell's id follows the file
    with pytest.raises(InputError, match="reward 'slope' has no setting 'width'; valid: none"):
        registry.build("slope", {"width": 3})


MINE = """
import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist

def bent(dim):
    theta = numpyro.sample("theta", dist.Normal(0, 1).expand([dim]).to_event(1))
    return lambda features: jnp.tanh(features @ theta)
"""


def test_reward_of_an_installed_package_is_available_to_the_command(tmp_path, monkeypatch):
    """As pip would leave it: a module, and an entry point in the group fgtsva.rewards."""
    (tmp_path / "my_rewards.py").write_text(MINE)
    info = tmp_path / "my_rewards-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: my-rewards\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text("[fgtsva.rewards]\nbent = my_rewards:bent\n")
    monkeypatch.syspath_prepend(tmp_path)
    importlib.invalidate_caches()
    monkeypatch.setattr(REWARDS, "_classes", dict(REWARDS))
    monkeypatch.setattr(REWARDS, "_entry_points_loaded", False)
    overrides = ["reward=bent", "environment=contextual", "environment.dim=2", "environment.arms=3"]
    overrides += ["sampler=mala", "sampler.num_steps=1", "rounds=3", "runs=1", "diagnostics.runs=0"]
    monkeypatch.setattr(sys, "argv", ["fgtsva", "run", *overrides, f"output={tmp_path / 'out'}", "--quiet"])
    with pytest.raises(SystemExit, match="0"):
        commands.main()
    with open(tmp_path / "out" / "summary.csv", newline="") as table:
        (row,) = csv.DictReader(table)
    assert row["status"] == "done"
    (cell,) = yaml.safe_load((tmp_path / "out" / "config.yaml").read_text())["cells"].values()
    assert cell["reward"] == {"name": "bent"}
    sys.modules.pop("my_rewards")


def theta():
    return numpyro.sample("theta", dist.Normal(0, 1).expand([DIM]).to_event(1))


def column():
    coefficients = theta()
    return lambda features: (features @ coefficients)[:, None]


def across():
    coefficients = theta()
    return lambda features: features.sum(axis=0) * coefficients


def narrow():
    numpyro.sample("two", dist.Normal(0, 1).expand([2]).to_event(1))
    return lambda features: features @ jnp.ones(2)


def value():
    return theta()[0]


def undefined():
    coefficients = theta()
    return lambda features: jnp.log(features @ coefficients)


def one_noise():
    coefficients, scale = theta(), numpyro.sample("scale", dist.HalfNormal(1.0))
    return NoisyFunction(lambda features: features @ coefficients, lambda features: jnp.log(scale))


def endless():
    coefficients = theta()
    numpyro.factor("wall", jnp.where(coefficients[0] > 0, -jnp.inf, 0.0))
    return LinearFunction(coefficients)


@pytest.mark.parametrize(
    ("program", "message"),
    [
        (
            column,
            "reward column must give one number for each row of features: for shape (4, 3) it gives shape (4, 1)",
        ),
        (
            across,
            "reward across must give one number for each row of features: for shape (4, 3) it gives shape (3,)",
        ),
        (narrow, "reward narrow fails on features of shape (4, 3): dot_general requires"),
        (value, "reward value must return a function from features to rewards, not "),
        (endless, "reward endless: its log-density is not finite at "),
        (undefined, "reward undefined is not a finite number for the arms of the first round at "),
        (
            one_noise,
            "log_sigma of reward one_noise must give one number for each row of features: for shape (4, 3) it "
            "gives shape (), not (4,)",
        ),
    ],
)
def test_an_invalid_program_is_reported_in_one_line(program, message):
    known = play_rounds._cache_size()
    with pytest.raises(InputError) as error:
        check(Contextual(dim=DIM, arms=ARMS), Thompson(reward=program), rounds=5)
    assert str(error.value).startswith(message)
    assert "\n" not in str(error.value)
    assert play_rounds._cache_size() == known
    with pytest.raises(InputError) as error:
        ThompsonAgent(program, sampler=MALA()).ask(FEATURES, 0.5)
    assert str(error.value).startswith(message)


def test_the_curvature_is_that_of_gauss_and_newton():
    """Of a logistic reward: 2 J'WJ with J = p (1 - p) x, which is not the Hessian of the loss."""
    model, weights, rewards = flat_model(Logistic(), DIM), jnp.asarray([1.0, 2.0, 0.5, 3.0]), jnp.ones(ARMS)
    position, data = jnp.asarray([0.5, -1.0, 2.0]), ReplayBuffer(FEATURES, rewards, weights)
    p = 1 / (1 + np.exp(-np.asarray(FEATURES @ position)))
    jacobian = (p * (1 - p))[:, None] * np.asarray(FEATURES)
    expected = 2 * jacobian.T @ np.diag(weights) @ jacobian
    np.testing.assert_allclose(gauss_newton(model, data, position), expected, rtol=1e-12)
    hessian = jax.hessian(lambda x: data.loss(model.function(x)))(position)
    assert not np.allclose(hessian, expected, rtol=0.01)
