"""Likelihoods as part of an agent: its target, its messages, ask and tell, files, the command line."""

import json
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from scipy import special, stats

from experiments.config.compose import compose
from fgtsva_ppl import (
    FGTSB,
    FGTSVA,
    MLP,
    TS,
    Bernoulli,
    Contextual,
    Linear,
    Logistic,
    Modelled,
    Poisson,
    Round,
    Sparse,
    StudentT,
    Thompson,
    ThompsonAgent,
    simulate,
)
from fgtsva_ppl.likelihoods import OwnLikelihood
from fgtsva_ppl.posteriors.history import ReplayBuffer
from fgtsva_ppl.rewards import LogLinear
from fgtsva_ppl.simulation import check
from fgtsva_ppl.types import Shape
from samplers import Laplace
from samplers.errors import InputError

README = Path(__file__).parents[3] / "fgtsva_ppl" / "README.md"
RNG = np.random.default_rng(3)
ROUNDS, ARMS, DIM = 7, 4, 3
FEATURES = RNG.normal(size=(ROUNDS + 1, ARMS, DIM))
ARM = RNG.integers(ARMS, size=ROUNDS)
POINT = np.array([0.4, -0.7, 0.2])
SHAPE = Shape(ARMS, DIM, fixed_actions=False, linear=False)


def evaluate(agent, rewards, points):
    """Log-density, gradient, minibatch gradient and precision after some rounds, with spare room in the history."""

    @jax.jit
    def play(features, arms, rewards, points):
        def turn(state, datum):
            actions, arm, reward = datum
            return agent.update(state, agent.embed(Round(actions, jnp.asarray(0.5))), arm, reward), None

        start = agent.grow(agent.start(jax.random.key(0), SHAPE), ROUNDS + 3)
        state, _ = jax.lax.scan(turn, start, (features[:-1], arms, rewards))
        target = agent.target(state, agent.embed(Round(features[-1], jnp.asarray(0.5))))
        x = points[0]
        gradient = jax.grad(target.logdensity)(x)
        minibatch = target.minibatch_gradient(jax.random.key(1), x, ROUNDS + 2)
        return state, jax.lax.map(target.logdensity, points), gradient, minibatch, target.precision(x)

    return play(*map(jnp.asarray, (FEATURES, ARM, rewards, points)))


