"""Langevin steps without an accept test: the paper's sampler."""

from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from samplers.adaptation.preconditioning import Preconditioned, step_rule, whitening
from samplers.base import BIASED, Kernel, SamplerInfo, Step, keys
from samplers.markov import MarkovSampler
from samplers.settings import settings, static_int, traced_float, traced_int
from samplers.sgmcmc._fast_normal import normal_rows


def minibatch() -> int:
    """The settings field of every sampler that can do with an estimated gradient."""
    made: int = static_int(
        default=0, doc="data that each gradient is estimated from (it counts as one gradient); 0: all"
    )
    return made


def decaying(default: float = 0.0) -> float:
    """The settings field for a step that falls within the round."""
    made: float = traced_float(
        default=default, ge=0, doc="the k-th step of a round is k^-decay times as long (squared length)"
    )
    return made


class Langevin(MarkovSampler):
    """x + h grad + sqrt(2h) noise, with h = step / largest curvature; biased by O(h)."""

    info: ClassVar[SamplerInfo] = SamplerInfo(
        "gradient, unadjusted", f"{BIASED}, O(step)", "steps", "precision, for the step"
    )
    step: float
    minibatch: int

    def kernel(self, frame: Preconditioned) -> Kernel:
        """BlackJAX's SGLD, but for the noise, which is drawn for several steps at once; the batch is a key."""
        gradient = frame.gradient(self.minibatch)
        size = self.step / frame.curvature

        def randomness(key: Array, indices: Array) -> tuple[Array, Array | None]:
            if not self.minibatch:  # a full gradient has no use for a key
                return normal_rows(key, indices, frame.dim), None
            noise, batches = jnp.moveaxis(jax.vmap(jax.random.split)(keys(key, indices)), 1, 0)
            return jax.vmap(partial(jax.random.normal, shape=(frame.dim,)))(noise), batches

        def step(random: tuple[Array, Array | None], position: Array) -> tuple[Array, Step]:
            noise, batch = random
            moved = position + size * gradient(position, batch) + jnp.sqrt(2 * size) * noise
            return moved, Step(jnp.nan, ~jnp.all(jnp.isfinite(moved)), 1)

        return Kernel(lambda key, position: position, step, lambda state: state, 0, randomness)


@settings
class SGLD(Langevin):
    """The paper's sampler: Langevin steps in plain coordinates from a warm start."""

    steps: int = traced_int(default=20, ge=1, doc="Langevin steps a round (the paper's K)")
    step: float = traced_float(
        default=0.5, gt=0, doc="step size in units of 1 / largest curvature; unstable from 2 on"
    )
    whiten: str = whitening("none")
    rule: str = step_rule()
    decay: float = decaying()
    minibatch: int = minibatch()
