"""Slice sampling along random lines."""

from typing import Any, ClassVar, override

import blackjax
import jax.numpy as jnp
from blackjax.mcmc.slice import stepping_out
from jax import Array

from samplers.adaptation.preconditioning import Preconditioned
from samplers.base import ASYMPTOTIC, Kernel, SamplerInfo, Step
from samplers.from_blackjax import as_kernel
from samplers.markov import PreconditionedSampler
from samplers.settings import settings, traced_float, traced_int

MAX_EXPANSIONS = 50


@settings
class Slice(PreconditionedSampler):
    """BlackJAX's slice sampler along random directions, by stepping out and shrinkage (Neal 2003)."""

    needs_typical_start: ClassVar[bool] = True  # a random line from far out misses the target
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "gradient-free",
        ASYMPTOTIC,
        "1, for a start far out (and about 6 values per step)",
        "precision, to precondition",
    )

    num_steps: int = traced_int(default=20, ge=1, doc="transitions per draw, each along one line")
    width: float = traced_float(
        default=3.0, gt=0, doc="width of the first bracket in units of 1 / sqrt(largest curvature)"
    )

    @override
    def kernel(self, preconditioned: Preconditioned) -> Kernel:
        algorithm = blackjax.slice_sampling(
            preconditioned.logdensity,
            width=self.width / preconditioned.root_curvature,
            interval=stepping_out,
            max_expansions=MAX_EXPANSIONS,
        )

        def step(key: Array, state: Any) -> tuple[Any, Step]:
            state, info = algorithm.step(key, state)
            moved = jnp.asarray(info.is_accepted, float)  # false where the shrinkage reached its limit
            return state, Step(moved, ~jnp.isfinite(state.logdensity), 0)

        return as_kernel(algorithm, num_gradients=0, init_gradients=0)._replace(step=step)
