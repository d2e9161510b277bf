"""Stochastic-gradient dynamics with a Nosé-Hoover thermostat."""

from typing import Any, ClassVar

import blackjax
import jax
import jax.numpy as jnp
from jax import Array

from samplers.adaptation.preconditioning import Preconditioned, step_rule, whitening
from samplers.base import BIASED, Kernel, SamplerInfo, Step
from samplers.markov import MarkovSampler
from samplers.settings import settings, traced_float, traced_int
from samplers.sgmcmc.sgld import decaying, minibatch


@settings
class SGNHT(MarkovSampler):
    """BlackJAX's SGNHT: a thermostat finds the friction that the gradient's own noise calls for; biased by O(step)."""

    fetched: ClassVar[bool] = True  # else the thermostat overheats, and the Euler step with it
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "gradient, unadjusted", f"{BIASED}, O(step)", "steps + 1", "precision, to whiten"
    )

    steps: int = traced_int(default=50, ge=1, doc="Euler steps a round, a gradient each")
    step: float = traced_float(default=0.1, gt=0, doc="step size in units of 1 / sqrt(largest curvature)")
    friction: float = traced_float(
        default=1.0, gt=0, doc="friction at first, in units of sqrt(largest curvature)"
    )
    whiten: str = whitening()
    rule: str = step_rule()
    decay: float = decaying()
    minibatch: int = minibatch()

    def kernel(self, frame: Preconditioned) -> Kernel:
        """One Euler step of position, momentum and thermostat; the latter two are fresh at each round's start."""
        root = jnp.sqrt(frame.curvature)
        alpha = self.friction * root
        algorithm = blackjax.sgnht(frame.gradient(self.minibatch), alpha=alpha)

        def init(key: Array, position: Array) -> Any:
            return blackjax.sgmcmc.sgnht.init(position, key, jnp.asarray(alpha))

        def step(key: Array, state: Any) -> tuple[Any, Step]:
            noise, batch = jax.random.split(key)
            state = algorithm.step(noise, state, batch, self.step / root)
            return state, Step(jnp.nan, ~jnp.all(jnp.isfinite(state.position)), 1)

        return Kernel(init, step, lambda state: state.position, init_gradients=0)
