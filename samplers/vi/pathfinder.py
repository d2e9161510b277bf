"""Pathfinder: the best of the Gaussians along a quasi-Newton path."""

from dataclasses import KW_ONLY
from typing import ClassVar, override

import jax.numpy as jnp
from blackjax.vi import pathfinder
from jax import Array
from jaxtyping import Key

from samplers.adaptation.preconditioning import Dense, Preconditioner
from samplers.base import BIASED, SamplerInfo, SamplerState
from samplers.registry import PRECONDITIONERS
from samplers.settings import component, settings, static_int
from samplers.target import Target
from samplers.vi.base import Approximation, Fit

MAX_LINE_SEARCH = 20


@settings
class Pathfinder(Approximation):
    """BlackJAX's Pathfinder, started at the last draw (Zhang et al. 2022)."""

    info: ClassVar[SamplerInfo] = SamplerInfo(
        "approximation", BIASED, "2 x (L-BFGS steps, at most maxiter) + 1", "precision, to precondition"
    )

    maxiter: int = static_int(default=15, ge=1, doc="most L-BFGS steps per draw")
    num_samples: int = static_int(
        default=50, ge=1, doc="draws that each ELBO is estimated from (values, no gradients)"
    )
    maxcor: int = static_int(default=6, ge=1, doc="steps that L-BFGS remembers")
    _: KW_ONLY
    preconditioner: Preconditioner = component(
        PRECONDITIONERS, default=Dense(), doc="coordinates in which the path is computed"
    )

    @override
    def fit(self, key: Key[Array, ""], target: Target, state: SamplerState) -> Fit:
        """Follows the path; a line search of several evaluations counts as one gradient."""
        preconditioned = self.preconditioner.apply(target, state.position)
        best, info = pathfinder.approximate(
            key,
            preconditioned.logdensity,
            preconditioned.from_target(state.position),
            self.num_samples,
            maxiter=self.maxiter,
            maxcor=self.maxcor,
            maxls=MAX_LINE_SEARCH,
        )
        num_steps = jnp.sum(jnp.isfinite(info.path.elbo))
        return Fit(
            lambda k: preconditioned.to_target(pathfinder.sample(k, best)[0]),
            state.carry,
            2 * num_steps + 1 + preconditioned.num_gradients,
        )

    @property
    @override
    def expected_gradients(self) -> int:
        return 2 * self.maxiter + 1
