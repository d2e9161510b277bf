"""Samplers that fit a distribution which is easy to draw from, and then draw from it independently."""

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, NamedTuple, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from samplers.base import Draw, Sampler, SamplerState, Start
from samplers.target import Target


class Fit(NamedTuple):
    """A distribution fitted to a target.

    Attributes:
        draw: Draws a position from a key.
        carry: What the next fit starts from.
        num_gradients: Number of gradients of the fit.
    """

    draw: Callable[[Array], Array]
    carry: Any
    num_gradients: Int[Array, ""] | int


class Approximation(Sampler):
    """A sampler whose draws on a target are independent, from a distribution near the target."""

    @abstractmethod
    def fit(self, key: Key[Array, ""], target: Target, state: SamplerState) -> Fit:
        """Fits the distribution, starting from the last fit."""

    def init_carry(self, position: Float[Array, " size"]) -> Any:
        """Returns what the first fit starts from."""
        return position

    @override
    def init(self, key: Key[Array, ""], start: Start) -> SamplerState:
        position = start(key)
        return SamplerState(position, self.init_carry(position))

    @override
    def sample(self, key: Key[Array, ""], target: Target, state: SamplerState) -> tuple[SamplerState, Draw]:
        fit_key, draw_key = jax.random.split(key)
        fit = self.fit(fit_key, target, state)
        draw = Draw.without_acceptance(fit.draw(draw_key), fit.num_gradients)
        return SamplerState(draw.position, fit.carry), draw

    @override
    def trace(self, key: Key[Array, ""], target: Target, state: SamplerState, num_draws: int) -> Draw:
        """Returns independent draws from one fit; its cost is that of the first draw."""
        fit_key, draw_key = jax.random.split(key)
        fit = self.fit(fit_key, target, state)
        costs = jnp.zeros(num_draws, int).at[0].set(fit.num_gradients)
        keys = jax.random.split(draw_key, num_draws)
        return jax.vmap(lambda k, cost: Draw.without_acceptance(fit.draw(k), cost))(keys, costs)
