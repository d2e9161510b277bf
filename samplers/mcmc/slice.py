"""Slice sampling along random lines."""

from typing import Any, ClassVar

import blackjax
import jax.numpy as jnp
from blackjax.mcmc.slice import stepping_out
from jax import Array

from samplers.adaptation.preconditioning import Preconditioned, step_rule, whitening
from samplers.base import ASYMPTOTIC, Kernel, SamplerInfo, Step
from samplers.from_blackjax import as_kernel
from samplers.markov import MarkovSampler
from samplers.settings import settings, traced_float, traced_int


@settings
class Slice(MarkovSampler):
    """BlackJAX's slice sampler along random directions, by stepping out."""

    fetched: ClassVar[bool] = True  # a random line from far out passes by the target
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "gradient-free",
        ASYMPTOTIC,
        "1, to come in from far out (and about 6 values a step)",
        "precision, to whiten",
    )

    steps: int = traced_int(default=20, ge=1, doc="transitions a round, each along one line")
    width: float = traced_float(
        default=3.0, gt=0, doc="width of the first bracket, over sqrt(largest curvature)"
    )
    whiten: str = whitening()
    rule: str = step_rule()

    def kernel(self, frame: Preconditioned) -> Kernel:
        """One line."""
        algorithm = blackjax.slice_sampling(
            frame.logdensity,
            width=self.width / jnp.sqrt(frame.curvature),
            interval=stepping_out,
            max_expansions=50,
        )
        plain = as_kernel(algorithm, num_gradients=0, init_gradients=0)

        def step(key: Array, state: Any) -> tuple[Any, Step]:
            state, info = algorithm.step(key, state)
            moved = jnp.asarray(info.is_accepted, float)  # false where the shrinkage ran out of patience
            return state, Step(moved, ~jnp.isfinite(state.logdensity), 0)

        return plain._replace(step=step)
