"""Slice sampling on ellipses around a Gaussian factor of the target."""

from typing import ClassVar, override

import blackjax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float

from samplers.adaptation.preconditioning import Dense, Preconditioned
from samplers.base import ASYMPTOTIC, Kernel, SamplerInfo
from samplers.errors import InputError
from samplers.from_blackjax import as_kernel
from samplers.markov import MarkovSampler
from samplers.settings import settings, traced_int
from samplers.target import Target


@settings
class EllipticalSlice(MarkovSampler):
    """BlackJAX's elliptical slice sampler around the Gaussian factor of the target (Murray et al. 2010)."""

    info: ClassVar[SamplerInfo] = SamplerInfo(
        "gradient-free",
        ASYMPTOTIC,
        "0 (about 3 values per step)",
        "a Gaussian factor: prior or posterior part",
    )

    num_steps: int = traced_int(default=10, ge=1, doc="transitions per draw, each on one ellipse")

    @override
    def precondition(self, target: Target, position: Float[Array, " size"]) -> Preconditioned:
        """Whitens by the Gaussian factor and ignores the curvature of the remaining factor."""
        if target.gaussian is None:
            raise InputError(
                "sampler 'elliptical_slice' needs a Gaussian factor in the target (a Gaussian prior, or linear "
                "rewards), and this target has none"
            )
        precision = target.gaussian.precision
        return Dense().apply(target._replace(precision=lambda _: precision, metric=None), position)

    @override
    def kernel(self, preconditioned: Preconditioned) -> Kernel:
        gaussian = preconditioned.target.gaussian
        assert gaussian is not None
        mean = preconditioned.from_target(jnp.linalg.solve(gaussian.precision, gaussian.shift))

        def remaining_factor(z: Array) -> Array:
            return preconditioned.logdensity(z) + jnp.sum((z - mean) ** 2) / 2

        algorithm = blackjax.elliptical_slice(remaining_factor, mean=mean, cov=jnp.ones(preconditioned.dim))
        return as_kernel(algorithm, num_gradients=0, init_gradients=0)
