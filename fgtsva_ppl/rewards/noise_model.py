"""A reward program with a model of the noise inside, for rounds whose variance is never revealed."""

from dataclasses import dataclass

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array

from fgtsva_ppl.rewards.context import context
from fgtsva_ppl.rewards.program import (
    AnyReward,
    Embedded,
    NoisyFunction,
    RewardFunction,
    embedded,
    reward_name,
)

SPREAD = 1.5  # standard deviation of the logarithm of the noise's scale under its prior


@dataclass(frozen=True)
class WithNoiseModel:
    """The reward, and log sigma: one for all rounds, or linear in the round's context as well."""

    reward: AnyReward
    by_context: bool

    @property
    def __name__(self) -> str:
        """The reward's."""
        return reward_name(self.reward)

    def embedded(self, arms: int, dim: int) -> Embedded:
        """Sites noise_scale and, by context, noise_slope beside those of the reward."""
        inner = embedded(self.reward, dim, arms)

        def embed(actions: Array) -> Array:
            features = inner.embed(actions)
            if not self.by_context:
                return features
            around = jnp.broadcast_to(context(actions), actions.shape)
            return jnp.concatenate([features, around], axis=1)

        def program() -> RewardFunction:
            mean = inner.program()
            if isinstance(mean, NoisyFunction):
                return mean
            scale = numpyro.sample("noise_scale", dist.LogNormal(0.0, SPREAD))
            if not self.by_context:
                return NoisyFunction(
                    mean, lambda rows: jnp.broadcast_to(jnp.log(scale), rows.shape[:1]), True
                )
            slope = numpyro.sample("noise_slope", dist.Normal(0, dim**-0.5).expand([dim]).to_event(1))
            return NoisyFunction(
                lambda rows: mean(rows[:, : inner.size]),
                lambda rows: jnp.log(scale) + rows[:, inner.size :] @ slope,
            )

        return Embedded(program, embed, inner.size + dim * self.by_context)
