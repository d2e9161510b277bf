"""Negative control: a sampler that is wrong by a known amount, which diagnostics have to detect."""

from typing import ClassVar, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Key

from samplers.base import BIASED, Draw, Sampler, SamplerInfo, SamplerState
from samplers.errors import InputError
from samplers.settings import settings, traced_float
from samplers.target import Target


@settings
class Control(Sampler):
    """Negative control: exact draws with a wrong spread, mixed with the prior, or repeated."""

    uses_metric: ClassVar[bool] = False
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "control", f"{BIASED} (negative control)", "0", "exact draws, Gaussian part, prior"
    )

    spread: float = traced_float(
        default=1.0, gt=0, doc="factor on the distance of a draw from the Gaussian part's mean"
    )
    contamination: float = traced_float(default=0.0, ge=0, le=1, doc="probability of a draw from the prior")
    stuck: float = traced_float(default=0.0, ge=0, le=1, doc="probability of repeating the last draw")

    @override
    def sample(self, key: Key[Array, ""], target: Target, state: SamplerState) -> tuple[SamplerState, Draw]:
        if target.exact is None or target.gaussian is None or target.prior is None:
            raise InputError(
                "sampler 'control' needs a posterior with exact draws, a Gaussian part and a prior"
            )
        exact_key, prior_key, choice_key = jax.random.split(key, 3)
        mean = jax.scipy.linalg.solve(*target.gaussian, assume_a="pos")
        probabilities = jnp.array([self.contamination, self.stuck])
        contaminated, repeated = jax.random.uniform(choice_key, (2,)) < probabilities
        spread = mean + self.spread * (target.exact(exact_key) - mean)
        fresh = jnp.where(contaminated, target.prior(prior_key), spread)
        position = jnp.where(repeated, state.position, fresh)
        zero = jnp.asarray(0)
        return SamplerState(position), Draw(position, jnp.asarray(jnp.nan), zero, zero)
