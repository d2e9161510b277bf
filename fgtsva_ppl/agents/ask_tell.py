"""Ask and tell: the Thompson agent for environments that are not written in JAX.

    agent = ThompsonAgent(reward, posterior, sampler)
    arm = agent.ask(features, sigma)
    agent.tell(reward)

It compiles once. Where rounds are stored, it compiles again whenever their buffer is full and doubles.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, Key

from fgtsva_ppl.agents import serialization
from fgtsva_ppl.agents._inputs import feature_matrix, finite_number, standard_deviation
from fgtsva_ppl.agents.thompson import EmbeddedRound, Thompson, ThompsonState
from fgtsva_ppl.likelihoods import Likelihood, Squared
from fgtsva_ppl.posteriors import FGTSVA, Posterior
from fgtsva_ppl.posteriors.history import SMALLEST_CAPACITY
from fgtsva_ppl.rewards import AnyReward, Linear
from fgtsva_ppl.types import ActionInfo, Round, Shape
from samplers import MALA, Sampler
from samplers.errors import InputError

START, ASK, PROBABILITIES = range(3)  # streams of the agent's randomness


class Question(NamedTuple):
    """A question whose reward has not been observed yet."""

    features: Float[np.ndarray, "arms size"]  # as the reward's program takes them
    sigma: float
    arm: int  # the answer


class ThompsonAgent:
    """Thompson sampling, one round at a time.

    The agent draws f_t from the posterior of `Thompson` and answers with argmax_a f_t(x_t, a). Its answers are
    determined by its settings, its seed, the questions and the rewards.

    Attributes:
        settings: The underlying agent.
        questions: Number of questions so far, which is the number of the next one.
        num_resets: Number of questions in which the sampler was not finite and was reset.
        pending: Questions without a reward, by their numbers.
    """

    def __init__(
        self,
        reward: AnyReward = Linear(),  # noqa: B008 (frozen)
        posterior: Posterior = FGTSVA(),  # noqa: B008
        sampler: Sampler = MALA(),  # noqa: B008
        *,
        warm_start: bool = True,
        control_variate: bool = False,
        likelihood: Likelihood = Squared(),  # noqa: B008
        horizon: int | np.integer = 1000,
        seed: int | np.integer = 0,
    ) -> None:
        """Creates an agent without any data.

        Args:
            reward: A reward class, or a function that is a NumPyro program.
            posterior: The weights of the data and the feel-good bonus.
            sampler: Draws from the posterior.
            warm_start: See `Thompson`.
            control_variate: See `Thompson`.
            likelihood: What an observed reward says.
            horizon: Number of rounds, for settings of the posterior that are derived from it.
            seed: Of the agent's own randomness.
        """
        agent = Thompson(reward, posterior, sampler, warm_start, control_variate, likelihood)
        self.settings = agent.for_horizon(int(horizon))
        self.horizon, self.seed = int(horizon), int(seed)
        self.questions = 0
        self.num_resets = 0
        self.pending: dict[int, Question] = {}
        self._key = jax.random.key(seed)
        self._shape: Shape | None = None
        self._state: ThompsonState | None = None
        self._capacity = SMALLEST_CAPACITY

    def ask(self, features: Any, sigma: Any = None) -> int:
        """Chooses an arm.

        Args:
            features: One row for each arm: anything that NumPy can convert to an array of shape (arms, dim).
            sigma: A number, the standard deviation of the round's noise, if the posterior needs it before the action.

        Returns:
            The index of the arm to pull.
        """
        state, round = self._prepare(features, sigma)
        key = self._stream(ASK, self.questions)
        self._state, arm, info, embedded = _act(self.settings, key, state, round)
        self.num_resets += int(info.num_resets)
        self.pending[self.questions] = Question(np.asarray(embedded), float(round.sigma), int(arm))
        self.questions += 1
        return int(arm)

    def tell(self, reward: Any, question: int | None = None, sigma: Any = None) -> None:
        """Adds the reward of a question.

        Args:
            reward: The observed reward, a number.
            question: Number of the question, counted from 0; None for the only one that is pending.
            sigma: Standard deviation of the round's noise, if the posterior needs it with the reward.
        """
        number = self._number(question)
        answered = self.pending[number]
        if self.settings.posterior.needs_sigma_after:
            answered = answered._replace(sigma=standard_deviation(sigma, "tell"))
        elif sigma is not None:
            raise InputError("tell takes sigma only for a posterior with variance=revealed_after")
        value = self._reward(reward)
        state = self._with_room()
        assert self._shape is not None
        round = EmbeddedRound(
            self.settings.model(self._shape.arms, self._shape.dim),
            Round(jnp.asarray(answered.features), jnp.asarray(answered.sigma)),
        )
        late = self.settings.posterior.forgets and self.questions - 1 - number  # else its age does not matter
        age = jnp.asarray(late) if late else None
        self._state = _update(self.settings, state, round, jnp.asarray(answered.arm), jnp.asarray(value), age)
        del self.pending[number]

    def tell_all(self, rewards: Mapping[int, Any], sigmas: Mapping[int, Any] | None = None) -> None:
        """Adds the rewards of several questions, by their numbers. If one is not valid, none is added."""
        for question, reward in rewards.items():
            self._number(question)
            self._reward(reward)
            if self.settings.posterior.needs_sigma_after:
                standard_deviation(None if sigmas is None else sigmas.get(question), "tell")
        for question, reward in rewards.items():
            self.tell(reward, question, None if sigmas is None else sigmas.get(question))

    def forget(self, questions: Iterable[int]) -> None:
        """Drops questions whose rewards will never be observed."""
        for question in questions:
            del self.pending[self._number(question)]

    def probabilities(self, features: Any, sigma: Any = None, draws: int = 100) -> Float[np.ndarray, " arms"]:
        """Estimates the probability with which `ask` chooses each arm, without changing the agent.

        Args:
            features: As in `ask`.
            sigma: As in `ask`.
            draws: Number of independent draws from the agent's current state.

        Returns:
            The fraction of draws under which each arm is best.
        """
        state, round = self._prepare(features, sigma)
        keys = jax.random.split(self._stream(PROBABILITIES, self.questions), draws)
        arms = np.asarray(_arms(self.settings, keys, state, round))
        return np.bincount(arms, minlength=len(round.actions)) / draws

    def save(self, path: str | Path) -> None:
        """Writes the agent to one file of numbers and text, without code."""
        serialization.save(
            Path(path),
            self.settings,
            self._numbers(),
            None if self._state is None else jax.tree.leaves(self._state),
            {str(number): question for number, question in self.pending.items()},
        )

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        reward: AnyReward | None = None,
        posterior: Posterior | None = None,
        sampler: Sampler | None = None,
        likelihood: Likelihood | None = None,
    ) -> "ThompsonAgent":
        """Reads a saved agent, which continues exactly as the original would have.

        Args:
            path: The file.
            reward: The reward, if it has no registered name.
            posterior: The posterior, if it has no registered name.
            sampler: The sampler, if it has no registered name.
            likelihood: The likelihood, if it has no registered name.
        """
        given = {"reward": reward, "posterior": posterior, "sampler": sampler, "likelihood": likelihood}
        saved = serialization.load(Path(path), given)
        numbers = saved.numbers
        names = ("warm_start", "control_variate", "horizon", "seed")
        agent = cls(**saved.parts, **{name: numbers[name] for name in names})
        agent.questions, agent.num_resets = numbers["questions"], numbers["num_resets"]
        agent._capacity = numbers["capacity"]
        agent.pending = {int(number): Question(*question) for number, question in saved.pending.items()}
        if saved.leaves is not None:
            agent._shape = Shape(*numbers["shape"])
            empty = jax.eval_shape(partial(agent._empty, agent._shape))
            agent._state = serialization.unflatten(empty, saved.leaves)
        return agent

    def _numbers(self) -> dict[str, Any]:
        return {
            "warm_start": self.settings.warm_start,
            "control_variate": self.settings.control_variate,
            "horizon": self.horizon,
            "seed": self.seed,
            "questions": self.questions,
            "num_resets": self.num_resets,
            "capacity": self._capacity,
            "shape": self._shape,
        }

    def _prepare(self, features: Any, sigma: Any) -> tuple[ThompsonState, Round]:
        """The state before a question, and the question as a round."""
        actions = feature_matrix(features)
        deviation = standard_deviation(sigma, "ask") if self.settings.posterior.needs_sigma_before else 0.0
        round = Round(jnp.asarray(actions), jnp.asarray(deviation))
        if self._shape is not None and actions.shape != self._shape[:2]:
            raise InputError(f"features have shape {actions.shape}, and had {self._shape[:2]} before")
        if self._state is None:
            shape = Shape(len(actions), actions.shape[1], fixed_actions=False, linear=False)
            self.settings.validate(shape, lambda: round)
            self._shape, self._state = shape, self._empty(shape)  # last, so that an error changes nothing
        return self._state, round

    def _empty(self, shape: Shape) -> ThompsonState:
        start = self.settings.start(self._stream(START, 0), shape)
        return self.settings.grow(start, self._capacity)

    def _with_room(self) -> ThompsonState:
        """The state, with room for one more round."""
        assert self._state is not None
        if int(self._state.history.rounds) == self._capacity:
            self._capacity *= 2
            self._state = _grow(self.settings, self._state, self._capacity)
        return self._state

    def _reward(self, reward: Any) -> float:
        """A reward that the likelihood can take."""
        value = finite_number(reward, "reward")
        self.settings.likelihood.check_rewards(np.asarray([value]), "tell")
        return value

    def _number(self, question: int | None) -> int:
        pending = ", ".join(map(str, self.pending)) or "none"
        if question is None:
            if len(self.pending) != 1:
                raise InputError(f"tell which question it was: pending are {pending}")
            return next(iter(self.pending))
        if question not in self.pending:
            raise InputError(f"question {question!r} is not pending; pending are {pending}")
        return question

    def _stream(self, stream: int, number: int) -> Key[Array, ""]:
        return jax.random.fold_in(jax.random.fold_in(self._key, stream), number)


@jax.jit
def _act(
    agent: Thompson, key: Key[Array, ""], state: ThompsonState, round: Round
) -> tuple[ThompsonState, Int[Array, ""], ActionInfo, Float[Array, "arms size"]]:
    embedded = agent.embed(round)
    state, arm, info = agent.act(key, state, agent.represent(state, embedded))
    return agent.end_round(state, embedded), arm, info, embedded.round.actions


@jax.jit
def _update(
    agent: Thompson,
    state: ThompsonState,
    round: EmbeddedRound,
    arm: Int[Array, ""],
    reward: Float[Array, ""],
    age: Int[Array, ""] | None,
) -> ThompsonState:
    return agent.observe(state, agent.represent(state, round), arm, reward, 0 if age is None else age)


@partial(jax.jit, static_argnames="capacity")
def _grow(agent: Thompson, state: ThompsonState, capacity: int) -> ThompsonState:
    return agent.grow(state, capacity)


@jax.jit
def _arms(
    agent: Thompson, keys: Key[Array, " draws"], state: ThompsonState, round: Round
) -> Int[Array, " draws"]:
    embedded = agent.represent(state, agent.embed(round))

    def arm(key: Array) -> Array:
        return agent.act(key, state, embedded)[1]

    return jax.lax.map(arm, keys) if agent.sequential else jax.vmap(arm)(keys)
