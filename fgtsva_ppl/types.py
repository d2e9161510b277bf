"""The vocabulary of this package: what environments, agents and the loop between them exchange.

environment.round -> Round, Outcome -> agent.embed -> agent.act -> action, ActionInfo -> agent.update
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, NamedTuple

import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, Key


class Round(NamedTuple):
    """What is revealed before the action.

    Attributes:
        actions: Features phi(x_t, a) of every arm.
        sigma: Standard deviation sigma_t of the round's noise.
    """

    actions: Float[Array, "*batch arms dim"]
    sigma: Float[Array, "*batch"]


class Outcome(NamedTuple):
    """The rewards of a round: arm a would pay means[a] + noise.

    Attributes:
        means: Mean reward f*(x_t, a) of every arm.
        noise: The round's noise, which is the same for all arms.
    """

    means: Float[Array, "*batch arms"]
    noise: Float[Array, "*batch"]


class Shape(NamedTuple):
    """Facts about an environment that an agent needs before the first round."""

    arms: int
    dim: int  # number of features of an arm
    fixed_actions: bool  # the action set is the same in every round
    linear: bool  # mean rewards are linear in the features


class Quantity(NamedTuple):
    """How a per-round quantity is stored: see fgtsva_ppl.simulation.record."""

    dtype: str  # on disk
    aggregate: str  # over blocks of rounds: sum, mean or last
    doc: str


class ActionInfo(NamedTuple):
    """Quality and cost of a decision. Every field is recorded in each round; its annotation declares how.

    A field added here is simulated, aggregated, stored and sent between workers without any further change.
    """

    acceptance_rate: Annotated[
        Float[Array | np.ndarray, "*batch"],
        Quantity(
            "float32", "mean", "mean acceptance probability; NaN where no proposal is accepted or rejected"
        ),
    ]
    num_divergent: Annotated[
        Int[Array | np.ndarray, "*batch"], Quantity("int32", "sum", "divergent transitions")
    ]
    num_gradients: Annotated[
        Int[Array | np.ndarray, "*batch"], Quantity("int32", "sum", "gradient evaluations")
    ]
    num_resets: Annotated[
        Int[Array | np.ndarray, "*batch"] | Bool[Array | np.ndarray, "*batch"],
        Quantity(
            "int32", "sum", "1 if the decision was not finite and the last finite position was used instead"
        ),
    ]
    num_repeats: Annotated[
        Int[Array | np.ndarray, "*batch"] | Bool[Array | np.ndarray, "*batch"] | int,
        Quantity("int32", "sum", "1 if the draw is the position of the last round"),
    ] = 0


class Environment(ABC):
    """A contextual bandit. Its randomness comes from the keys only and never depends on the agent."""

    subgaussian: bool = False  # sigma_t is a sub-Gaussian norm: the noise has variance sigma_t^2 / 4

    @property
    def content_digest(self) -> str | None:
        """Digest of the data that the rounds are drawn from; None if everything follows from the settings."""
        return None

    @property
    @abstractmethod
    def shape(self) -> Shape:
        """Sizes and structure of the rounds."""

    @abstractmethod
    def start(self, key: Key[Array, ""]) -> Any:
        """Draws the instance of a run: everything that stays fixed for all its rounds, such as theta*."""

    @abstractmethod
    def round(self, key: Key[Array, ""], instance: Any, t: Int[Array, ""]) -> tuple[Round, Outcome]:
        """Draws a round.

        Args:
            key: The round's own key.
            instance: What `start` returned for this run.
            t: Number of the round, counted from 0.

        Returns:
            What is revealed before the action, and the rewards of all arms.
        """


class Agent(ABC):
    """A policy with a state. The loop calls `embed`, `act_with_means` and `update` once per round."""

    label: ClassVar[str] = ""  # what messages and tables call it, where that is not its registered name

    @property
    def sequential(self) -> bool:
        """Whether runs are computed one after the other; see samplers.Sampler.sequential."""
        return False

    @property
    def expected_gradients(self) -> int:
        """Gradients that a decision takes with these settings, for estimates of time."""
        return 0

    def num_parameters(self, shape: Shape) -> int:
        """Number of parameters that the agent infers: its matrices have this many rows."""
        return shape.dim

    def stores_rounds(self, shape: Shape) -> bool:
        """Whether all rounds are stored, so that a gradient costs the more the longer the run."""
        return False

    def for_horizon(self, rounds: int) -> "Agent":
        """Fills in every setting that is derived from the number of rounds."""
        return self

    @abstractmethod
    def start(self, key: Key[Array, ""], shape: Shape) -> Any:
        """Returns the state before the first round."""

    def grow(self, state: Any, capacity: int) -> Any:
        """Returns the state with room for `capacity` rounds, for agents that store rounds."""
        return state

    def embed(self, round: Round) -> Any:
        """Transforms a round once; the result is what all methods below receive as `round`."""
        return round

    @abstractmethod
    def act(self, key: Key[Array, ""], state: Any, round: Any) -> tuple[Any, Int[Array, ""], ActionInfo]:
        """Chooses an arm.

        Args:
            key: The agent's own key for this round.
            state: The agent's state.
            round: What `embed` returned.

        Returns:
            The new state, the arm (ties go to the lowest index), and the cost of the decision.
        """

    def act_with_means(
        self, key: Key[Array, ""], state: Any, round: Any, means: Float[Array, " arms"]
    ) -> tuple[Any, Int[Array, ""], ActionInfo]:
        """Chooses an arm, for references that may see the mean rewards. Competitors ignore them."""
        return self.act(key, state, round)

    @abstractmethod
    def update(self, state: Any, round: Any, action: Int[Array, ""], reward: Float[Array, ""]) -> Any:
        """Returns the state after the reward of the chosen arm was observed."""

    def in_support(self, state: Any, round: Any) -> Bool[Array, ""]:
        """Whether the current sample has positive density in the round's posterior."""
        return jnp.asarray(True)

    def validate(self, shape: Shape, first_round: Callable[[], Round]) -> None:  # noqa: B027 (an optional hook)
        """Raises InputError if the agent cannot play rounds of this shape, before anything is compiled.

        Args:
            shape: Of the environment.
            first_round: Computes a first round, for agents that have to see one.
        """
