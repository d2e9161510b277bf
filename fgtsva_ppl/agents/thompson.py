"""The Thompson agent: a posterior, a sampler for it, and the arm that is best under the draw."""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Bool, Float, Int, Key

from fgtsva_ppl.posteriors import FGTSVA, History, Posterior, curvature, posterior_target
from fgtsva_ppl.posteriors.curvature import initial_curvature
from fgtsva_ppl.posteriors.exact import gaussian_part
from fgtsva_ppl.posteriors.gradient_cache import refresh_gradient_cache, update_gradient_cache
from fgtsva_ppl.posteriors.history import (
    Anchor,
    GaussianCache,
    GradientCache,
    ProgramShape,
    ReplayBuffer,
    SufficientStatistics,
    empty,
    grown,
)
from fgtsva_ppl.rewards import AnyReward, FlatModel, Linear, flat_model
from fgtsva_ppl.rewards.inspection import check_values
from fgtsva_ppl.types import ActionInfo, Agent, Round, Shape
from samplers import MALA, Draw, Sampler, SamplerState, Target
from samplers.errors import InputError
from samplers.settings import flag, nested, settings, static

CURVATURE_STREAM = 1  # folded into the key of a start


class ThompsonState(NamedTuple):
    """What the agent carries from round to round."""

    history: History
    sampler: SamplerState


