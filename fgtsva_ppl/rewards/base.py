"""Reward classes: NumPyro programs that sample parameters and return a function from features to mean rewards."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple, override

from jax import Array
from jaxtyping import Float

from samplers.errors import InputError
from samplers.settings import settings

type RewardFunction = Callable[[Array], Array]  # features (rows, size) -> mean rewards (rows,)
type Program = Callable[[], RewardFunction]  # samples parameters with numpyro.sample


@dataclass(frozen=True)
class LinearFunction:
    """features -> features @ coefficients. Programs that return one need only sufficient statistics of the data."""

    coefficients: Float[Array, " size"]

    def __call__(self, features: Float[Array, "rows size"]) -> Float[Array, " rows"]:
        """Mean rewards of the rows of `features`."""
        return features @ self.coefficients


@dataclass(frozen=True)
class NoisyFunction:
    """A reward function with a model of the noise. Programs that return one sample their own variance.

    Attributes:
        mean: features -> mean rewards.
        log_sigma: features -> logarithm of the noise's standard deviation, one for each row.
        constant: Whether `log_sigma` is the same for all features. Then a linear mean needs only sufficient statistics.
    """

    mean: RewardFunction
    log_sigma: RewardFunction
    constant: bool = False

    def __call__(self, features: Float[Array, "rows size"]) -> Float[Array, " rows"]:
        """Mean rewards of the rows of `features`."""
        return self.mean(features)


class Embedded(NamedTuple):
    """A program over transformed features.

    Attributes:
        program: The NumPyro program, whose functions take rows of `size` features.
        embed: Transforms the features of all arms of a round, (arms, dim) -> (arms, size).
        size: Number of transformed features.
        learner: The reward, if its features are learned: then `embed` leaves a round as it is, and
            `learner.features` are what the program takes.
    """

    program: Program
    embed: Callable[[Array], Array]
    size: int
    learner: Any = None


class Reward:
    """A class of reward functions with a prior.

    Subclasses implement `program`, or override `embedded` if their programs take transformed features. They are
    hashable and compared as a whole: another prior is another program.
    """

    @property
    def name(self) -> str:
        """What messages call it."""
        return type(self).__name__

    def program(self, dim: int) -> Program:
        """The NumPyro program for `dim` features."""
        raise NotImplementedError(f"reward {self.name} must implement program(dim) or embedded(arms, dim)")

    def embedded(self, arms: int, dim: int) -> Embedded:
        """The program and its features, for rounds of `arms` arms with `dim` features each.

        Returns:
            By default `program(dim)` over the environment's own features.
        """
        return Embedded(self.program(dim), lambda actions: actions, dim)

    @property
    def depends_on_arms(self) -> bool:
        """Whether `embedded` may depend on the number of arms."""
        return type(self).embedded is not Reward.embedded


@dataclass(frozen=True)
class FunctionReward(Reward):
    """A plain function that is a NumPyro program, with or without the number of features as its argument."""

    function: Callable[..., RewardFunction]

    @property
    @override
    def name(self) -> str:
        return getattr(self.function, "__name__", type(self.function).__name__)

    @override
    def program(self, dim: int) -> Program:
        takes_dim = inspect.signature(self.function).parameters
        return partial(self.function, dim) if takes_dim else self.function


type AnyReward = Reward | Callable[..., RewardFunction]


def as_reward(reward: AnyReward) -> Reward:
    """Wraps a plain function."""
    if isinstance(reward, Reward):
        return reward
    if not callable(reward):
        raise InputError(
            f"reward {type(reward).__name__} must be a subclass of fgtsva_ppl.rewards.Reward, or a function"
        )
    return FunctionReward(reward)


def reward_class(reward: Any) -> type[Any]:
    """The settings class to register for a reward: a class as it is, a function as a class without settings."""
    if isinstance(reward, type):
        return reward
    wrapped = FunctionReward(reward)

    class Registered(Reward):
        @override
        def program(self, dim: int) -> Program:
            return wrapped.program(dim)

    Registered.__name__ = Registered.__qualname__ = wrapped.name
    Registered.__module__ = reward.__module__
    Registered.__doc__ = reward.__doc__ or f"The function {wrapped.name}."
    return settings(Registered)
