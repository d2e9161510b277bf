"""The likelihoods with a name: squared loss, Bernoulli, Poisson, Student-t."""

from typing import Any, ClassVar, override

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float

from fgtsva_ppl.likelihoods.base import Likelihood, bernoulli_variance, stable_log
from fgtsva_ppl.rewards import AnyReward, LinkedReward
from samplers.errors import InputError
from samplers.settings import choice, settings, traced_float

SMALLEST_MEAN = 1e-12  # of a probability or rate that a reward function without a link returns


def _eta_field() -> Any:
    return traced_float(default=1.0, gt=0, doc="power of the likelihood; 1: Bayes, less: tempered")


def _link_field(link: str) -> Any:
    return choice(
        default="mean",
        options=("mean", link),
        doc=f"what the reward program returns: the mean reward, or its {link}",
    )


@settings
class Squared(Likelihood):
    """The paper's weighted squared loss eta_s (r - f)^2; the weights are the posterior's."""

    conjugate: ClassVar[bool] = True
    eta: ClassVar[float] = 1.0  # type: ignore[misc]

    @override
    def losses(
        self, predictor: Float[Array, " rows"], rewards: Float[Array, " rows"]
    ) -> Float[Array, " rows"]:
        return (rewards - predictor) ** 2

    @override
    def information(self, predictor: Float[Array, " rows"]) -> Float[Array, " rows"]:
        return jnp.full_like(predictor, 2.0)  # the loss has no factor 1/2


class Linkable(Likelihood):
    """A likelihood of means in a limited range, which takes them from the program's output or from a link of it."""

    output: str

    @override
    def reward(self, reward: AnyReward) -> AnyReward:
        return reward if self.output == "mean" else LinkedReward(reward, self.output)


@settings
class Bernoulli(Linkable):
    """0/1 rewards: log p = r log f + (1 - r) log(1 - f), computed from the logit of f where the program has it."""

    eta: float = _eta_field()
    output: str = _link_field("logit")

    link: ClassVar[str | None] = "logit"
    values: ClassVar[str] = "0 or 1"

    @override
    def losses(
        self, predictor: Float[Array, " rows"], rewards: Float[Array, " rows"]
    ) -> Float[Array, " rows"]:
        return jax.nn.softplus(predictor) - rewards * predictor

    @override
    def information(self, predictor: Float[Array, " rows"]) -> Float[Array, " rows"]:
        return bernoulli_variance(predictor)

    @override
    def from_mean(self, means: Float[Array, " rows"]) -> Float[Array, " rows"]:
        return stable_log(means, SMALLEST_MEAN) - stable_log(1 - means, SMALLEST_MEAN)

    @override
    def is_possible(self, rewards: Float[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        return np.isin(rewards, (0.0, 1.0))

    @override
    def check_means(self, means: Float[np.ndarray, "..."], reward: str) -> None:
        if np.any((means < 0) | (means > 1)):
            raise InputError(
                f"likelihood bernoulli needs mean rewards between 0 and 1, and reward {reward} leaves them: use reward "
                "logistic, or likelihood.output=logit to take its output as the logit"
            )


@settings
class Poisson(Linkable):
    """Counts: log p = r log f - f - log r!, computed from the logarithm of f where the program has it."""

    eta: float = _eta_field()
    output: str = _link_field("log")

    link: ClassVar[str | None] = "log"
    values: ClassVar[str] = "counts (0, 1, 2, ...)"

    @override
    def losses(
        self, predictor: Float[Array, " rows"], rewards: Float[Array, " rows"]
    ) -> Float[Array, " rows"]:
        return jnp.exp(predictor) - rewards * predictor

    @override
    def information(self, predictor: Float[Array, " rows"]) -> Float[Array, " rows"]:
        return jnp.exp(predictor)

    @override
    def from_mean(self, means: Float[Array, " rows"]) -> Float[Array, " rows"]:
        return stable_log(means, SMALLEST_MEAN)

    @override
    def is_possible(self, rewards: Float[np.ndarray, "..."]) -> Bool[np.ndarray, "..."]:
        return (rewards >= 0) & (rewards == np.floor(rewards))

    @override
    def check_means(self, means: Float[np.ndarray, "..."], reward: str) -> None:
        if np.any(means < 0):
            raise InputError(
                f"likelihood poisson needs positive mean rewards, and reward {reward} has negative ones: use reward "
                "loglinear, or likelihood.output=log to take its output as the logarithm of the mean"
            )


@settings
class StudentT(Likelihood):
    """Heavy tails: log p = -(df + 1)/2 log(1 + ((r - f)/scale)^2 / df); one outlier moves the posterior little."""

    df: float = traced_float(default=4.0, gt=0, doc="degrees of freedom")
    scale: float = traced_float(default=1.0, gt=0, doc="scale of the noise; sigma_t is not used")
    eta: float = _eta_field()

    @override
    def losses(
        self, predictor: Float[Array, " rows"], rewards: Float[Array, " rows"]
    ) -> Float[Array, " rows"]:
        return (self.df + 1) / 2 * jnp.log1p(((rewards - predictor) / self.scale) ** 2 / self.df)

    @override
    def information(self, predictor: Float[Array, " rows"]) -> Float[Array, " rows"]:
        return jnp.full_like(predictor, (self.df + 1) / ((self.df + 3) * self.scale**2))
