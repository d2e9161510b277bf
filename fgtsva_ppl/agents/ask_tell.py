"""Ask and tell: the Thompson agent for an environment that is not written in JAX.

    agent = ThompsonAgent(reward, posterior, sampler)
    arm = agent.ask(features, sigma)
    agent.tell(reward)

Compiled once, and where rounds are kept once more whenever they outgrow their buffer, which then doubles.
"""

from collections.abc import Iterable, Mapping
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array

from fgtsva_ppl.agents import serialization
from fgtsva_ppl.agents.thompson import Thompson, ThompsonState
from fgtsva_ppl.posteriors.base import AFTERWARDS, REVEALED, Posterior
from fgtsva_ppl.posteriors.feel_good import FGTSVA
from fgtsva_ppl.posteriors.history import SMALLEST_CAPACITY
from fgtsva_ppl.rewards import AnyReward, Linear
from fgtsva_ppl.types import Round, Shape
from samplers import MALA, Sampler
from samplers.errors import InputError

START, ASK, PROBABILITIES = range(3)  # streams of the agent's randomness


class Question(NamedTuple):
    """What was asked, and which arm was the answer; its reward is yet to be told."""

    features: np.ndarray  # (arms, dim)
    sigma: float
    arm: int


class ThompsonAgent:
    """Thompson sampling, a round at a time. What it does follows from its settings, its seed and what it is told."""

    def __init__(
        self,
        reward: AnyReward = Linear(),  # noqa: B008 (frozen)
        posterior: Posterior = FGTSVA(),  # noqa: B008
        sampler: Sampler = MALA(),  # noqa: B008
        *,
        warm: bool = True,
        control_variate: bool = False,
        horizon: int = 1000,
        seed: int = 0,
    ) -> None:
        """`horizon` is used where the posterior derives a setting from the number of rounds."""
        self.settings = Thompson(reward, posterior, sampler, warm, control_variate).for_horizon(horizon)
        self.horizon, self.seed = int(horizon), int(seed)
        self.questions = 0  # asked so far; the next one has this number
        self.num_resets = 0  # of them, those in which the sampler went non-finite and was put back
        self.pending: dict[int, Question] = {}
        self._key = jax.random.key(seed)
        self._shape: Shape | None = None
        self._state: ThompsonState | None = None
        self._capacity = SMALLEST_CAPACITY

    def ask(self, features: Any, sigma: float | None = None) -> int:
        """The arm to pull: `features` has a row for each, `sigma` is the noise that the round is known to have."""
        state, seen = self._begun(features, sigma)
        key = self._stream(ASK, self.questions)
        self._state, arm, effort = _act(self.settings, key, state, seen)
        self.num_resets += int(effort.num_resets)
        self.pending[self.questions] = Question(np.asarray(seen.actions), float(seen.sigma), int(arm))
        self.questions += 1
        return int(arm)

    def tell(self, reward: float, question: int | None = None, sigma: float | None = None) -> None:
        """The reward of a question: of the one that is pending, or by its number (they count from 0)."""
        number = self._number(question)
        asked = self.pending[number]
        if self.settings.posterior.sigma == AFTERWARDS:
            asked = asked._replace(sigma=_deviation(sigma, "tell"))
        elif sigma is not None:
            raise InputError("sigma is told afterwards only to a posterior with sigma=afterwards")
        value = _finite(reward, "reward")
        state = self._room()
        seen = Round(jnp.asarray(asked.features), jnp.asarray(asked.sigma))
        self._state = _update(self.settings, state, seen, jnp.asarray(asked.arm), jnp.asarray(value))
        del self.pending[number]

    def tell_all(self, rewards: Mapping[int, float], sigmas: Mapping[int, float] | None = None) -> None:
        """The rewards of several questions, by their numbers."""
        for question, reward in rewards.items():  # all of it first: a batch with a mistake is not begun
            self._number(question)
            _finite(reward, "reward")
            if self.settings.posterior.sigma == AFTERWARDS:
                _deviation(None if sigmas is None else sigmas.get(question), "tell")
        for question, reward in rewards.items():
            self.tell(reward, question, None if sigmas is None else sigmas.get(question))

    def forget(self, questions: Iterable[int]) -> None:
        """Questions whose rewards will never come."""
        for question in questions:
            del self.pending[self._number(question)]

    def probabilities(self, features: Any, sigma: float | None = None, draws: int = 100) -> np.ndarray:
        """How often each arm is best under so many draws, each made as `ask` would make it. Nothing is changed."""
        state, seen = self._begun(features, sigma)
        keys = jax.random.split(self._stream(PROBABILITIES, self.questions), draws)
        arms = np.asarray(_arms(self.settings, keys, state, seen))
        return np.bincount(arms, minlength=len(seen.actions)) / draws

    def save(self, path: str | Path) -> None:
        """Writes everything to one file, which holds numbers and text and no code."""
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
    ) -> "ThompsonAgent":
        """The agent that was saved, to go on exactly where it was. Parts that have no registered name are given."""
        saved = serialization.load(Path(path), {"reward": reward, "posterior": posterior, "sampler": sampler})
        numbers = saved.numbers
        names = ("warm", "control_variate", "horizon", "seed")
        made = cls(**saved.parts, **{name: numbers[name] for name in names})
        made.questions, made.num_resets = numbers["questions"], numbers["num_resets"]
        made._capacity = numbers["capacity"]
        made.pending = {int(number): Question(*question) for number, question in saved.pending.items()}
        if saved.leaves is not None:
            made._shape = Shape(*numbers["shape"])
            empty = jax.eval_shape(partial(made._empty, made._shape))
            made._state = serialization.num_resets(empty, saved.leaves)
        return made

    def _numbers(self) -> dict[str, Any]:
        return {
            "warm": self.settings.warm,
            "control_variate": self.settings.control_variate,
            "horizon": self.horizon,
            "seed": self.seed,
            "questions": self.questions,
            "num_resets": self.num_resets,
            "capacity": self._capacity,
            "shape": self._shape,
        }

    def _begun(self, features: Any, sigma: float | None) -> tuple[ThompsonState, Round]:
        """The state with which a question is met, and the question as a round."""
        actions, posterior = _matrix(features), self.settings.posterior
        deviation = _deviation(sigma, "ask") if posterior.needs_sigma and posterior.sigma == REVEALED else 0.0
        seen = Round(jnp.asarray(actions), jnp.asarray(deviation))
        if self._shape is not None and actions.shape != self._shape[:2]:
            raise InputError(f"features have shape {actions.shape}, and had {self._shape[:2]} before")
        if self._state is None:
            shape = Shape(len(actions), actions.shape[1], fixed_actions=False, linear=False)
            self.settings.check(shape, lambda: seen)
            self._shape, self._state = shape, self._empty(shape)  # not before all is well
        return self._state, seen

    def _empty(self, shape: Shape) -> ThompsonState:
        start = self.settings.start(self._stream(START, 0), shape)
        return self.settings.grow(start, self._capacity)

    def _room(self) -> ThompsonState:
        """The state, with room for one more round."""
        assert self._state is not None
        if int(self._state.history.rounds) == self._capacity:
            self._capacity *= 2
            self._state = _grown(self.settings, self._state, self._capacity)
        return self._state

    def _number(self, question: int | None) -> int:
        waiting = ", ".join(map(str, self.pending)) or "none"
        if question is None:
            if len(self.pending) != 1:
                raise InputError(f"tell which question it was: pending are {waiting}")
            return next(iter(self.pending))
        if question not in self.pending:
            raise InputError(f"question {question!r} is not pending; pending are {waiting}")
        return question

    def _stream(self, stream: int, number: int) -> Array:
        return jax.random.fold_in(jax.random.fold_in(self._key, stream), number)


