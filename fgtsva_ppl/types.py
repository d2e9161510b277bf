"""The vocabulary of this package: what environments, agents and the loop between them say to each other."""

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol, runtime_checkable

from jax import Array


class Round(NamedTuple):
    """What is revealed before the action: the features phi(x_t, a) of every arm, and sigma_t."""

    actions: Array  # (arms, dim)
    sigma: Array


class Shape(NamedTuple):
    """What an agent must know of an environment before the first round."""

    arms: int
    dim: int
    fixed_actions: bool  # the same action set in every round
    linear: bool  # mean rewards are linear in the features


class Outcome(NamedTuple):
    """What an environment answers for every arm, should it be pulled: means, and the round's one noise value."""

    means: Array  # (arms,)
    noise: Array


@runtime_checkable
class Environment(Protocol):
    """Who answers. All randomness comes from the keys, none of it depends on the agent."""

    @property
    def shape(self) -> Shape:
        """Sizes and structure."""
        ...

    def start(self, key: Array) -> Any:
        """What is fixed for a run: theta*, and the action set if it never changes."""
        ...

    def round(self, key: Array, instance: Any) -> tuple[Round, Outcome]:
        """One round: what is revealed, and what would be answered."""
        ...


@runtime_checkable
class Timed(Protocol):
    """An environment whose rounds depend on their number."""

    def round_at(self, key: Array, instance: Any, t: Array) -> tuple[Round, Outcome]:
        """Called instead of `round`; t is counted from 0."""
        ...


class ActionInfo(NamedTuple):
    """What a decision cost, and how it went. NaN where a notion has no meaning."""

    acceptance_rate: Array
    num_divergent: Array
    num_gradients: Array
    num_resets: Array  # 1 where the sampler went non-finite and the last finite position was used instead


@runtime_checkable
class Agent(Protocol):
    """Who decides."""

    @property
    def sequential(self) -> bool:
        """See samplers.Sampler.sequential."""
        ...

    def for_horizon(self, rounds: int) -> "Agent":
        """The same agent with every setting that is derived from the horizon filled in."""
        ...

    def start(self, key: Array, shape: Shape) -> Any:
        """The state before the first round, with room for none."""
        ...

    def grow(self, state: Any, capacity: int) -> Any:
        """The same state with room for `capacity` rounds, where the agent keeps rounds."""
        ...

    def act(self, key: Array, state: Any, seen: Round) -> tuple[Any, Array, ActionInfo]:
        """The arm to pull (ties go to the lowest index), and what the decision cost."""
        ...

    def update(self, state: Any, seen: Round, action: Array, reward: Array) -> Any:
        """Takes in what was observed."""
        ...


@runtime_checkable
class Answerable(Protocol):
    """An agent that stands somewhere in a posterior, and can be asked whether that is a place at all."""

    def outside_support(self, state: Any, seen: Round) -> Array:
        """Whether the log-density of where it stands, in a round's posterior, is -inf or not a number."""
        ...


@runtime_checkable
class Particular(Protocol):
    """An agent that may find, before it plays, that it can make nothing of the arms."""

    def check(self, shape: Shape, first: Callable[[], Round]) -> None:
        """Raises InputError then; `first` gives a first round to whoever has to see one."""
        ...


@runtime_checkable
class Knowing(Protocol):
    """An agent that is shown the mean rewards before it acts: a reference, never a competitor."""

    def act_knowing(self, state: Any, means: Array) -> tuple[Any, Array, ActionInfo]:
        """Called instead of `act`."""
        ...
