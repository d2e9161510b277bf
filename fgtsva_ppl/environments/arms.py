"""K-armed bandits: a mean reward per arm and one-hot features, so that a linear posterior is a posterior per arm."""

from typing import override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Int, Key

from fgtsva_ppl.environments.linear import Instance, LinearEnvironment, turned
from fgtsva_ppl.environments.noise import ConstantNoise, StationaryNoise
from fgtsva_ppl.types import Outcome, Round, Shape
from samplers.settings import choice, settings, static_int, traced_float

MAX_BERNOULLI_DEVIATION = 0.5  # standard deviation of a Bernoulli reward with mean 1/2, and of none more


@settings
class Arms(LinearEnvironment):
    """A K-armed bandit: one-hot features, so that a linear posterior is a posterior per arm.

    Means are drawn for each run from N(0, spread^2), those of Bernoulli rewards uniformly from [0, 1]; or one arm at
    random is better than all others by `gap`, for Bernoulli rewards around 1/2.
    """

    arms: int = static_int(default=5, ge=2, doc="arms K")
    gap: float | None = traced_float(
        default=None,
        gt=0,
        doc="mean of one arm, drawn for each run, above that of all others; null: normal means",
    )
    spread: float = traced_float(default=1.0, gt=0, doc="standard deviation of the means, where gap is null")
    vectors: int = static_int(
        default=0,
        ge=0,
        doc="means are norms of vectors of this dimension with N(0, spread^2) entries; 0: normal",
    )
    scale: float = traced_float(default=1.0, ge=0, doc="standard deviation of Gaussian noise")
    rewards: str = choice(
        default="gaussian",
        options=("gaussian", "bernoulli"),
        doc="rewards: mean plus normal noise, or 0 and 1",
    )

    @property
    def dim(self) -> int:  # type: ignore[override]
        """One feature per arm."""
        return self.arms

    @property
    @override
    def shape(self) -> Shape:
        return Shape(self.arms, self.arms, fixed_actions=True, linear=True)

    @property
    @override
    def noise(self) -> StationaryNoise:
        return ConstantNoise(self.scale if self.rewards == "gaussian" else MAX_BERNOULLI_DEVIATION)

    @override
    def start(self, key: Key[Array, ""]) -> Instance:
        bernoulli = self.rewards == "bernoulli"
        if self.gap is None and bernoulli:
            return Instance(jax.random.uniform(key, (self.arms,)), None)
        if self.gap is None and self.vectors:
            vectors = self.spread * jax.random.normal(key, (self.arms, self.vectors))
            return Instance(jnp.linalg.norm(vectors, axis=1), None)
        if self.gap is None:
            return Instance(self.spread * jax.random.normal(key, (self.arms,)), None)
        best = jax.random.randint(key, (), 0, self.arms)
        means = self.gap * jax.nn.one_hot(best, self.arms)
        return Instance(jnp.clip(means + (1 - self.gap) / 2, 0, 1) if bernoulli else means, None)

    @override
    def moved(self, instance: Instance, other: Instance, angle: Float[Array, ""]) -> Instance:
        """Turns the means; those of Bernoulli rewards around 1/2, and clipped to [0, 1]."""
        if self.rewards == "gaussian":
            return super().moved(instance, other, angle)
        theta = turned(instance.theta - 0.5, other.theta - 0.5, angle) + 0.5
        return instance._replace(theta=jnp.clip(theta, 0, 1))

    @override
    def round(self, key: Key[Array, ""], instance: Instance, t: Int[Array, ""]) -> tuple[Round, Outcome]:
        seen, outcome = super().round(key, instance, t)
        if self.rewards == "gaussian":
            return seen, outcome
        uniform = jax.random.uniform(key)  # the same for all arms, as the noise of Gaussian rewards is
        return seen, outcome._replace(rewards=jnp.where(uniform < outcome.means, 1.0, 0.0))

    @override
    def round_actions(self, key: Key[Array, ""]) -> Float[Array, "arms dim"]:
        return jnp.eye(self.arms)
