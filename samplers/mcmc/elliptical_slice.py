"""Slice sampling on ellipses around a Gaussian factor of the target."""

from typing import ClassVar

import blackjax
import jax.numpy as jnp
from jax import Array

from samplers.adaptation.preconditioning import Preconditioned, frame
from samplers.base import ASYMPTOTIC, Kernel, SamplerInfo
from samplers.errors import InputError
from samplers.from_blackjax import as_kernel
from samplers.markov import MarkovSampler
from samplers.settings import settings, traced_int
from samplers.target import Target


@settings
class EllipticalSlice(MarkovSampler):
    """BlackJAX's elliptical slice sampler (Murray et al. 2010) around the Gaussian factor of the target."""

    info: ClassVar[SamplerInfo] = SamplerInfo(
        "gradient-free", ASYMPTOTIC, "0 (about 3 values a step)", "a Gaussian factor: prior or posterior part"
    )

    steps: int = traced_int(default=10, ge=1, doc="transitions a round, each on one ellipse")

    def frame(self, target: Target, position: Array) -> Preconditioned:
        """Whitened by the Gaussian factor, whatever the curvature of the rest."""
        if target.gaussian is None:
            raise InputError(
                "sampler 'elliptical_slice' needs a Gaussian factor in the target (a Gaussian prior, or linear "
                "rewards), and this target has none"
            )
        precision = target.gaussian.precision
        return frame(target._replace(precision=lambda _: precision), position, "dense")

    def kernel(self, frame: Preconditioned) -> Kernel:
        """One ellipse; what is sliced is the target without its Gaussian factor."""
        assert frame.target.gaussian is not None
        precision, shift = frame.target.gaussian
        mean = frame.from_target(jnp.linalg.solve(precision, shift))

        def remainder(z: Array) -> Array:
            return frame.logdensity(z) + jnp.sum((z - mean) ** 2) / 2

        algorithm = blackjax.elliptical_slice(remainder, mean=mean, cov=jnp.ones(frame.dim))
        return as_kernel(algorithm, num_gradients=0, init_gradients=0)
