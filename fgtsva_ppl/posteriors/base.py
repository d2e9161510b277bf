"""The posteriors of (feel-good) Thompson sampling, written once as a NumPyro program over a reward program.

log p_t(f) = log p0(f) - sum_{s<t} eta_s (r_s - f(x_s, a_s))^2 + bonus(f) (eq:posterior), with no 1/2 in the loss: a
datum adds 2 eta_s to the precision. With eta_s = 1/sigma_s^2 that is a posterior at half the Bayes temperature, as in
the paper.
"""

import dataclasses
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import partial
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpyro
from jax import Array

from fgtsva_ppl.posteriors.history import Anchor, History, ReplayBuffer, SufficientStatistics
from fgtsva_ppl.posteriors.minibatch import (
    Batches,
    MinibatchGradient,
    loss_gradient,
    minibatch_gradient,
    mode,
)
from fgtsva_ppl.posteriors.variance import noisy_curvature, noisy_loss
from fgtsva_ppl.rewards.finite import FiniteProgram
from fgtsva_ppl.rewards.program import AnyReward, FlatModel, LinearFunction, Program, RewardFunction
from fgtsva_ppl.types import Round, Shape
from samplers._argmax import argmax
from samplers.errors import InputError
from samplers.reference import tilted_gaussian
from samplers.target import Gaussian, Target, with_gradient

MAXIMA = ("hard", "logsumexp", "softplus")
# What is known of sigma_t. Under the last three it is never revealed, and a datum is kept with weight 1.
REVEALED, AFTERWARDS, ESTIMATED, MODELLED, BY_CONTEXT = SIGMAS = (
    "revealed",
    "afterwards",
    "estimated",
    "modelled",
    "by_context",
)


