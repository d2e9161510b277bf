"""Underdamped Langevin Monte Carlo."""

from typing import ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from samplers.adaptation.preconditioning import Preconditioned, step_rule, whitening
from samplers.base import BIASED, Kernel, SamplerInfo, Step
from samplers.markov import MarkovSampler
from samplers.settings import settings, traced_float, traced_int
from samplers.sgmcmc.sgld import decaying, minibatch


class Phase(NamedTuple):
    """A point in phase space."""

    position: Array
    velocity: Array


@settings
class ULMC(MarkovSampler):
    """dv = (grad - friction v) dt + sqrt(2 friction) dW, solved exactly while the gradient stands still.

    The scheme of Cheng et al. (2018), which the regret theory is about (Zheng et al. 2024); biased by O(step).
    """

    info: ClassVar[SamplerInfo] = SamplerInfo(
        "gradient, unadjusted", f"{BIASED}, O(step)", "steps", "precision, to whiten"
    )

    steps: int = traced_int(default=20, ge=1, doc="steps a round, a gradient each")
    step: float = traced_float(default=0.2, gt=0, doc="step size in units of 1 / sqrt(largest curvature)")
    friction: float = traced_float(default=2.0, gt=0, doc="friction in units of sqrt(largest curvature)")
    whiten: str = whitening()
    rule: str = step_rule()
    decay: float = decaying()
    minibatch: int = minibatch()

    def kernel(self, frame: Preconditioned) -> Kernel:
        """One step of position and velocity; the velocity is fresh at each round's start."""
        root = jnp.sqrt(frame.curvature)
        friction, time = self.friction * root, self.step / root
        gradient = frame.gradient(self.minibatch)
        fade = -jnp.expm1(-friction * time)  # 1 - exp(-friction time)
        drift = fade / friction
        reach = (time - drift) / friction  # of the force on the position
        # Covariance of the noise that position and velocity take up during the step.
        both = fade**2 / friction
        velocity = fade * (2 - fade)
        position = (2 * friction * time - 2 * fade - fade**2) / friction**2
        share = both / velocity
        # Small steps make this the difference of nearly equal numbers: of order (friction time)^3, but never negative.
        rest = jnp.sqrt(jnp.maximum(position - both * share, 0.0))

        def init(key: Array, start: Array) -> Phase:
            return Phase(start, jax.random.normal(key, start.shape, start.dtype))

        def step(key: Array, state: Phase) -> tuple[Phase, Step]:
            noise, batch = jax.random.split(key)
            first, second = jax.random.normal(noise, (2, frame.dim), state.position.dtype)
            force = gradient(state.position, batch)
            kick = jnp.sqrt(velocity) * first
            moved = state.position + drift * state.velocity + reach * force + share * kick + rest * second
            turned = (1 - fade) * state.velocity + drift * force + kick
            return Phase(moved, turned), Step(jnp.nan, ~jnp.all(jnp.isfinite(moved)), 1)

        return Kernel(init, step, lambda state: state.position, init_gradients=0)
