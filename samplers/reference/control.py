"""A sampler that is wrong by a known amount: the control of every diagnostic."""

from collections.abc import Callable
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from samplers.base import Draw, SamplerInfo, SamplerState
from samplers.errors import InputError
from samplers.settings import settings, traced_float
from samplers.target import Target


@settings
class Control:
    """Exact draws made worse on purpose: spread about the Gaussian part's mean, mixed with the prior, or held back."""

    info: ClassVar[SamplerInfo] = SamplerInfo(
        "control", "biased (on purpose)", "0", "exact draws, Gaussian part, prior"
    )
    sequential: ClassVar[bool] = False

    spread: float = traced_float(default=1.0, gt=0, doc="factor on the distance of a draw from the mean")
    contamination: float = traced_float(default=0.0, ge=0, le=1, doc="share of draws from the prior")
    stuck: float = traced_float(default=0.0, ge=0, le=1, doc="probability that a draw repeats the one before")

    def init(self, key: Array, start: Callable[[Array], Array]) -> SamplerState:
        """Starts at a position."""
        return SamplerState(start(key))

    def sample(self, key: Array, target: Target, state: SamplerState) -> tuple[SamplerState, Draw]:
        """One draw that is wrong by as much as was asked for."""
        if target.exact is None or target.gaussian is None or target.prior is None:
            raise InputError(
                "sampler 'control' needs a posterior with exact draws, a Gaussian part and a prior"
            )
        exact_key, prior_key, choice_key = jax.random.split(key, 3)
        mean = jax.scipy.linalg.solve(*target.gaussian, assume_a="pos")
        contaminated, held = jax.random.uniform(choice_key, (2,)) < jnp.array(
            [self.contamination, self.stuck]
        )
        spread = mean + self.spread * (target.exact(exact_key) - mean)
        fresh = jnp.where(contaminated, target.prior(prior_key), spread)
        position = jnp.where(held, state.position, fresh)
        nothing = jnp.asarray(0)
        return SamplerState(position), Draw(position, jnp.asarray(jnp.nan), nothing, nothing)

    def trace(self, key: Array, target: Target, state: SamplerState, draws: int) -> Draw:
        """Successive draws."""

        def step(state: SamplerState, key: Array) -> tuple[SamplerState, Draw]:
            return self.sample(key, target, state)

        return jax.lax.scan(step, state, jax.random.split(key, draws))[1]
