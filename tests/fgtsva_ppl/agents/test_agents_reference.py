"""Every baseline takes the same actions as its pseudo-code in plain NumPy, given the same draws."""

from functools import partial
from typing import Any

import helpers.transcriptions as numpy_agents
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from helpers.played_rounds import rest_is_slow

from fgtsva_ppl.agents import OFUL, SAVE, LinNATS, LinTS, LinVDTS, WeightedOFUL
from fgtsva_ppl.agents.save import at
from fgtsva_ppl.environments.linear import unit_vectors
from fgtsva_ppl.types import Round, Shape

DIM, ARMS, ROUNDS = 3, 6, 160
DELTA, NOISE = 0.05, 1.5
SHAPE = Shape(ARMS, DIM, fixed_actions=False, linear=True)


def tape(rounds: int = ROUNDS) -> dict[str, Any]:
    """Generic arms (scores tie where nothing is known yet), half of the rounds without noise, the agents' keys."""
    keys = jax.random.split(jax.random.key(7), 5)
    sigma = jnp.where(jax.random.uniform(keys[2], (rounds,)) < 0.5, 1.0, 0.0)
    return {
        "theta": unit_vectors(keys[0], (DIM,)),
        "actions": unit_vectors(keys[1], (rounds, ARMS, DIM)),
        "sigma": sigma,
        "noise": sigma * jax.random.normal(keys[3], (rounds,)),
        "keys": jax.random.split(keys[4], rounds),
    }


@jax.jit
def played(agent: Any, state: Any, tape: dict[str, Any]) -> tuple[Any, Any]:
    """Final state, and the states after each act with the actions."""

    def step(state: Any, row: Any) -> Any:
        actions, sigma, noise, key = row
        seen = Round(actions, sigma)
        state, action, _ = agent.act(key, state, seen)
        acted = state
        return agent.update(state, seen, action, actions[action] @ tape["theta"] + noise), (acted, action)

    rows = (tape["actions"], tape["sigma"], tape["noise"], tape["keys"])
    return jax.lax.scan(step, state, rows)


def transcribed(agent: Any, tape: dict[str, Any], draws: np.ndarray) -> list[int]:
    """The actions of a NumPy agent."""
    arms, sigma, noise, theta = (np.asarray(tape[k]) for k in ("actions", "sigma", "noise", "theta"))
    actions = []
    for t in range(len(arms)):
        action = agent.act(arms[t], sigma[t], draws[t])
        agent.update(arms[t], sigma[t], action, arms[t, action] @ theta + noise[t])
        actions.append(action)
    return actions


def same_actions(agent: Any, numpy_agent: Any, draw: Any = None) -> tuple[Any, Any]:
    """Plays both on the same tape and compares every action."""
    story = tape()
    draw = draw or (lambda key: jax.random.normal(key, (DIM,)))
    state, (acted, actions) = played(agent, agent.start(jax.random.key(0), SHAPE), story)
    expected = transcribed(numpy_agent, story, np.asarray(jax.vmap(draw)(story["keys"])))
    assert len(set(expected)) > 1, "a test in which one arm is played throughout shows nothing"
    np.testing.assert_array_equal(actions, expected)
    return state, acted


@pytest.mark.parametrize("radius", [1.0, 0.1])
def test_oful(radius: float) -> None:
    same_actions(
        OFUL(radius=radius, noise=NOISE, delta=DELTA, lam=0.5, norm=2.0),
        numpy_agents.OFUL(NOISE, DELTA, 0.5, 2.0, radius),
    )


def test_lints() -> None:
    same_actions(LinTS(noise=NOISE, delta=DELTA, radius=0.1), numpy_agents.LinTS(NOISE, DELTA, radius=0.1))


