"""Underdamped Langevin Monte Carlo."""

from typing import ClassVar, NamedTuple, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from samplers.adaptation.preconditioning import Preconditioned
from samplers.base import BIASED, Kernel, SamplerInfo, Step
from samplers.settings import settings, traced_float, traced_int
from samplers.sgmcmc.base import StochasticGradientSampler


class PhasePoint(NamedTuple):
    """A point in phase space."""

    position: Float[Array, " size"]
    velocity: Float[Array, " size"]


@settings
class ULMC(StochasticGradientSampler):
    """Underdamped Langevin dynamics dv = (grad log p - friction v) dt + sqrt(2 friction) dW, dx = v dt.

    Solved exactly with the gradient held fixed during a step (Cheng et al. 2018), the scheme of the regret analysis of
    Zheng et al. (2024); biased by O(step_size). Each target starts with a new velocity.
    """

    info: ClassVar[SamplerInfo] = SamplerInfo(
        "gradient, unadjusted", f"{BIASED}, O(step_size)", "num_steps", "precision, to precondition"
    )

    num_steps: int = traced_int(default=20, ge=1, doc="integration steps per draw, one gradient each")
    step_size: float = traced_float(
        default=0.2, gt=0, doc="step size in units of 1 / sqrt(largest curvature)"
    )
    friction: float = traced_float(default=2.0, gt=0, doc="friction in units of sqrt(largest curvature)")

    @override
    def kernel(self, preconditioned: Preconditioned) -> Kernel:
        root = jnp.sqrt(preconditioned.curvature)
        friction, time = self.friction * root, self.step_size / root
        gradient = preconditioned.gradient(self.batch_size)
        loss = -jnp.expm1(-friction * time)  # 1 - exp(-friction time), the share of the velocity that is lost
        from_velocity = loss / friction
        from_force = (time - from_velocity) / friction
        # Covariance of the noise that position and velocity take up during the step.
        covariance = loss**2 / friction
        velocity_variance = loss * (2 - loss)
        position_variance = (2 * friction * time - 2 * loss - loss**2) / friction**2
        regression = covariance / velocity_variance
        # For small steps a difference of nearly equal numbers: of order (friction time)^3, but never negative.
        residual = jnp.sqrt(jnp.maximum(position_variance - covariance * regression, 0.0))

        def init(key: Array, start: Array) -> PhasePoint:
            return PhasePoint(start, jax.random.normal(key, start.shape, start.dtype))

        def step(key: Array, state: PhasePoint) -> tuple[PhasePoint, Step]:
            noise, batch = jax.random.split(key)
            first, second = jax.random.normal(noise, (2, preconditioned.dim), state.position.dtype)
            force = gradient(state.position, batch)
            kick = jnp.sqrt(velocity_variance) * first
            position = (
                state.position
                + from_velocity * state.velocity
                + from_force * force
                + regression * kick
                + residual * second
            )
            velocity = (1 - loss) * state.velocity + from_velocity * force + kick
            return PhasePoint(position, velocity), Step(jnp.nan, ~jnp.all(jnp.isfinite(position)), 1)

        return Kernel(init, step, lambda state: state.position, init_gradients=0)
