"""Cost of a round early and late in a run, for linear and for general rewards."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Key

from experiments.bench.timing import Measure, at_most, fastest
from fgtsva_ppl import AGENTS, ENVIRONMENTS, FGTSVA, HMC, MLP, SGLD, TS, Estimated, Thompson
from fgtsva_ppl.agents.thompson import ThompsonState
from fgtsva_ppl.environments.linear import LinearEnvironment
from fgtsva_ppl.environments.noise import ConstantNoise, StationaryNoise
from fgtsva_ppl.simulation import reveal
from fgtsva_ppl.types import Shape
from samplers.settings import settings, static_int, traced_float

ARMS, CONTEXT = 5, 4
NOISE = 0.5
ROUNDS_TIMED = 64  # rounds per timing
RUNS = 4
TURNS = 5
EARLY = 100  # rounds


@settings
class Blocks(LinearEnvironment):
    """A disjoint linear bandit: a context of 4 numbers in the block of one of 5 arms, d = 20, noise 0.5."""

    arms: int = static_int(default=ARMS, ge=1, doc="arms")
    context: int = static_int(default=CONTEXT, ge=1, doc="numbers of a context")
    scale: float = traced_float(default=NOISE, ge=0, doc="standard deviation of the noise")
    subgaussian = False

    @property
    def dim(self) -> int:  # type: ignore[override]
        """A block for every arm."""
        return self.arms * self.context

    @property
    def shape(self) -> Shape:
        """A fresh action set in every round."""
        return Shape(self.arms, self.dim, fixed_actions=False, linear=True)

    @property
    def noise(self) -> StationaryNoise:
        """Constant."""
        return ConstantNoise(self.scale)

    def round_actions(self, key: Key[Array, ""]) -> Float[Array, "arms dim"]:
        """A normal context in every arm's own block."""
        return jnp.kron(jnp.eye(self.arms), jax.random.normal(key, (self.context,)))


def linear(quick: bool) -> list[Measure]:
    """Langevin and Hamiltonian samplers at d = 20."""
    rounds = 640 if quick else 10_000
    posterior = TS(eta=1 / (2 * NOISE**2))
    measures = []
    for name, sampler in (
        ("25 Langevin steps", SGLD(num_steps=25)),
        ("25 draws of 10 leapfrogs", HMC(num_steps=25, num_integration_steps=10)),
    ):
        agent = Thompson(posterior=posterior, sampler=sampler)
        early, late = (cost.seconds for cost in _rounds_after(Blocks(), agent, (EARLY, rounds)).values())
        measures += [
            Measure("linear", f"{name}: a round of {RUNS} runs after {EARLY}", 1e3 * early, "ms"),
            Measure("linear", f"{name}: a round of {RUNS} runs after {rounds}", 1e3 * late, "ms"),
            at_most("linear", f"{name}: late / early", late / early, 1.25),
        ]
    return measures


def general(quick: bool) -> list[Measure]:
    """A small network with full gradients and with minibatch gradients."""
    longest = 4096 if quick else 8192  # an eighth of it is more than the rows that are evaluated at a time
    environment = ENVIRONMENTS.build("mlp", {"dim": 5, "arms": 8})
    measures = []
    for name, minibatch in (("all data", 0), ("16 data", 16)):
        sampler = SGLD(num_steps=5, batch_size=minibatch)
        agent = Thompson(reward=MLP(width=8), posterior=FGTSVA(variance=Estimated()), sampler=sampler)
        costs = _rounds_after(environment, agent, (longest // 8, longest))
        few, many = costs.values()
        limit = 1.25 if minibatch else 8 * 1.25
        for what, unit, scale, growth in (
            ("", "ms", 1e3, many.seconds / few.seconds),
            (", working memory", "MB", 1e-6, many.memory / few.memory),
        ):
            measures += [
                Measure(
                    "general",
                    f"gradients from {name}: a round of {RUNS} runs after {t}{what}",
                    scale * (cost.memory if what else cost.seconds),
                    unit,
                )
                for t, cost in costs.items()
            ]
            measures.append(
                at_most("general", f"gradients from {name}: 8 times the data{what}", growth, limit)
            )
    return measures


class Cost(NamedTuple):
    """Cost of a round: seconds without compilation, and bytes of working memory."""

    seconds: float
    memory: float


class TimedRounds(NamedTuple):
    """ROUNDS_TIMED rounds, compiled."""

    play: Callable[[], Any]
    memory: float


def _rounds_after(environment: Any, agent: Thompson, times: Sequence[int]) -> dict[int, Cost]:
    """Costs of a round of RUNS runs after the given numbers of rounds of uniform play."""
    timed = {t: _timed_rounds_after(environment, agent, t) for t in times}
    times_taken = fastest({str(t): one.play for t, one in timed.items()}, TURNS)
    return {t: Cost(times_taken[str(t)].seconds / ROUNDS_TIMED, one.memory) for t, one in timed.items()}


def _timed_rounds_after(environment: Any, agent: Thompson, t: int) -> TimedRounds:
    agent, uniform = agent.for_horizon(2 * t), AGENTS.build("uniform", {})

    def turn(player: Any, key: Array, state: ThompsonState, number: Array) -> tuple[ThompsonState, None]:
        own = jax.random.fold_in(key, number)
        seen, outcome = reveal(environment, own, environment.start(key), number)
        embedded = agent.embed(seen)
        acted, arm, _ = player.act(own, state, embedded if player is agent else player.embed(seen))
        return agent.update(acted, embedded, arm, outcome.rewards[arm]), None

    def begin(key: Array) -> ThompsonState:
        state = agent.grow(agent.start(key, environment.shape), 2 * t)
        state, _ = jax.lax.scan(partial(turn, uniform, key), state, jnp.arange(t))
        return agent.grow(state, 2 * t)

    def play(key: Array, state: ThompsonState) -> ThompsonState:
        return jax.lax.scan(partial(turn, agent, key), state, t + jnp.arange(ROUNDS_TIMED))[0]

    keys = jax.random.split(jax.random.key(0), RUNS)
    states = jax.jit(jax.vmap(begin))(keys)
    compiled = jax.jit(jax.vmap(play)).lower(keys, states).compile()
    memory = compiled.memory_analysis()
    assert memory is not None

    def again() -> None:
        jax.block_until_ready(compiled(keys, states))

    again()
    return TimedRounds(again, float(memory.temp_size_in_bytes))
