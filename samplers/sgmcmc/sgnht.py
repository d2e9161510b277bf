"""Stochastic-gradient dynamics with a Nosé-Hoover thermostat."""

from typing import Any, ClassVar, override

import blackjax
import jax
import jax.numpy as jnp
from jax import Array

from samplers.adaptation.preconditioning import Preconditioned
from samplers.base import BIASED, Kernel, SamplerInfo, Step
from samplers.settings import settings, traced_float, traced_int
from samplers.sgmcmc.base import StochasticGradientSampler


@settings
class SGNHT(StochasticGradientSampler):
    """BlackJAX's SGNHT: a thermostat adapts the friction to the noise of the gradient (Ding et al. 2014).

    Biased by O(step_size). Each target starts with a new momentum and thermostat.
    """

    needs_typical_start: ClassVar[bool] = True  # far out the thermostat and the Euler step overflow
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "gradient, unadjusted", f"{BIASED}, O(step_size)", "num_steps + 1", "precision, to precondition"
    )

    num_steps: int = traced_int(default=50, ge=1, doc="Euler steps per draw, one gradient each")
    step_size: float = traced_float(
        default=0.1, gt=0, doc="step size in units of 1 / sqrt(largest curvature)"
    )
    friction: float = traced_float(
        default=1.0, gt=0, doc="initial friction (BlackJAX's alpha) in units of sqrt(largest curvature)"
    )

    @override
    def kernel(self, preconditioned: Preconditioned) -> Kernel:
        root = jnp.sqrt(preconditioned.curvature)
        alpha = self.friction * root
        algorithm = blackjax.sgnht(preconditioned.gradient(self.batch_size), alpha=alpha)

        def init(key: Array, position: Array) -> Any:
            return blackjax.sgmcmc.sgnht.init(position, key, jnp.asarray(alpha))

        def step(key: Array, state: Any) -> tuple[Any, Step]:
            noise, batch = jax.random.split(key)
            state = algorithm.step(noise, state, batch, self.step_size / root)
            return state, Step(jnp.nan, ~jnp.all(jnp.isfinite(state.position)), 1)

        return Kernel(init, step, lambda state: state.position, init_gradients=0)