class Posterior(ABC):
    """A member of the family: what a datum weighs, and how much optimism a round gets."""

    maximum: str
    sharpness: float
    cap: float | None
    sums_past: ClassVar[bool] = False  # the bonus runs over all past rounds, not over the current one
    sigma: str = REVEALED  # what is known of sigma_t, one of SIGMAS

    @abstractmethod
    def weight(self, sigma: Array) -> Array:
        """eta_t of a datum."""

    @abstractmethod
    def optimism(self, variance: Array, sigma: Array) -> Array:
        """lambda_t, given Lambda_{t-1} and sigma_t."""

    def variance(self, sigma: Array) -> Array:
        """What a round adds to Lambda_t."""
        return sigma**2

    @property
    def sigma_unobserved(self) -> bool:
        """Whether sigma_t stays unknown: then the size of a residual is what a round has to show."""
        return self.sigma == ESTIMATED or self.models_variance

    @property
    def needs_sigma(self) -> bool:
        """Whether what it does depends on sigma_t, told beforehand or afterwards."""
        return False

    @property
    def models_variance(self) -> bool:
        """Whether the variance is sampled with the rest."""
        return self.sigma in (MODELLED, BY_CONTEXT)

    @property
    def floor(self) -> Array | float:
        """The least standard deviation that a datum is given credit for."""
        raise InputError("this posterior has no model of the variance")

    def believed(self, history: History, seen: Round) -> Array:
        """The sigma_t that the round's optimism goes by."""
        return seen.sigma

    def factor(self, history: History) -> Array | float:
        """By what the weight of every datum is multiplied as of now."""
        return 1.0

    def data(self, history: History) -> SufficientStatistics | ReplayBuffer:
        """The data with their weights as of now."""
        return history.data.scaled(self.factor(history))

    def renewed(self, model: FlatModel, history: History, start: Array) -> History:
        """The same history with all that is known of its data made anew: the curvature, and the anchor by the mode."""
        running = history.gradient_cache
        assert running is not None
        assert isinstance(history.data, ReplayBuffer)
        data = history.data.padded_with(history.data.features[0])
        padded = history._replace(data=data)
        seen_any = history.rounds > 0  # else no row is a real one, and the reward may be undefined there
        anchor = None
        if running.anchor is not None:
            weighted = partial(self.loss, model, padded, self.data(padded))
            start = mode(model, weighted, partial(self._full_precision, model, padded), start)
            pull = loss_gradient(model, partial(self.loss, model, padded), data, start)
            anchor = Anchor(start, jnp.where(seen_any, pull, 0.0))
        curvature = jnp.where(seen_any, self.curvature(model, padded, data, start), 0.0)
        return history._replace(
            gradient_cache=dataclasses.replace(running, curvature=curvature, anchor=anchor)
        )

    def followed(self, model: FlatModel, history: History, position: Array) -> History:
        """The same history, the newest datum being taken into what is known of all."""
        running, anchor = history.gradient_cache, None
        assert running is not None
        newest = jax.tree.map(lambda row: row[history.rounds - 1][None], history.data)
        curvature = running.curvature + self.curvature(model, history, newest, position)
        if running.anchor is not None:
            there, pull = running.anchor
            loss = partial(self.loss, model, history)
            anchor = Anchor(there, pull + loss_gradient(model, loss, newest, there))
        return history._replace(
            gradient_cache=dataclasses.replace(running, curvature=curvature, anchor=anchor)
        )

    def reward(self, reward: AnyReward) -> AnyReward:
        """The reward, with a model of the variance where the posterior wants one."""
        return reward

    def for_horizon(self, rounds: int) -> "Posterior":
        """The same posterior with everything that is derived from the horizon filled in."""
        return self

    def keeps_actions(self, shape: Shape) -> bool:
        """Whether past action sets must be remembered."""
        return self.sums_past and not shape.fixed_actions

    def peak(self, values: Array) -> Array:
        """The (smoothed, capped) maximum over the last axis."""
        if self.maximum == "softplus":
            if self.cap is None:
                raise InputError("maximum=softplus smooths the cap and needs one: set cap")
            gap = self.cap - jnp.max(values, axis=-1)
            return self.cap - jax.nn.softplus(self.sharpness * gap) / self.sharpness
        smooth = self.maximum == "logsumexp"
        top = (
            jax.nn.logsumexp(self.sharpness * values, axis=-1) / self.sharpness
            if smooth
            else jnp.max(values, -1)
        )
        return top if self.cap is None else jnp.minimum(top, self.cap)

    def bonus(self, function: RewardFunction, history: History, seen: Round) -> Array:
        """The feel-good term: lambda_t max_a f(x_t, a) of eq:posterior; over all past rounds in eq:posterior_FGTS_A."""
        lam = self.optimism(history.variance, self.believed(history, seen))
        if history.past is not None:
            sets = history.past.actions
            values = function(sets.reshape(-1, sets.shape[-1])).reshape(sets.shape[:-1])
            return lam * jnp.sum(history.past.present * self.peak(values))
        rounds = history.rounds if self.sums_past else 1
        return lam * rounds * self.peak(function(seen.actions))

    def loss(
        self,
        model: FlatModel,
        history: History,
        data: SufficientStatistics | ReplayBuffer,
        function: RewardFunction,
    ) -> Array:
        """What a function loses on the data."""
        if model.noisy:
            return noisy_loss(function, data, history.rounds, self.floor)
        return data.loss(function)

    def program(self, model: FlatModel, history: History, seen: Round) -> Callable[[], None]:
        """The posterior as a NumPyro program."""

        def posterior() -> None:
            function = model.program()
            numpyro.factor("loss", -self.loss(model, history, self.data(history), function))
            numpyro.factor("feel_good", self.bonus(function, history, seen))

        return posterior

    def target(self, model: FlatModel, history: History, seen: Round) -> Target:
        """The posterior as a log-density, with what is known of its shape."""
        kept, history = history, history.padded_with(seen.actions)
        logdensity = model.logdensity(self.program(model, history, seen))
        data = self.data(history)
        if model.gaussian is None or not isinstance(data, SufficientStatistics):
            batches = self._batches(model, kept, seen)
            return self._generic(model, history, seen, logdensity, batches)
        prior = jax.tree.map(jnp.asarray, model.gaussian)
        precision = prior.precision + 2 * data.gram
        shift = prior.precision @ prior.mean + 2 * data.moment
        gaussian = Gaussian(precision, shift)
        target = Target(logdensity, lambda position: precision, gaussian, prior=model.draw)
        if self.maximum != "hard" or self.cap is not None or history.past is not None:
            return target
        rounds = history.rounds if self.sums_past else 1
        lam = rounds * self.optimism(history.variance, self.believed(history, seen))

        arms = jnp.asarray(seen.actions)

        def gradient(position: Array) -> Array:
            return shift - precision @ position + lam * arms[argmax(arms @ position)]

        def tilted() -> tilted_gaussian.TiltedGaussian:
            return tilted_gaussian.tilt(gaussian, seen.actions, lam)

        return target._replace(
            logdensity=with_gradient(logdensity, gradient),
            exact=lambda key: tilted_gaussian.exact_draw(key, tilted()),
            exact_draws=lambda key, number: tilted_gaussian.exact_draws(key, tilted(), number),
        )

    def _batches(self, model: FlatModel, history: History, seen: Round) -> MinibatchGradient | None:
        """Gradients from a few of the data, where they are kept: without a look at the others, empty rows included."""
        if not isinstance(history.data, ReplayBuffer):
            return None
        bonus = partial(self.bonus, history=history, seen=seen)
        loss = partial(self.loss, model, history)
        picked = Batches(
            history.data, history.rounds, self.factor(history), history.gradient_cache, seen.actions[0]
        )
        return minibatch_gradient(model, picked, loss, bonus)

    def _generic(
        self,
        model: FlatModel,
        history: History,
        seen: Round,
        logdensity: Callable[[Array], Array],
        batches: MinibatchGradient | None,
    ) -> Target:
        """What is known where the posterior has no closed form: the prior, and the data if they are kept."""
        gaussian = None
        if model.prior is not None:
            prior = jax.tree.map(jnp.asarray, model.prior)
            gaussian = Gaussian(prior.precision, prior.precision @ prior.mean)
        return Target(
            logdensity,
            partial(self.precision, model, history),
            gaussian,
            self._member(model.program, history, seen),
            batches,
            prior=model.draw,
        )

    def precision(self, model: FlatModel, history: History, position: Array) -> Array:
        """The Gauss-Newton curvature of prior and loss; as it was kept up where no round goes through all data."""
        if history.gradient_cache is None:
            return self._full_precision(model, history, position)
        return jnp.asarray(model.prior_precision) + self.factor(history) * history.gradient_cache.curvature

    def _full_precision(self, model: FlatModel, history: History, position: Array) -> Array:
        loss = self.curvature(model, history, self.data(history), position)
        return jnp.asarray(model.prior_precision) + loss

    def curvature(
        self, model: FlatModel, history: History, data: SufficientStatistics | ReplayBuffer, position: Array
    ) -> Array:
        """The Gauss-Newton curvature of the loss of some data."""
        if model.noisy:
            return noisy_curvature(model, data, history.rounds, position, self.floor)
        return gauss_newton(model, data, position)

    def _member(self, program: Program, history: History, seen: Round) -> Callable[[Array], Array] | None:
        """Exact draws from a finite class: the posterior is a softmax over its members."""
        if not isinstance(program, FiniteProgram):
            return None
        functions = jnp.asarray(program.table)

        def weight(coefficients: Array) -> Array:
            function = LinearFunction(coefficients)
            return self.bonus(function, history, seen) - self.data(history).loss(function)

        def draw(key: Array) -> Array:
            which, where = jax.random.split(key)
            member = jax.random.categorical(which, jax.vmap(weight)(functions))
            return program.positions(jax.random.uniform(where))[member]

        return draw


def gauss_newton(model: FlatModel, data: SufficientStatistics | ReplayBuffer, position: Array) -> Array:
    """2 sum eta grad f grad f', forward, so that it is linear in rows."""
    features = jnp.eye(data.moment.size) if isinstance(data, SufficientStatistics) else data.features
    jacobian: Array = jax.jacfwd(lambda x: model.function(x)(features))(position)
    weighted = (
        data.gram @ jacobian if isinstance(data, SufficientStatistics) else data.weights[:, None] * jacobian
    )
    return 2 * jacobian.T @ weighted
