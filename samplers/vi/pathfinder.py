"""Pathfinder: the best of the Gaussians along a quasi-Newton path."""

from typing import ClassVar

import jax.numpy as jnp
from blackjax.vi import pathfinder
from jax import Array

from samplers.adaptation.preconditioning import frame, whitening
from samplers.base import BIASED, SamplerInfo, SamplerState
from samplers.settings import settings, static_int
from samplers.target import Target
from samplers.vi.base import Approximation, Fit


@settings
class Pathfinder(Approximation):
    """BlackJAX's Pathfinder (Zhang et al. 2022), from the last draw."""

    info: ClassVar[SamplerInfo] = SamplerInfo(
        "approximation", BIASED, "2 x (L-BFGS steps, at most iterations) + 1", "precision, to whiten"
    )

    iterations: int = static_int(default=15, ge=1, doc="most L-BFGS steps a round")
    draws: int = static_int(
        default=50, ge=1, doc="draws that each ELBO is estimated from (values, no gradients)"
    )
    memory: int = static_int(default=6, ge=1, doc="steps that L-BFGS remembers")
    whiten: str = whitening()

    def fit(self, key: Array, target: Target, state: SamplerState) -> Fit:
        """Walks the path; a line search of several evaluations counts as one gradient."""
        where = frame(target, state.position, self.whiten)
        best, info = pathfinder.approximate(
            key,
            where.logdensity,
            where.from_target(state.position),
            self.draws,
            maxiter=self.iterations,
            maxcor=self.memory,
            maxls=20,
        )
        steps = jnp.sum(jnp.isfinite(info.path.elbo))
        return Fit(
            lambda k: where.to_target(pathfinder.sample(k, best)[0]), state.carry, 2 * steps + 1 + where.spent
        )