class EmbeddedRound(NamedTuple):
    """A round whose features are those of the reward's program."""

    model: FlatModel
    round: Round


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

    @property
    @override
    def sequential(self) -> bool:
        return self.sampler.sequential

    @property
    @override
    def expected_gradients(self) -> int:
        return self.sampler.expected_gradients

    @override
    def num_parameters(self, shape: Shape) -> int:
        return self.model(shape.arms, shape.dim).size

    @override
    def stores_rounds(self, shape: Shape) -> bool:
        return not self.model(shape.arms, shape.dim).linear and not self.sampler.batch_size

    @override
    def for_horizon(self, rounds: int) -> "Thompson":
        return dataclasses.replace(self, posterior=self.posterior.for_horizon(rounds))

    @override
    def start(self, key: Key[Array, ""], shape: Shape) -> ThompsonState:
        """Starts the sampler at a draw from the prior, with an empty history."""
        if not self.warm_start and self.sampler.adapts_between_rounds:
            raise InputError(
                "sampler.adaptation learns from round to round, which warm_start=false forgets; set one of them"
            )
        model = self.model(shape.arms, shape.dim)
        history = empty(
            linear=model.linear,
            keep_actions=self.posterior.keeps_actions(shape),
            arms=shape.arms,
            dim=model.features,
            capacity=1,
        )
        sampler = self.sampler.init(key, model.draw)
        minibatch = self.sampler.batch_size > 0
        if self.control_variate and model.linear:
            raise InputError("control_variate needs stored data; of linear rewards only sums are stored")
        if self.control_variate and not minibatch:
            raise InputError(
                "control_variate is for minibatch gradients: set sampler.batch_size (sgld, psgld, sghmc, sgnht, ulmc)"
            )
        if self.control_variate:
            anchor = Anchor(sampler.position, jnp.zeros(model.size))
            cache = GradientCache(anchor, ProgramShape(shape.arms, shape.dim))
            history = history._replace(gradient_cache=cache)
        if self._keeps_moments(model):
            history = self._with_moments(history, ProgramShape(shape.arms, shape.dim))
        if model.gaussian is None and self.sampler.uses_metric:
            points_key = jax.random.fold_in(key, CURVATURE_STREAM)
            history = history._replace(curvature_cache=initial_curvature(model, points_key))
        return ThompsonState(history, sampler)

    def _keeps_moments(self, model: FlatModel) -> bool:
        """Whether the posterior's Gaussian part is kept by its moments, with a rank-one update for each datum."""
        rescales = self.posterior.variance_model.rescales
        return self.sampler.uses_moments and model.gaussian is not None and not rescales

    def _with_moments(self, history: History, shape: ProgramShape) -> History:
        """Computes the moments by a factorisation; from then on they are updated with each datum."""
        prior = self.model(shape.arms, shape.dim).gaussian
        assert prior is not None
        assert isinstance(history.data, SufficientStatistics)
        moments = gaussian_part(prior, history.data).moments()
        return history._replace(gaussian_cache=GaussianCache(moments, shape))

    def model(self, arms: int, dim: int) -> FlatModel:
        """The reward's program, for rounds of `arms` arms with `dim` features each."""
        variance = self.posterior.variance_model
        model = flat_model(variance.reward(self.reward), dim, arms)
        if model.noisy and not variance.sampled:
            raise InputError(
                "a reward program that models its noise needs posterior fgts_va with variance=modelled"
            )
        return model

    @override
    def validate(self, shape: Shape, first_round: Callable[[], Round]) -> None:
        """Raises InputError if the rewards of a first round are not finite under the prior."""
        model = self.model(shape.arms, shape.dim)
        if not model.linear:  # a linear reward is always finite
            check_values(self.reward, model, model.embed(first_round().actions))

    @override
    def grow(self, state: ThompsonState, capacity: int) -> ThompsonState:
        """Makes room in the history, and moves the anchor of a control variate."""
        history = grown(state.history, capacity)
        if history.gradient_cache is not None:
            model = self.model(history.gradient_cache.shape.arms, history.gradient_cache.shape.dim)
            history = refresh_gradient_cache(self.posterior, model, history, state.sampler.position)
        return state._replace(history=history)

    @override
    def embed(self, round: Round) -> EmbeddedRound:
        """Computes the features that the reward's program takes."""
        model = self.model(*round.actions.shape)
        return EmbeddedRound(model, round._replace(actions=model.embed(round.actions)))

    def target(self, state: ThompsonState, round: EmbeddedRound) -> Target:
        """The posterior of the round."""
        return posterior_target(self.posterior, round.model, state.history, round.round)

    @override
    def act(
        self, key: Key[Array, ""], state: ThompsonState, round: EmbeddedRound
    ) -> tuple[ThompsonState, Int[Array, ""], ActionInfo]:
        """Draws and plays. If the draw is not finite, the last finite position is used, and `num_resets` is 1."""
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
        num_repeats = jnp.asarray(jnp.all(position == state.sampler.position), int)
        info = ActionInfo(draw.acceptance_rate, draw.num_divergent, num_gradients, num_resets, num_repeats)
        return state._replace(sampler=sampler), self.best(position, round), info

    def draw(
        self, key: Key[Array, ""], state: ThompsonState, round: EmbeddedRound
    ) -> tuple[SamplerState, Draw]:
        """The draw of a round from its posterior."""
        key, start = self.start_sampler(key, state, round)
        return self.sampler.sample(key, self.target(state, round), start)

    def start_sampler(
        self, key: Key[Array, ""], state: ThompsonState, round: EmbeddedRound
    ) -> tuple[Key[Array, ""], SamplerState]:
        """The starting state of a round's sampling: the last round's state, or a draw from the prior.

        Returns:
            A key for the draw, and the sampler's state.
        """
        if self.warm_start:
            return key, state.sampler
        key, start_key = jax.random.split(key)
        return key, self.sampler.init(start_key, round.model.draw)

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
        """Adds the datum with its weight to the history."""
        model, (actions, sigma) = round
        position = state.sampler.position

        def residual() -> Array:
            return reward - model.function(position)(actions[action][None])[0]

        sigma = self.posterior.variance_model.observed_sigma(sigma, residual)
        weight = self.posterior.weight(sigma)
        history = state.history.added(
            actions,
            action,
            reward,
            weight,
            self.posterior.round_variance(sigma),
        )
        if history.gradient_cache is not None:
            history = update_gradient_cache(self.posterior, model, history)
        if history.curvature_cache is not None:
            datum = ReplayBuffer(actions[action][None], reward[None], weight[None])
            history = curvature.update_curvature(
                self.posterior,
                model,
                history,
                datum,
                position,
                coordinates=self.sampler.stiffness_coordinates,
            )
        return state._replace(history=history)

    @override
    def in_support(self, state: ThompsonState, round: EmbeddedRound) -> Bool[Array, ""]:
        return jnp.isfinite(self.target(state, round).logdensity(state.sampler.position))
