"""The Thompson agent: a posterior, a sampler for it, and the arm that is best under the draw."""

import dataclasses
import math
from collections.abc import Callable
from typing import NamedTuple, override

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Bool, Float, Int, Key

from fgtsva_ppl.agents._propensity import SOURCES, with_propensity
from fgtsva_ppl.agents._reward_model import check_weights, reward_model
from fgtsva_ppl.agents._start import check_start
from fgtsva_ppl.agents.refresh import REFRESHES, Counts, EveryRound, Refresh
from fgtsva_ppl.likelihoods import Likelihood, Squared
from fgtsva_ppl.posteriors import FGTSVA, History, Posterior, curvature, posterior_target
from fgtsva_ppl.posteriors.curvature import initial_curvature
from fgtsva_ppl.posteriors.exact import gaussian_part
from fgtsva_ppl.posteriors.forgetting import forget, with_window
from fgtsva_ppl.posteriors.gradient_cache import refresh_gradient_cache
from fgtsva_ppl.posteriors.history import (
    Anchor,
    GaussianCache,
    GradientCache,
    ProgramShape,
    SufficientStatistics,
    empty,
    grown,
)
from fgtsva_ppl.posteriors.learned_features import current_features, start_features
from fgtsva_ppl.posteriors.minibatch import NEWTON_STEPS
from fgtsva_ppl.posteriors.observation import Datum, with_datum
from fgtsva_ppl.posteriors.with_likelihood import WithLikelihood
from fgtsva_ppl.rewards import AnyReward, FlatModel, Linear, NeuralLinear
from fgtsva_ppl.rewards.inspection import check_means, check_values
from fgtsva_ppl.types import ActionInfo, Agent, Round, Shape
from samplers import MALA, Draw, Sampler, SamplerState, Target
from samplers.settings import choice, component, flag, nested, settings, static, static_int

CURVATURE_STREAM, FEATURES_STREAM = 1, 2  # folded into the key of a start


class ThompsonState(NamedTuple):
    """What the agent carries from round to round; `counts` only where the posterior is not sampled in every round."""

    history: History
    sampler: SamplerState
    counts: Counts | None = None


class EmbeddedRound(NamedTuple):
    """A round whose features are those of the reward's program."""

    model: FlatModel
    round: Round
    raw: Float[Array, "arms dim"] | None = None  # the environment's own, where features are learned


