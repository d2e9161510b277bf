"""The Thompson agent: a posterior, a sampler for it, and the arm that is best under the draw."""

import dataclasses
from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax import Array

from fgtsva_ppl.posteriors.base import Posterior
from fgtsva_ppl.posteriors.feel_good import FGTSVA
from fgtsva_ppl.posteriors.history import Anchor, GradientCache, History, empty, grown
from fgtsva_ppl.rewards import AnyReward, FlatModel, Linear, flat_model
from fgtsva_ppl.rewards.program import check_values
from fgtsva_ppl.types import ActionInfo, Round, Shape
from samplers import MALA, Draw, Sampler, SamplerState, Target
from samplers.errors import InputError
from samplers.settings import flag, nested, settings, static


class ThompsonState(NamedTuple):
    """What the agent takes from round to round."""

    history: History
    sampler: SamplerState


@settings
class Thompson:
    """Samples f_t from the posterior and plays argmax_a f_t(x_t, a)."""

    reward: AnyReward = static(default=Linear())
    posterior: Posterior = nested(default=FGTSVA())
    sampler: Sampler = nested(default=MALA())
    warm: bool = flag(
        default=True,
        doc="start each round where the last ended; false: at a draw from the prior, with nothing learnt",
    )
    control_variate: bool = flag(
        default=False,
        doc="minibatch gradients estimate only the difference to the gradient at a mode, which is looked for anew "
        "whenever the history's room is looked after",
    )

    @property
    def sequential(self) -> bool:
        """As its sampler."""
        return self.sampler.sequential

    def for_horizon(self, rounds: int) -> "Thompson":
        """The same agent with everything that is derived from the horizon filled in."""
        return dataclasses.replace(self, posterior=self.posterior.for_horizon(rounds))

    def start(self, key: Array, shape: Shape) -> ThompsonState:
        """Starts the sampler at a draw from the prior."""
        if not self.warm and self.sampler.adapts_between_rounds:
            raise InputError(
                "sampler.adaptation learns from round to round, which warm=false forgets; set one of them"
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
            raise InputError("control_variate needs data that are kept; linear rewards are kept as sums")
        if self.control_variate and not minibatch:
            raise InputError(
                "control_variate is for minibatch gradients: set sampler.batch_size (sgld, psgld, sghmc, sgnht, ulmc)"
            )
        if minibatch and not model.linear:
            anchor = Anchor(sampler.position, jnp.zeros(model.size)) if self.control_variate else None
            curvature = jnp.zeros((model.size, model.size))
            history = history._replace(gradient_cache=GradientCache(curvature, anchor, shape.arms, shape.dim))
        return ThompsonState(history, sampler)

    def model(self, arms: int, dim: int) -> FlatModel:
        """The reward's program, for rounds of so many arms with features of the given dimension."""
        model = flat_model(self.posterior.reward(self.reward), dim, arms)
        if model.noisy and not self.posterior.models_variance:
            raise InputError(
                "a reward program that models its noise needs posterior fgts_va with sigma=modelled"
            )
        return model

    def check(self, shape: Shape, first: Callable[[], Round]) -> None:
        """Raises InputError where the reward is not a number for the arms of the first round."""
        model = self.model(shape.arms, shape.dim)
        if not model.linear:  # else it is one wherever the parameters are
            check_values(self.reward, model, model.embed(first().actions))

    def embedded(self, seen: Round) -> tuple[FlatModel, Round]:
        """The reward's program, and the round with features as the program wants them."""
        model = self.model(*seen.actions.shape)
        return model, seen._replace(actions=model.embed(seen.actions))

    def grow(self, state: ThompsonState, capacity: int) -> ThompsonState:
        """Makes room in the history, and goes through all data for what minibatches cannot tell."""
        history = grown(state.history, capacity)
        if history.gradient_cache is not None:
            model = self.model(history.gradient_cache.arms, history.gradient_cache.dim)
            history = self.posterior.renewed(model, history, state.sampler.position)
        return state._replace(history=history)

    def target(self, state: ThompsonState, seen: Round) -> Target:
        """The posterior of the round."""
        model, seen = self.embedded(seen)
        return self.posterior.target(model, state.history, seen)

    def act(self, key: Array, state: ThompsonState, seen: Round) -> tuple[ThompsonState, Array, ActionInfo]:
        """Draws and plays. A sampler that went non-finite is put back to where it last was finite, and counted."""
        proposed, draw = self.draw(key, state, seen)
        finite = jnp.all(jnp.isfinite(draw.position))
        sampler, position = jax.tree.map(
            lambda new, old: jnp.where(finite, new, old),
            (proposed, draw.position),
            (state.sampler, state.sampler.position),
        )
        effort = ActionInfo(draw.acceptance_rate, draw.num_divergent, draw.num_gradients, ~finite)
        return state._replace(sampler=sampler), self.best(position, seen), effort

    def outside_support(self, state: ThompsonState, seen: Round) -> Array:
        """Whether the sampler's position has no density in the round's posterior."""
        return ~jnp.isfinite(self.target(state, seen).logdensity(state.sampler.position))

    def draw(self, key: Array, state: ThompsonState, seen: Round) -> tuple[SamplerState, Draw]:
        """The draw of a round."""
        key, begin = self.begin(key, state, seen)
        return self.sampler.sample(key, self.target(state, seen), begin)

    def begin(self, key: Array, state: ThompsonState, seen: Round) -> tuple[Array, SamplerState]:
        """Where a round's sampling begins, where the last round ended or at a draw from the prior; and a key for it."""
        if self.warm:
            return key, state.sampler
        key, start = jax.random.split(key)
        return key, self.sampler.init(start, self.model(*seen.actions.shape).draw)

    def best(self, position: Array, seen: Round) -> Array:
        """The arm that is best under a position; ties go to the lowest index."""
        model, seen = self.embedded(seen)
        return jnp.argmax(model.function(position)(seen.actions))

    def update(self, state: ThompsonState, seen: Round, action: Array, reward: Array) -> ThompsonState:
        """Adds the datum with its weight."""
        model, embedded = self.embedded(seen)
        sigma = seen.sigma
        if self.posterior.sigma_unobserved:
            predicted = model.function(state.sampler.position)(embedded.actions[action][None])[0]
            sigma = jnp.abs(reward - predicted)
        history = state.history.added(
            embedded.actions,
            action,
            reward,
            self.posterior.weight(sigma),
            self.posterior.variance(sigma),
        )
        if history.gradient_cache is not None:
            history = self.posterior.followed(model, history, state.sampler.position)
        return state._replace(history=history)
