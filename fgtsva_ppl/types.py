"""The vocabulary of this package: what environments, agents and the loop between them exchange.

environment.round -> Round, Outcome -> agent.embed -> agent.represent -> agent.act -> action, ActionInfo -> agent.update
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
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
    """The rewards of a round. The agent observes that of the arm it pulls.

    Attributes:
        means: Mean reward f*(x_t, a) of every arm; regret is measured in these.
        rewards: What every arm would pay: its mean plus noise, a 0/1 reward, a count, ...
    """

    means: Float[Array, "*batch arms"]
    rewards: Float[Array, "*batch arms"]


class Shape(NamedTuple):
    """Facts about an environment that an agent needs before the first round."""

    arms: int
    dim: int  # number of features of an arm
    fixed_actions: bool  # the action set is the same in every round
    linear: bool  # mean rewards are linear in the features, or (data) are fitted as if they were


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
    propensity: Annotated[
        Float[Array | np.ndarray, "*batch"] | float,
        Quantity(
            "float64", "mean", "probability with which the chosen arm is chosen; NaN where it is not known"
        ),
    ] = math.nan
    propensity_error: Annotated[
        Float[Array | np.ndarray, "*batch"] | float,
        Quantity("float32", "mean", "standard error of the propensity; 0 where it is exact"),
    ] = math.nan


class Feedback(ABC):
    """When rewards are observed."""

    @property
    @abstractmethod
    def slots(self) -> int:
        """Rounds whose rewards may be pending at the same time: memory for them is fixed."""

    @abstractmethod
    def draw(self, key: Key[Array, ""], t: Int[Array, ""]) -> Int[Array, ""]:
        """The number of rounds by which the reward of round t (counted from 0) is late.

        With 0 it is observed at the end of its own round; with `slots` or more it is never observed.
        """

    @property
    def one_at_a_time(self) -> bool:
        """Whether no two rewards are ever observed at the end of the same round."""
        return False

    def validate(self, rounds: int) -> None:  # noqa: B027 (an optional hook)
        """Raises InputError if the settings make no sense for so many rounds."""


class Environment(ABC):
    """A contextual bandit. Its randomness comes from the keys only and never depends on the agent."""

    subgaussian: bool = False  # sigma_t is a sub-Gaussian norm: the noise has variance sigma_t^2 / 4

    @property
    def additive_noise(self) -> bool:
        """Whether rewards are means plus a noise that a noise model may replace."""
        return True

    @property
    def content_digest(self) -> str | None:
        """Digest of the data that the rounds are drawn from; None if everything follows from the settings."""
        return None

    @property
    def recommended(self) -> Mapping[str, Any]:
        """Settings of a cell for which neither a study nor the command line has a value, by group or dotted key."""
        return {}

    @property
    def description(self) -> str:
        """What a run states about the environment's data; empty if the settings say everything."""
        return ""

    @property
    def installed(self) -> bool:
        """Whether the data are on this machine; a study may leave out environments whose data are not."""
        return True

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

    @property
    def can_drift(self) -> bool:
        """Whether `moved` is defined, so that a drift can be combined with the environment."""
        return False

    def moved(self, instance: Any, other: Any, angle: Float[Array, ""]) -> Any:
        """The instance with its truth turned by an angle (in radians) towards that of another instance.

        A quarter of a turn gives the other's truth, half a turn the opposite one. Everything else stays.
        """
        raise NotImplementedError(f"the truth of environment {type(self).__name__} cannot drift")

    @property
    def drifts(self) -> bool:
        """Whether the instance of a run changes from round to round."""
        return False

    def evolve(self, key: Key[Array, ""], instance: Any, t: Int[Array, ""]) -> Any:
        """The instance of round t + 1, given that of round t; the key is the drift's own for round t."""
        return instance

    @property
    def feedback(self) -> Feedback | None:
        """When rewards are observed; None: at the end of their own round."""
        return None

    def validate(self, rounds: int) -> None:  # noqa: B027 (an optional hook)
        """Raises InputError if the settings make no sense for so many rounds."""


class Agent(ABC):
    """A policy with a state. The loop calls `embed`, `represent`, `act_with_means` and `update` once per round."""

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

    def round_products(self, shape: Shape, rounds: int) -> float | None:
        """Multiplications of an average round, for estimates of time; None if they follow from the gradients."""
        return None

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
        """Transforms a round once; the result is what `represent` receives."""
        return round

    def represent(self, state: Any, round: Any) -> Any:
        """Transforms an embedded round by what the state has learned; the result is what the methods below receive."""
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
        """Returns the state after the reward of the chosen arm was observed, at the end of its round."""

    def update_late(
        self, state: Any, round: Any, action: Int[Array, ""], reward: Float[Array, ""], age: Int[Array, ""]
    ) -> Any:
        """Returns the state after a reward was observed `age` rounds after its own; `end_round` counts the rounds.

        Agents that do not forget need not know when a reward was earned.
        """
        return self.update(state, round, action, reward)

    def end_round(self, state: Any, round: Any) -> Any:
        """Returns the state after a round, before the rewards that are observed at its end, for agents that forget."""
        return state

    def decision(self, state: Any) -> Any:
        """What the last `act` left in the state for the `update` of the same round."""
        return ()

    def with_decision(self, state: Any, decision: Any) -> Any:
        """The state with what the `act` of an earlier round had left in it."""
        return state

    def in_support(self, state: Any, round: Any) -> Bool[Array, ""]:
        """Whether the current sample has positive density in the round's posterior."""
        return jnp.asarray(True)

    def validate_rewards(self, rewards: Callable[[], np.ndarray], source: str) -> None:  # noqa: B027 (optional)
        """Raises InputError if the agent cannot learn from such rewards.

        Args:
            rewards: Computes the rewards of all arms in a first round, for agents that have to see some.
            source: Who pays them, for the message.
        """

    def validate(self, shape: Shape, first_round: Callable[[], Round]) -> None:  # noqa: B027 (an optional hook)
        """Raises InputError if the agent cannot play rounds of this shape, before anything is compiled.

        Args:
            shape: Of the environment.
            first_round: Computes a first round, for agents that have to see one.
        """
