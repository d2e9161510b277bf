"""A sampler that is wrong by a known amount: the control of every diagnostic."""

from collections.abc import Callable
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from samplers.base import Card, Draw, SamplerState
from samplers.settings import InputError, number, settings
from samplers.target import Target

WIDE = 10.0  # how much wider than the Gaussian part the contamination is


@settings
class Control:
    """Exact draws made worse on purpose: spread about the Gaussian part's mean, contaminated, or held back."""

    card: ClassVar[Card] = Card("control", "biased (on purpose)", "0", "exact draws, Gaussian part")
    scalar: ClassVar[bool] = False

    spread: float = number(default=1.0, above=0, doc="factor on the distance of a draw from the mean")
    contamination: float = number(
        default=0.0, least=0, most=1, doc="share of draws from a Gaussian 10 times as wide"
    )
    stuck: float = number(default=0.0, least=0, most=1, doc="probability that a draw repeats the one before")

    def init(self, key: Array, start: Callable[[Array], Array]) -> SamplerState:
        """Starts at a position."""
        return SamplerState(start(key))

    def sample(self, key: Array, target: Target, state: SamplerState) -> tuple[SamplerState, Draw]:
        """One draw that is wrong by as much as was asked for."""
        if target.exact is None or target.gaussian is None:
            raise InputError("sampler 'control' needs a posterior with exact draws and a Gaussian part")
        exact_key, wide_key, choice_key = jax.random.split(key, 3)
        precision, shift = target.gaussian
        factor = jnp.linalg.cholesky(precision)
        mean = jax.scipy.linalg.cho_solve((factor, True), shift)
        noise = jax.scipy.linalg.solve_triangular(factor.T, jax.random.normal(wide_key, shift.shape))
        contaminated, held = jax.random.uniform(choice_key, (2,)) < jnp.array(
            [self.contamination, self.stuck]
        )
        fresh = jnp.where(
            contaminated, mean + WIDE * noise, mean + self.spread * (target.exact(exact_key) - mean)
        )
        position = jnp.where(held, state.position, fresh)
        nothing = jnp.asarray(0)
        return SamplerState(position), Draw(position, jnp.asarray(jnp.nan), nothing, nothing)

    def trace(self, key: Array, target: Target, state: SamplerState, draws: int) -> Draw:
        """Successive draws."""

        def step(state: SamplerState, key: Array) -> tuple[SamplerState, Draw]:
            return self.sample(key, target, state)

        return jax.lax.scan(step, state, jax.random.split(key, draws))[1]
