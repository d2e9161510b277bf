"""Another project's bandit with Langevin chains per arm, as published, to reproduce its experiment; never as ours.

haoyangzheng1996/ts_ulmc (Zheng et al. 2024): arms are vectors, an arm is worth the norm of its mean vector, and a play
shows a whole vector. Two things of their code are settings here. In every round it appends a fresh observation of
*every* arm that was played before. And its chains step by minus h times the gradient of the log-posterior: away from
the data.
"""

import dataclasses
from typing import ClassVar, NamedTuple, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int, Key

from fgtsva_ppl.agents.base import decide
from fgtsva_ppl.types import ActionInfo, Agent, Round, Shape
from samplers.errors import InputError
from samplers.settings import choice, flag, settings, static_int, traced_float


class ChainsState(NamedTuple):
    """What the agent carries from round to round.

    Attributes:
        observations: Of each arm, in the order in which they came.
        sums: Of each arm's observations.
        counts: How many each arm has.
        plays: How often each arm was played.
        last: The arm of the last round; -1 before the first.
        position: Of each arm's chain.
        velocity: The same; 0 where the dynamics have none.
    """

    observations: Float[Array, "arms capacity dim"]
    sums: Float[Array, "arms dim"]
    counts: Int[Array, " arms"]
    plays: Int[Array, " arms"]
    last: Int[Array, ""]
    position: Float[Array, "arms dim"]
    velocity: Float[Array, "arms dim"]


def sample_without_replacement(
    key: Key[Array, ""], n: Int[Array, ""], size: int, times: int
) -> Int[Array, "times size"]:
    """Draws `size` different indices below n, which is at least `size`, several times (Floyd's algorithm)."""
    uniform = jax.random.uniform(key, (times, size))
    columns: list[Array] = []
    for i in range(size):
        top = n - size + i
        index = jnp.minimum((uniform[:, i] * (top + 1)).astype(int), top)
        taken = sum((column == index for column in columns), start=jnp.zeros(times, bool))
        columns.append(jnp.where(taken, top, index))
    return jnp.stack(columns, axis=1)


