"""Stochastic-gradient Langevin dynamics: the paper's sampler."""

from functools import partial
from typing import ClassVar, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from samplers._fast_normal import normal_rows
from samplers.adaptation.preconditioning import Identity, Preconditioned, Preconditioner
from samplers.base import BIASED, Kernel, SamplerInfo, Step, fold_in_each
from samplers.settings import settings, traced_float, traced_int
from samplers.sgmcmc._tilted_langevin import own_coordinates, tilted_langevin
from samplers.sgmcmc.base import StochasticGradientSampler
from samplers.target import Target


@settings
class SGLD(StochasticGradientSampler):
    """Langevin steps x + h grad log p(x) + sqrt(2h) noise in plain coordinates (Welling & Teh 2011); biased by O(h).

    The sampler of the paper's experiments. h is step_size over the largest curvature.
    """

    stable_curvature: ClassVar[float | None] = 1.0
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "gradient, unadjusted", f"{BIASED}, O(step_size)", "num_steps", "precision, for the step size"
    )

    num_steps: int = traced_int(default=20, ge=1, doc="Langevin steps per draw (the paper's K)")
    step_size: float = traced_float(
        default=0.5, gt=0, doc="step size h in units of 1 / largest curvature; unstable from 2 on"
    )
    preconditioner: Preconditioner = Identity()

    @override
    def precondition(self, target: Target, position: Float[Array, " size"]) -> Preconditioned:
        by_products = target.tilt is not None and self.preconditioner.uses_moments and not self.batch_size
        if by_products and self.step_size_rule != "power":
            return own_coordinates(target)
        return super().precondition(target, position)

    @override
    def kernel(self, preconditioned: Preconditioned) -> Kernel:
        """Returns BlackJAX's SGLD, except that the noise of several steps is drawn at once."""
        size = self.step_size / preconditioned.curvature
        if preconditioned.tilted is not None:
            return tilted_langevin(preconditioned, size)
        gradient = preconditioned.gradient(self.batch_size)

        def randomness(key: Array, indices: Array) -> tuple[Array, Array | None]:
            if not self.batch_size:  # a full gradient has no use for a key
                return normal_rows(key, indices, preconditioned.dim), None
            noise, batches = jnp.moveaxis(jax.vmap(jax.random.split)(fold_in_each(key, indices)), 1, 0)
            return jax.vmap(partial(jax.random.normal, shape=(preconditioned.dim,)))(noise), batches

        def step(row: tuple[Array, Array | None], position: Array) -> tuple[Array, Step]:
            noise, batch = row
            position = position + size * gradient(position, batch) + jnp.sqrt(2 * size) * noise
            return position, Step(jnp.nan, ~jnp.all(jnp.isfinite(position)), 1)

        return Kernel(lambda key, position: position, step, lambda state: state, 0, randomness)
