"""Stochastic-gradient Hamiltonian Monte Carlo."""

from typing import ClassVar, override

import blackjax
import jax
import jax.numpy as jnp
from jax import Array

from samplers.adaptation.preconditioning import Preconditioned
from samplers.base import BIASED, Kernel, SamplerInfo, Step
from samplers.settings import settings, static_int, traced_float, traced_int
from samplers.sgmcmc.base import StochasticGradientSampler


@settings
class SGHMC(StochasticGradientSampler):
    """BlackJAX's SGHMC: Euler steps of dynamics with friction from a new momentum (Chen, Fox & Guestrin 2014).

    Biased by O(step_size) for trajectories of a given length step_size x num_integration_steps; with more and shorter
    trajectories the new momenta add up, and a smaller step size alone does not help.
    """

    info: ClassVar[SamplerInfo] = SamplerInfo(
        "gradient, unadjusted",
        f"{BIASED}, O(step_size)",
        "num_steps x num_integration_steps",
        "precision, to precondition",
    )

    num_steps: int = traced_int(default=5, ge=1, doc="trajectories per draw, each with a new momentum")
    num_integration_steps: int = static_int(
        default=10, ge=1, doc="Euler steps of a trajectory, one gradient each"
    )
    step_size: float = traced_float(
        default=0.1, gt=0, doc="step size in units of 1 / sqrt(largest curvature)"
    )
    friction: float = traced_float(
        default=1.0, gt=0, doc="friction (BlackJAX's alpha) in units of sqrt(largest curvature)"
    )

    @override
    def kernel(self, preconditioned: Preconditioned) -> Kernel:
        """Returns one trajectory on one batch."""
        root = jnp.sqrt(preconditioned.curvature)
        algorithm = blackjax.sghmc(
            preconditioned.gradient(self.batch_size),
            num_integration_steps=self.num_integration_steps,
            alpha=self.friction * root,
        )

        def step(key: Array, position: Array) -> tuple[Array, Step]:
            noise, batch = jax.random.split(key)
            position = algorithm.step(noise, position, batch, self.step_size / root)
            return position, Step(jnp.nan, ~jnp.all(jnp.isfinite(position)), self.num_integration_steps)

        return Kernel(lambda key, position: position, step, lambda state: state, init_gradients=0)

    @property
    @override
    def expected_gradients(self) -> int:
        return self.num_steps * self.num_integration_steps