@settings
class Thompson(Agent):
    """Thompson sampling: draws f_t from the posterior p_t and plays argmax_a f_t(x_t, a).

    With posterior FGTSVA this is Algorithm 1 of the paper. A state is started with `start`, and each round calls
    `embed`, `act` and `update`.

    Attributes:
        reward: The class of reward functions, as a NumPyro program.
        posterior: The weights of the data and the feel-good bonus.
        sampler: Draws from the posterior, exactly or approximately.
        warm_start: Whether a round's sampling starts where the last round ended.
        control_variate: Whether minibatch gradients are corrected by the gradient at a mode.
        likelihood: What an observed reward says; by default the paper's squared loss.
        refresh: The rounds in which the posterior is sampled anew.
    """

    reward: AnyReward = static(default=Linear())
    posterior: Posterior = nested(default=FGTSVA())
    sampler: Sampler = nested(default=MALA())
    warm_start: bool = flag(
        default=True,
        doc="start each round where the last one ended; false: at a draw from the prior, without adapted state",
    )
    control_variate: bool = flag(
        default=False,
        doc="minibatch gradients only estimate the difference to the gradient at a mode, which is searched again "
        "whenever the history grows",
    )
    likelihood: Likelihood = nested(default=Squared())
    refresh: Refresh = component(
        REFRESHES,
        default=EveryRound(),
        doc="rounds in which the posterior is sampled; the draw is kept in between",
    )
    propensity_draws: int = static_int(
        default=0,
        ge=0,
        doc="further draws per round by which the probability of the played arm is estimated; 0: not recorded",
    )
    propensity_from: str = choice(
        default="replicas",
        options=SOURCES,
        doc="repetitions of the agent's own draw, or exact draws from the posterior: the probability that an agent "
        "logs which takes its sampler for exact",
    )
    restart_every: int = static_int(
        default=0,
        ge=0,
        doc="rounds after which the sampler starts at a draw from the prior again, without adapted state; 0: never",
    )

    @property
    @override
    def sequential(self) -> bool:
        return self.sampler.sequential or isinstance(self.reward, NeuralLinear)

    @property
    @override
    def expected_gradients(self) -> int:
        training = self.reward.steps_per_round if isinstance(self.reward, NeuralLinear) else 0
        return self.sampler.expected_gradients + math.ceil(training)

    @override
    def num_parameters(self, shape: Shape) -> int:
        return self.model(shape.arms, shape.dim).size

    @override
    def stores_rounds(self, shape: Shape) -> bool:
        return not self.model(shape.arms, shape.dim).linear and not self.sampler.batch_size

    @override
    def round_products(self, shape: Shape, rounds: int) -> float | None:
        """Of the gradients and of the training, where features are learned."""
        if not isinstance(self.reward, NeuralLinear):
            return None
        per_gradient = 2.0 * self.num_parameters(shape) ** 2
        training = self.reward.round_products(shape.arms, shape.dim, rounds)
        return training + per_gradient * self.sampler.expected_gradients

    @override
    def for_horizon(self, rounds: int) -> "Thompson":
        return dataclasses.replace(
            self, posterior=self.posterior.for_horizon(rounds).without_neutral_forgetting()
        )

    @override
    def start(self, key: Key[Array, ""], shape: Shape) -> ThompsonState:
        """Starts the sampler at a draw from the prior, with an empty history."""
        model = self.model(shape.arms, shape.dim)
        check_start(self, model)
        history = empty(
            linear=model.linear,
            keep_actions=self.posterior.keeps_actions(shape),
            arms=shape.arms,
            dim=model.features,
            capacity=1,
        )
        if self.posterior.window:
            history = with_window(history, self.posterior.window, linear=model.linear)
        sampler = self.sampler.init(key, model.draw)
        if self.control_variate:
            anchor = Anchor(sampler.position, jnp.zeros(model.size))
            cache = GradientCache(anchor, ProgramShape(shape.arms, shape.dim))
            history = history._replace(gradient_cache=cache)
        if self._keeps_moments(model):
            history = self._with_moments(history, ProgramShape(shape.arms, shape.dim))
        if model.learner is not None:
            features_key = jax.random.fold_in(key, FEATURES_STREAM)
            history = start_features(model, history, features_key, shape)
        if model.gaussian is None and self.sampler.uses_metric and not self.posterior.window:
            points_key = jax.random.fold_in(key, CURVATURE_STREAM)
            history = history._replace(curvature_cache=initial_curvature(model, points_key))
        counts = None if self.refresh.every_round else Counts.start(shape.arms)
        return ThompsonState(history, sampler, counts)

    def _keeps_moments(self, model: FlatModel) -> bool:
        """Whether the posterior's Gaussian part is kept by its moments, with a rank-one update for each datum."""
        rescales = self.posterior.variance_model.rescales
        return (
            self.sampler.uses_moments
            and model.gaussian is not None
            and not (rescales or self.posterior.forgets)
        )

    def _with_moments(self, history: History, shape: ProgramShape) -> History:
        """Computes the moments by a factorisation; from then on they are updated with each datum."""
        prior = self.model(shape.arms, shape.dim).gaussian
        assert prior is not None
        assert isinstance(history.data, SufficientStatistics)
        moments = gaussian_part(prior, history.data).moments()
        return history._replace(gaussian_cache=GaussianCache(moments, shape))

    def model(self, arms: int, dim: int) -> FlatModel:
        """The reward's program, for rounds of `arms` arms with `dim` features each."""
        return reward_model(self.reward, self.posterior, self.likelihood, arms, dim)

    @property
    def full_posterior(self) -> Posterior:
        """The posterior with the likelihood of its data."""
        return WithLikelihood.of(self.posterior, self.likelihood)

    @override
    def validate_rewards(self, rewards: Callable[[], np.ndarray], source: str) -> None:
        if self.likelihood.restricts_rewards:
            self.likelihood.check_rewards(rewards(), source)

    @override
    def validate(self, shape: Shape, first_round: Callable[[], Round]) -> None:
        """Raises InputError if the rewards of a first round are not finite under the prior, or impossible means."""
        model = self.model(shape.arms, shape.dim)
        check_weights(self.posterior, self.likelihood, self.sampler)
        if model.linear:  # a linear reward is always finite
            return
        features = model.embed(first_round().actions)
        check_values(self.reward, model, features)
        if self.likelihood.link is not None:
            check_means(self.reward, model, features, self.likelihood.check_means)

    @override
    def grow(self, state: ThompsonState, capacity: int) -> ThompsonState:
        """Makes room in the history, and moves the anchor of a control variate."""
        history = grown(state.history, capacity)
        if history.gradient_cache is not None:
            model = self.model(history.gradient_cache.shape.arms, history.gradient_cache.shape.dim)
            history = refresh_gradient_cache(self.full_posterior, model, history, state.sampler.position)
        return state._replace(history=history)

    @override
    def embed(self, round: Round) -> EmbeddedRound:
        """Computes the features that the reward's program takes."""
        model = self.model(*round.actions.shape)
        return EmbeddedRound(model, round._replace(actions=model.embed(round.actions)))

    @override
    def represent(self, state: ThompsonState, round: EmbeddedRound) -> EmbeddedRound:
        """Computes the features of the current network, if features are learned."""
        model, seen, raw = round.model, round.round, round.round.actions
        if model.learner is None:
            return round
        return EmbeddedRound(model, seen._replace(actions=current_features(model, state.history, raw)), raw)

    def target(self, state: ThompsonState, round: EmbeddedRound) -> Target:
        """The posterior of the round."""
        return posterior_target(self.full_posterior, round.model, state.history, round.round)

    @override
    def act(
        self, key: Key[Array, ""], state: ThompsonState, round: EmbeddedRound
    ) -> tuple[ThompsonState, Int[Array, ""], ActionInfo]:
        """Draws and plays. If the draw is not finite, the last finite position is used, and `num_resets` is 1."""
        if state.counts is None:
            return self._sample(key, state, round)
        due = self.refresh.due(state.counts)
        state = state._replace(counts=state.counts.refreshed(due))
        return jax.lax.cond(due, self._sample_counted, self._keep, key, state, round)

    def _sample_counted(
        self, key: Key[Array, ""], state: ThompsonState, round: EmbeddedRound
    ) -> tuple[ThompsonState, Int[Array, ""], ActionInfo]:
        """Samples, with the types of `_keep`."""
        state, action, info = self._sample(key, state, round)
        acceptance_rate, *numbers, propensity, error = info
        whole, floats = (jnp.asarray(x, int) for x in numbers), (jnp.asarray(x) for x in (propensity, error))
        return state, action, ActionInfo(acceptance_rate, *whole, *floats)

    def _keep(
        self, key: Key[Array, ""], state: ThompsonState, round: EmbeddedRound
    ) -> tuple[ThompsonState, Int[Array, ""], ActionInfo]:
        """Plays the best arm under the last draw, which costs no gradient and counts as no repetition."""
        zero, unknown = jnp.asarray(0), jnp.asarray(jnp.nan)
        info = ActionInfo(unknown, zero, zero, zero, zero, unknown, unknown)
        return state, self.best(state.sampler.position, round), info

    def _sample(
        self, key: Key[Array, ""], state: ThompsonState, round: EmbeddedRound
    ) -> tuple[ThompsonState, Int[Array, ""], ActionInfo]:
        proposed, draw = self.draw(key, state, round)
        finite = jnp.all(jnp.isfinite(draw.position))
        sampler, position = jax.tree.map(
            lambda new, old: jnp.where(finite, new, old),
            (proposed, draw.position),
            (state.sampler, state.sampler.position),
        )
        num_resets = jnp.asarray(~finite, int)
        num_gradients = draw.num_gradients
        if state.history.curvature_cache is not None:
            num_gradients = num_gradients + curvature.num_gradients(
                state.history.rounds, stiffness=self.sampler.stiffness_coordinates is not None
            )
        elif self.posterior.window and self.sampler.uses_metric and not round.model.linear:
            num_gradients = num_gradients + 2 * NEWTON_STEPS  # the metric is that at a mode
        if round.model.learner is not None:
            num_gradients = num_gradients + round.model.learner.steps_after(state.history.rounds)
        num_repeats = jnp.asarray(jnp.all(position == state.sampler.position), int)
        info = ActionInfo(draw.acceptance_rate, draw.num_divergent, num_gradients, num_resets, num_repeats)
        arm = self.best(position, round)
        if self.propensity_draws:
            info = with_propensity(self, key, state, round, arm, info)
        return state._replace(sampler=sampler), arm, info

    def draw(
        self, key: Key[Array, ""], state: ThompsonState, round: EmbeddedRound
    ) -> tuple[SamplerState, Draw]:
        """The draw of a round from its posterior."""
        key, start = self.start_sampler(key, state, round)
        return self.sampler.sample(key, self.target(state, round), start)

    def start_sampler(
        self, key: Key[Array, ""], state: ThompsonState, round: EmbeddedRound
    ) -> tuple[Key[Array, ""], SamplerState]:
        """The starting state of a round's sampling: the last round's state, or a draw from the prior if one is due.

        Returns:
            A key for the draw, and the sampler's state.
        """
        if self.warm_start and not self.restart_every:
            return key, state.sampler
        key, start_key = jax.random.split(key)
        fresh = self.sampler.init(start_key, round.model.draw)
        if not self.warm_start:
            return key, fresh
        due = state.history.rounds % self.restart_every == 0
        return key, jax.tree.map(lambda new, old: jnp.where(due, new, old), fresh, state.sampler)

    def best(self, position: Float[Array, " size"], round: EmbeddedRound) -> Int[Array, ""]:
        """The best arm under a position; ties go to the lowest index."""
        return jnp.argmax(round.model.function(position)(round.round.actions))

    @override
    def update(
        self,
        state: ThompsonState,
        round: EmbeddedRound,
        action: Int[Array, ""],
        reward: Float[Array, ""],
    ) -> ThompsonState:
        """Forgets, where the posterior does, and adds the datum with its weight to the history."""
        return self.observe(self.end_round(state, round), round, action, reward)

    @override
    def update_late(
        self,
        state: ThompsonState,
        round: EmbeddedRound,
        action: Int[Array, ""],
        reward: Float[Array, ""],
        age: Int[Array, ""],
    ) -> ThompsonState:
        """Adds the datum with the weight that it has by now."""
        return self.observe(state, round, action, reward, age)

    @override
    def end_round(self, state: ThompsonState, round: EmbeddedRound) -> ThompsonState:
        if state.counts is not None:
            state = state._replace(counts=state.counts.round_ended())
        if not self.posterior.forgets:
            return state
        return state._replace(history=forget(self.posterior, round.model, state.history))

    def observe(
        self,
        state: ThompsonState,
        round: EmbeddedRound,
        action: Int[Array, ""],
        reward: Float[Array, ""],
        age: Int[Array, ""] | int = 0,
    ) -> ThompsonState:
        """Adds the datum of a round that ended `age` rounds ago, to a state after `end_round`."""
        history = with_datum(
            self.full_posterior,
            round.model,
            state.history,
            Datum(round.round, action, reward, age, round.raw),
            state.sampler.position,
            coordinates=self.sampler.stiffness_coordinates,
        )
        counts = None if state.counts is None else state.counts.played(action)
        return state._replace(history=history, counts=counts)

    @override
    def in_support(self, state: ThompsonState, round: EmbeddedRound) -> Bool[Array, ""]:
        sums = isinstance(state.history.data, SufficientStatistics)
        if sums and round.model.gaussian is not None:  # a Gaussian with a bonus is positive everywhere
            return jnp.all(jnp.isfinite(state.sampler.position))
        return jnp.isfinite(self.target(state, round).logdensity(state.sampler.position))