@pytest.mark.parametrize(
    ("reward", "likelihood", "rewards", "mean", "logpdf"),
    [
        (Logistic(), Bernoulli(eta=0.7), RNG.integers(2, size=ROUNDS) * 1.0, special.expit, stats.bernoulli.logpmf),
        (LogLinear(), Poisson(eta=0.7), RNG.poisson(2, size=ROUNDS) * 1.0, np.exp, stats.poisson.logpmf),
        (Linear(prior_scale=1.0), StudentT(df=3.0, scale=0.5, eta=0.7), RNG.normal(size=ROUNDS), lambda x: x,
         lambda r, m: stats.t.logpdf(r, 3.0, m, 0.5)),
    ],
    ids=["bernoulli", "poisson", "student_t"],
)  # fmt: skip
def test_the_target_is_prior_plus_tempered_likelihood_plus_bonus(reward, likelihood, rewards, mean, logpdf):
    """By SciPy; the bonus goes with any likelihood, and a batch that holds all data gives the exact gradient."""
    agent = Thompson(reward, FGTSB(lam=0.3), Laplace(), likelihood=likelihood)
    points = np.array([POINT, 2 * POINT, -POINT])
    state, values, gradient, minibatch, precision = evaluate(agent, rewards, points)
    assert isinstance(state.history.data, ReplayBuffer)
    pulled = FEATURES[np.arange(ROUNDS), ARM]

    def expected(theta):
        return (
            np.sum(stats.norm.logpdf(theta))
            + 0.7 * np.sum(logpdf(rewards, mean(pulled @ theta)))
            + 0.3 * np.max(mean(FEATURES[-1] @ theta))
        )

    constants = values - np.array([expected(x) for x in points])
    np.testing.assert_allclose(constants, constants[0], rtol=1e-9)
    h = 1e-6
    differences = [(expected(POINT + h * e) - expected(POINT - h * e)) / (2 * h) for e in np.eye(DIM)]
    np.testing.assert_allclose(gradient, differences, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(minibatch, gradient, rtol=1e-9)
    information = np.asarray(likelihood.information(jnp.asarray(pulled @ POINT)))
    np.testing.assert_allclose(precision, np.eye(DIM) + 0.7 * (pulled.T * information) @ pulled, rtol=1e-9)


def own(dim):
    theta = numpyro.sample("theta", dist.Normal(0, 1).expand([dim]).to_event(1))
    return lambda features: dist.Bernoulli(logits=features @ theta)


@pytest.mark.parametrize(
    ("agent", "message"),
    [
        (Thompson(Logistic(), likelihood=Bernoulli()), "bernoulli needs rewards that are 0 or 1, and environment Con"),
        (Thompson(LogLinear(), likelihood=Poisson()), r"poisson needs rewards that are counts \(0, 1, 2, ...\), and"),
        (Thompson(MLP(2), likelihood=Bernoulli()), "between 0 and 1, and reward MLP leaves them: use reward log"),
        (Thompson(MLP(2), likelihood=Poisson()), "reward MLP has negative ones: use reward loglinear, or"),
        (Thompson(Logistic(), likelihood=Bernoulli(output="logit")), "a link of its own: leave likelihood.output=mean"),
        (Thompson(Logistic(), FGTSVA(variance=Modelled()), likelihood=Bernoulli()), "noise of the squared loss"),
        (Thompson(Logistic(), TS(eta=0.1), likelihood=Bernoulli()), "posterior.eta is the weight of the squared loss"),
        (Thompson(own), "reward own has an observation model of its own: set likelihood=own"),
        (Thompson(Logistic(), likelihood=OwnLikelihood()), "likelihood=own needs a reward program that observes"),
    ],
)  # fmt: skip
def test_what_does_not_fit_together_is_said_in_one_line(agent, message):
    with pytest.raises(InputError, match=message) as error:
        check(Contextual(dim=DIM, arms=ARMS), agent, 3)
    assert "\n" not in str(error.value)


def test_a_simulation_checks_rewards_without_being_asked():
    agent = Thompson(Logistic(), likelihood=Bernoulli())
    with pytest.raises(InputError, match="environment Sparse pays"):
        simulate(Sparse(dim=2), agent, rounds=2, runs=1)


def test_rewards_are_checked_when_told_and_files_name_the_likelihood(tmp_path):
    agent = ThompsonAgent(Logistic(), FGTSVA(), Laplace(num_iterations=2), likelihood=Bernoulli(eta=0.5))
    agent.ask(FEATURES[0], 0.5)
    for wrong in (0.3, 2):
        with pytest.raises(InputError, match=f"rewards that are 0 or 1, and tell pays {wrong}"):
            agent.tell(wrong)
        with pytest.raises(InputError, match="0 or 1"):
            agent.tell_all({0: wrong})
    agent.tell(1)
    agent.save(tmp_path / "agent")
    loaded = ThompsonAgent.load(tmp_path / "agent")
    assert loaded.settings.likelihood == Bernoulli(eta=0.5)
    assert [agent.ask(FEATURES[1], 0.5)] == [loaded.ask(FEATURES[1], 0.5)]
    # A file from before there were likelihoods has the squared loss.
    with np.load(tmp_path / "agent") as file:
        arrays = dict(file)
    about = json.loads(str(arrays["about"]))
    del about["parts"]["likelihood"]
    with (tmp_path / "old").open("wb") as file:
        np.savez(file, **arrays | {"about": np.array(json.dumps(about))})
    assert ThompsonAgent.load(tmp_path / "old").settings.likelihood.conjugate


def test_likelihood_is_a_group_of_the_command_line():
    overrides = ["environment=logistic", "reward=logistic", "sampler=mala", "rounds=3", "runs=1"]
    plain, bernoulli = compose([*overrides, "likelihood=squared,bernoulli", "likelihood.eta=0.5"]).cells
    assert "likelihood" not in plain.parts  # so that older folders and their ids stay valid
    assert plain.id == compose(overrides).cells[0].id
    assert plain.agent.likelihood.conjugate
    assert bernoulli.flat["likelihood"] == "bernoulli"
    assert bernoulli.agent.likelihood == Bernoulli(eta=0.5)
    with pytest.raises(
        InputError, match=r"unknown likelihood 'binomial'.*valid: squared, bernoulli, poisson"
    ):
        compose([*overrides, "likelihood=binomial"])


def test_the_example_in_the_readme_runs():
    (code,) = re.findall(r"## Likelihoods\n.*?```python\n(.*?)```", README.read_text(), re.DOTALL)
    scope = {}
    exec(code, scope)
    agent = scope["agent"]
    assert agent.settings.model(2, 2).observed
    assert not agent.pending
    assert np.asarray(agent._state.history.data.rewards)[0] == 1
