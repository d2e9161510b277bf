"""Reward programs with an observation model of their own, in one of two forms.

The returned function gives a distribution of rewards for each row, or takes observed rewards and samples them itself:

    return lambda features: dist.Bernoulli(logits=features @ theta)

    def function(features, rewards=None):
        numpyro.sample("reward", dist.Bernoulli(logits=features @ theta), obs=rewards)
        return jax.nn.sigmoid(features @ theta)
    return function
"""

import inspect
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Float, Key
from numpyro import handlers
from numpyro.distributions import Distribution

from fgtsva_ppl.rewards.base import Program
from samplers.errors import InputError

OBSERVED = "rewards"  # name of the argument by which a function takes observed rewards


class ObservedFunction(ABC):
    """A reward function that knows the distribution of its rewards."""

    @abstractmethod
    def __call__(self, features: Float[Array, "rows size"]) -> Float[Array, " rows"]:
        """Mean rewards of the rows of `features`."""

    @abstractmethod
    def log_likelihood(
        self, features: Float[Array, "rows size"], rewards: Float[Array, " rows"]
    ) -> Float[Array, " rows"]:
        """log p(r | f) of each row."""

    @abstractmethod
    def simulate(self, key: Key[Array, ""], features: Float[Array, "rows size"]) -> Float[Array, " rows"]:
        """Draws a reward for each row."""


@dataclass(frozen=True)
class DistributionFunction(ObservedFunction):
    """From a function that returns a distribution of rewards."""

    function: Any

    @override
    def __call__(self, features: Float[Array, "rows size"]) -> Float[Array, " rows"]:
        try:
            return jnp.asarray(self.function(features).mean)
        except NotImplementedError:
            raise InputError(
                "the distribution of rewards that a reward program returns must have a mean"
            ) from None

    @override
    def log_likelihood(
        self, features: Float[Array, "rows size"], rewards: Float[Array, " rows"]
    ) -> Float[Array, " rows"]:
        return jnp.asarray(self.function(features).log_prob(rewards))

    @override
    def simulate(self, key: Key[Array, ""], features: Float[Array, "rows size"]) -> Float[Array, " rows"]:
        return self.function(features).sample(key).astype(float)


@dataclass(frozen=True)
class SamplingFunction(ObservedFunction):
    """From a function that samples its rewards with numpyro.sample(..., obs=rewards) and returns their means.

    Its sites are hidden from the program around it, which would count them once more.
    """

    function: Any

    @override
    def __call__(self, features: Float[Array, "rows size"]) -> Float[Array, " rows"]:
        with handlers.block(), handlers.seed(rng_seed=jax.random.key(0)):
            return jnp.asarray(self.function(features))

    @override
    def log_likelihood(
        self, features: Float[Array, "rows size"], rewards: Float[Array, " rows"]
    ) -> Float[Array, " rows"]:
        sites = self._sites(features, rewards, jax.random.key(0))
        if not all(site["is_observed"] for site in sites):
            raise InputError(
                f"a reward function with an argument {OBSERVED!r} must sample with obs={OBSERVED}"
            )
        return jnp.asarray(sum(_log_probability(site) for site in sites))

    @override
    def simulate(self, key: Key[Array, ""], features: Float[Array, "rows size"]) -> Float[Array, " rows"]:
        (site,) = (site for site in self._sites(features, None, key) if not site["is_observed"])
        return jnp.asarray(site["value"], float)

    def _sites(self, features: Array, rewards: Array | None, key: Array) -> list[dict[str, Any]]:
        with handlers.block(), handlers.trace() as trace, handlers.seed(rng_seed=key):
            self.function(features, rewards)
        sites = [site for site in trace.values() if site["type"] == "sample"]
        if not sites:
            raise InputError(f"a reward function with an argument {OBSERVED!r} must call numpyro.sample")
        return sites


def _log_probability(site: dict[str, Any]) -> Array:
    values = site["fn"].log_prob(site["value"])
    return jnp.asarray(values if site["scale"] is None else site["scale"] * values)


def observed_kind(function: Any, features: Float[Array, "rows size"]) -> type[Any] | None:
    """In which form a function knows the distribution of its rewards; None if it only gives their means."""
    if isinstance(function, ObservedFunction):
        return None
    try:
        arguments = list(inspect.signature(function).parameters)
    except (TypeError, ValueError):
        arguments = []
    if OBSERVED in arguments[1:]:
        return SamplingFunction
    return DistributionFunction if isinstance(function(features), Distribution) else None


def observing(program: Program, kind: type[Any]) -> Program:
    """The program, whose function is wrapped."""
    return lambda: kind(program())