@jax.jit
def _act(agent: Thompson, key: Array, state: ThompsonState, seen: Round) -> Any:
    return agent.act(key, state, seen)


@jax.jit
def _update(agent: Thompson, state: ThompsonState, seen: Round, arm: Array, reward: Array) -> ThompsonState:
    return agent.update(state, seen, arm, reward)


@partial(jax.jit, static_argnames="capacity")
def _grown(agent: Thompson, state: ThompsonState, capacity: int) -> ThompsonState:
    return agent.grow(state, capacity)


@jax.jit
def _arms(agent: Thompson, keys: Array, state: ThompsonState, seen: Round) -> Array:
    def arm(key: Array) -> Array:
        return agent.act(key, state, seen)[1]

    return jax.lax.map(arm, keys) if agent.sequential else jax.vmap(arm)(keys)


def _matrix(features: Any) -> np.ndarray:
    try:
        made = np.asarray(features, dtype=float)
    except (TypeError, ValueError):
        raise InputError("features must be numbers, a row for each arm") from None
    if made.ndim != 2 or not made.size or not np.all(np.isfinite(made)):
        raise InputError(f"features must be finite numbers, a row for each arm; they have shape {made.shape}")
    return made


def _finite(value: Any, name: str) -> float:
    try:
        made = float(value)
    except (TypeError, ValueError):
        raise InputError(f"{name}={value!r} must be a number") from None
    if not np.isfinite(made):
        raise InputError(f"{name}={value!r} must be finite")
    return made


def _deviation(sigma: float | None, verb: str) -> float:
    if sigma is None:
        raise InputError(
            f"{verb} needs sigma, the standard deviation of the round's noise; where it is never known, "
            "use FGTSVA(sigma='estimated') or another posterior"
        )
    made = _finite(sigma, "sigma")
    if made < 0:
        raise InputError(f"sigma={sigma!r} must not be negative")
    return made