@settings
class PublishedULMC(Agent):
    """Another project's bandit, as published: a Langevin chain per arm, whose mean's norm is the arm's worth.

    Runs on environment=arms with vectors. The observations are vectors, which no environment here pays: the agent draws
    them itself, N(mean e_1, I), because nothing depends on the direction of a mean vector. That of an arm enters only
    if it was played, as in their code, or if `append` adds it.
    """

    label: ClassVar[str] = "published_ulmc"

    dynamics: str = choice(
        default="underdamped",
        options=("underdamped", "overdamped", "exact"),
        doc="of the chains; exact: the conjugate posterior",
    )
    append: bool = flag(
        default=True,
        doc="as published: each round appends a fresh observation to every arm played before; false: to the one played",
    )
    away: bool = flag(
        default=True,
        doc="as published: steps go against the gradient of the log-posterior; false: along it",
    )
    dim: int = static_int(default=10, ge=1, doc="dimension of an arm's vector")
    num_steps: int = static_int(default=10, ge=1, doc="steps of each chain in a round")
    batch_size: int = static_int(default=10, ge=1, doc="observations of an arm that a gradient uses")
    memory: int = static_int(
        default=0, ge=0, doc="observations kept of each arm; 0: as many as there are rounds"
    )
    step_size: float = traced_float(default=1e-4, gt=0, doc="step size h")
    friction: float = traced_float(default=2.0, gt=0, doc="friction gamma of underdamped dynamics")

    @property
    @override
    def expected_gradients(self) -> int:
        return 0 if self.dynamics == "exact" else self.num_steps

    @override
    def start(self, key: Key[Array, ""], shape: Shape) -> ChainsState:
        if not shape.fixed_actions or shape.dim != shape.arms:
            raise InputError("agent published_ulmc has a chain per arm: use environment=arms")
        none, still = jnp.zeros(shape.arms, int), jnp.zeros((shape.arms, self.dim))
        observations = jnp.zeros((shape.arms, max(self.memory, 1), self.dim))
        return ChainsState(observations, still, none, none, jnp.asarray(-1), still, still)

    @override
    def for_horizon(self, rounds: int) -> "PublishedULMC":
        return dataclasses.replace(self, memory=self.memory or rounds)

    @override
    def act(
        self, key: Key[Array, ""], state: ChainsState, round: Round
    ) -> tuple[ChainsState, Int[Array, ""], ActionInfo]:
        raise InputError("agent published_ulmc draws its own observations, and plays in simulations only")

    @override
    def act_with_means(
        self, key: Key[Array, ""], state: ChainsState, round: Round, means: Float[Array, " arms"]
    ) -> tuple[ChainsState, Int[Array, ""], ActionInfo]:
        """Observes what the last round showed, moves the chains, and plays the arm whose position is longest."""
        observe_key, prior_key, chain_key = jax.random.split(key, 3)
        state = self._observed(observe_key, state, means)
        keys = jax.random.split(chain_key, means.size)
        position, velocity = jax.vmap(self._move)(
            keys, state.position, state.velocity, state.observations, state.sums, state.counts
        )
        seen = state.counts > 0
        prior = jax.random.normal(prior_key, position.shape)
        drawn = jnp.where(seen[:, None], position, prior)
        state = state._replace(
            position=jnp.where(seen[:, None], position, state.position),
            velocity=jnp.where(seen[:, None], velocity, state.velocity),
        )
        action, info = decide(jnp.linalg.norm(drawn, axis=1))
        gradients = jnp.asarray(self.expected_gradients) * jnp.sum(seen)
        state = state._replace(plays=state.plays.at[action].add(1), last=action)
        return state, action, info._replace(num_gradients=gradients)

    def _observed(self, key: Key[Array, ""], state: ChainsState, means: Float[Array, " arms"]) -> ChainsState:
        """A fresh observation of every arm that was played before, or only of the one that was played last."""
        arms = jnp.arange(means.size)
        which: Bool[Array, " arms"] = state.plays > 0 if self.append else arms == state.last
        fresh = jax.random.normal(key, (means.size, self.dim)).at[:, 0].add(means)
        kept = state.observations[arms, state.counts]
        observations = state.observations.at[arms, state.counts].set(jnp.where(which[:, None], fresh, kept))
        sums = state.sums + jnp.where(which[:, None], fresh, 0.0)
        return state._replace(observations=observations, sums=sums, counts=state.counts + which)

    def _move(
        self, key: Array, position: Array, velocity: Array, observations: Array, total: Array, n: Array
    ) -> tuple[Array, Array]:
        """The steps of one arm's chain; the prior is N(0, I), and an observation has variance 1."""
        mean = total / jnp.maximum(n, 1)
        if self.dynamics == "exact":
            exact = n / (n + 1) * mean + jax.random.normal(key, position.shape) / jnp.sqrt(n + 1)
            return exact, velocity

        batch_key, noise_key = jax.random.split(key)
        size = self.batch_size
        batches = sample_without_replacement(batch_key, jnp.maximum(n, size), size, self.num_steps)
        sampled = observations[jnp.minimum(batches, len(observations) - 1)].mean(axis=1)
        centres = jnp.where(n <= size, mean, sampled)
        noise = jax.random.normal(noise_key, (self.num_steps, 2, *position.shape))

        def step(carry: tuple[Array, Array], given: tuple[Array, Array]) -> tuple[tuple[Array, Array], None]:
            centre, own_noise = given
            gradient = -carry[0] + n * (centre - carry[0])
            return self._step(own_noise, *carry, gradient if self.away else -gradient), None

        return jax.lax.scan(step, (position, velocity), (centres, noise))[0]

    def _step(self, noise: Array, x: Array, v: Array, gradient: Array) -> tuple[Array, Array]:
        """One step with minus `gradient`, by their formulas: x and v have noise of their own."""
        h, friction = self.step_size, self.friction
        if self.dynamics == "overdamped":
            return x - h * gradient + jnp.sqrt(2 * h) * noise[0], v
        decay = jnp.exp(-friction * h)
        moved = x + (1 - decay) * v / friction - (h - (1 - decay) / friction) * friction * gradient
        pushed = v * decay - (1 - decay) / friction * gradient
        spread = h - decay**2 / (2 * friction) - 3 / (2 * friction) + 2 * decay / friction
        return moved + jnp.sqrt(2 * spread / friction) * noise[0], pushed + jnp.sqrt(1 - decay**2) * noise[1]

    @override
    def update(
        self, state: ChainsState, round: Round, action: Int[Array, ""], reward: Float[Array, ""]
    ) -> ChainsState:
        """Nothing: what a round shows is drawn before the next one."""
        return state