@pytest.mark.parametrize("cls", rest_is_slow([WeightedOFUL, LinNATS], [WeightedOFUL]))
@pytest.mark.parametrize(
    ("bound", "floor", "gamma"),
    [
        ("bernstein", True, None),
        ("bernstein", True, 0.7),
        ("subgaussian", True, None),
        ("subgaussian", False, None),
    ],
)
def test_weighted_oful(cls: Any, bound: str, floor: bool, gamma: float | None) -> None:
    radius = 0.01 if bound == "bernstein" else 1.0
    agent = cls(
        bound=bound, floor=floor, gamma=gamma, alpha=0.05, noise=NOISE, delta=DELTA, radius=radius, tail=1.0
    )
    used = (gamma or NOISE**0.5 / DIM**0.25) if floor else 0.0
    reference = numpy_agents.WeightedOFUL(
        NOISE, DELTA, 0.05, used, bound, samples=cls is LinNATS, radius=radius
    )
    state, acted = same_actions(agent, reference)
    seen = Round(jnp.zeros((ARMS, DIM)), jnp.zeros(()))
    betas = jax.vmap(lambda s: agent.beta(s, seen))(acted)
    np.testing.assert_allclose(betas, reference.betas, rtol=1e-9)
    precision, theta = numpy_agents.regression(reference.data, 1.0, DIM)
    np.testing.assert_allclose(state.ridge.precision, precision, rtol=1e-9)
    np.testing.assert_allclose(state.ridge.estimate, theta, rtol=1e-7)
    sbar = np.array([datum.weight**-0.5 for datum in reference.data])
    floored = np.sum((sbar > 0.0501) & (np.asarray(tape()["sigma"]) == 0))
    assert (floored > 0) == floor, "the floor must bind somewhere where it is on, and nowhere where it is off"


SAVE_CASES = {
    "theory": {},
    "tuned": {"radius": 1e-3},
    "estimated variance": {"radius": 0.003, "threshold": 0.0},
    "mixed variance": {"radius": 0.001, "threshold": 1.0},
    "practical": {"constants": "practical", "radius": 0.3},
    "widest": {"radius": 1e-3, "explore": "widest"},
    "uniform": {"radius": 1e-3, "explore": "uniform"},
    "sure": {"radius": 0.1, "alpha": 0.5, "layers": 3},  # branch (i) in the first layer
    "last": {"radius": 0.1, "layers": 1},  # branch (i) because there is no deeper layer
}


@pytest.mark.parametrize("cls", rest_is_slow([SAVE, LinVDTS], [SAVE]))
@pytest.mark.parametrize("case", SAVE_CASES)
def test_save(cls: Any, case: str) -> None:
    settings: dict[str, Any] = {"alpha": 1e-3, "layers": 6, **SAVE_CASES[case]}
    if cls is LinVDTS and settings.pop("explore", None):
        pytest.skip("the draw explores")
    agent = cls(noise=NOISE, delta=DELTA, **settings).for_horizon(ROUNDS)
    constant = np.sqrt(DIM * np.log(ROUNDS)) / 4 if case == "practical" else None
    reference = numpy_agents.SAVE(
        NOISE,
        DELTA,
        settings["alpha"],
        settings["layers"],
        settings.get("threshold", 64.0),
        settings.get("radius", 1.0),
        constant,
        "draw" if cls is LinVDTS else settings.get("explore", "ucb"),
    )
    draw = partial(jax.random.uniform, shape=(ARMS,)) if case == "uniform" else None
    state, acted = same_actions(agent, reference, draw)
    np.testing.assert_array_equal(acted.explores, [branch == "explore" for branch in reference.branches])
    np.testing.assert_allclose(state.beta, list(reference.beta.values()), rtol=1e-6)
    np.testing.assert_array_equal(state.pulls, [len(psi) for psi in reference.psi.values()])
    for layer in range(settings["layers"]):
        precision, theta = reference.regression(layer + 1, DIM)
        np.testing.assert_allclose(state.ridge.precision[layer], precision, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(at(state.ridge, jnp.asarray(layer)).estimate, theta, rtol=1e-6, atol=1e-9)
    if case in ("sure", "last"):
        assert set(reference.branches) == {"exploit", "explore"}
        assert np.sum(state.pulls) < ROUNDS, "branch (i) does not update"
    else:
        assert np.max(acted.layer) >= 1, "branch (ii) must be taken somewhere"
    assert (reference.eliminated > 0) == (case not in ("theory", "sure", "last")), (
        "the textbook radius keeps all arms"
    )
