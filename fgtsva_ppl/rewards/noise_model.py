"""A reward program with a model of the noise, for rounds whose variance is never revealed."""

from dataclasses import dataclass
from typing import override

import jax.numpy as jnp
import numpyro
import numpyro.distributions as dist
from jax import Array

from fgtsva_ppl.rewards.base import AnyReward, Embedded, NoisyFunction, Reward, RewardFunction, as_reward
from fgtsva_ppl.rewards.context import context
from samplers.errors import InputError

LOG_SCALE_SD = 1.5  # prior standard deviation of the logarithm of the noise's scale


@dataclass(frozen=True)
class WithNoiseModel(Reward):
    """A reward with sites for its noise: log sigma is one number, or linear in the round's context.

    Attributes:
        reward: The mean reward. If its program returns a NoisyFunction, that model of the noise is used.
        by_context: Whether log sigma depends on the context.
    """

    reward: AnyReward
    by_context: bool

    @property
    @override
    def name(self) -> str:
        return as_reward(self.reward).name

    @override
    def embedded(self, arms: int, dim: int) -> Embedded:
        """Adds the sites noise_scale ~ LogNormal(0, 1.5^2) and, by context, noise_slope ~ N(0, I/d)."""
        inner = as_reward(self.reward).embedded(arms, dim)
        if inner.learner is not None:
            raise InputError("posterior.variance=modelled needs a reward whose features are not learned")

        def embed(actions: Array) -> Array:
            features = inner.embed(actions)
            if not self.by_context:
                return features
            contexts = jnp.broadcast_to(context(actions), actions.shape)
            return jnp.concatenate([features, contexts], axis=1)

        def program() -> RewardFunction:
            mean = inner.program()
            if isinstance(mean, NoisyFunction):
                return mean
            scale = numpyro.sample("noise_scale", dist.LogNormal(0.0, LOG_SCALE_SD))
            if not self.by_context:
                return NoisyFunction(
                    mean, lambda rows: jnp.broadcast_to(jnp.log(scale), rows.shape[:1]), constant=True
                )
            slope = numpyro.sample("noise_slope", dist.Normal(0, dim**-0.5).expand([dim]).to_event(1))
            return NoisyFunction(
                lambda rows: mean(rows[:, : inner.size]),
                lambda rows: jnp.log(scale) + rows[:, inner.size :] @ slope,
            )

        return Embedded(program, embed, inner.size + dim * self.by_context)
