"""Chains that follow a posterior: they start each update at their last draws, with step size and metric carried along.

The metric of one half of the chains is the covariance of the other half's draws, so it does not depend on where the
chains are that it tunes, and each round leaves the posterior invariant (as in MEADS, Hoffman & Sountsov 2022).
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from arviz_stats.base import array_stats  # type: ignore[attr-defined]
from jax import Array
from jaxtyping import Float, Key

from samplers.adaptation.curvature import POWER_ITERATION_GRADIENTS, power_iteration
from samplers.base import Draw, Sampler, SamplerState
from samplers.online.data import OnlineData
from samplers.online.program import Arguments, FlatProgram
from samplers.online.report import Update
from samplers.target import Target


class ChainLimits(NamedTuple):
    """When chains have lost the posterior.

    Attributes:
        max_rhat: Largest R-hat of the chains, and of the chains with restarted ones.
        min_acceptance_rate: Smallest mean acceptance rate.
        max_rounds: Rounds of draws after which an update gives up.
    """

    max_rhat: float = 1.1
    min_acceptance_rate: float = 0.05
    max_rounds: int = 10


class Half(NamedTuple):
    """One half of the chains.

    Attributes:
        states: The sampler's states.
        draws: Of the last round.
    """

    states: SamplerState
    draws: Float[Array, "chains draws size"]


def metric_of(draws: Float[Array, "chains draws size"]) -> Float[Array, "size size"]:
    """The inverse of a covariance of draws whose off-diagonal part is shrunk: a positive definite matrix."""
    flat = draws.reshape(-1, draws.shape[-1])
    number, size = flat.shape
    covariance = jnp.atleast_2d(jnp.cov(flat.T))
    variances = jnp.maximum(jnp.diagonal(covariance), 1e-20)
    weight = number / (number + 2.0 * size)
    shrunk = weight * covariance + (1 - weight) * jnp.diag(variances) + 1e-8 * jnp.diag(variances)
    return jnp.linalg.inv(shrunk)


def worst_rhat(draws: Float[np.ndarray, "chains draws size"]) -> float:
    """Rank-normalised split R-hat of the worst coordinate; infinite where it is not defined."""
    if not np.all(np.isfinite(draws)):
        return float("inf")
    with np.errstate(all="ignore"):
        values = array_stats.rhat(np.moveaxis(draws, -1, 0))
    return float(np.max(np.nan_to_num(values, nan=np.inf)))


class Chains:
    """Chains of a Markov sampler on a posterior that changes.

    Args:
        program: The posterior.
        sampler: Its `sample` makes a draw from the last one.
        key: Of all randomness.
        num_chains: Even, at least 4.
        num_draws: Draws of each chain per round.
        limits: When chains have lost the posterior.
    """

    def __init__(
        self,
        program: FlatProgram,
        sampler: Sampler,
        key: Key[Array, ""],
        num_chains: int,
        num_draws: int,
        limits: ChainLimits,
    ) -> None:
        self._program = program
        self._sampler = sampler
        self._key = key
        self._num_draws = num_draws
        self._num_chains = num_chains
        self._limits = limits
        self._round = jax.jit(self._half_round)
        self._prior = jax.jit(jax.vmap(program.draw_prior, in_axes=(0, None)))
        self._halves: tuple[Half, Half] | None = None

    def reset(self, key: Key[Array, ""]) -> None:
        """Forgets all draws; compiled programs stay."""
        self._key, self._halves = key, None

    @property
    def draws(self) -> Float[np.ndarray, "chains draws size"]:
        """The sample: all draws of the last round."""
        assert self._halves is not None
        return np.concatenate([np.asarray(half.draws) for half in self._halves])

    def update(self, data: OnlineData, *, audit: bool) -> Update:
        """Moves the chains to the posterior of all data.

        Args:
            data: All data so far.
            audit: Whether chains are also restarted from the prior, to see whether they find the same. Chains that
                are lost are restarted in any case.
        """
        arguments = data.arguments()
        halves = self._start(data.example()) if self._halves is None else self._halves
        halves, report = self._settle(halves, arguments)
        if audit or report.lost:
            # What lost chains have learnt may be what they suffer from: then nothing of it is kept.
            example = data.example()
            again = self._start(example) if report.lost else self._restarted(halves, example)
            restarted, other = self._settle(again, arguments)
            report = _add(report, other)
            both = np.concatenate([np.asarray(half.draws) for half in (*halves, *restarted)])
            rhat = worst_rhat(both)
            report = report._replace(restart_rhat=rhat)
            if report.lost and not other.lost:
                halves = restarted
                why = f"restarted, since the chains had lost the posterior: {report.reason}"
                report = other._replace(
                    num_gradients=report.num_gradients, action="restarted", reason=why, restart_rhat=rhat
                )
            elif not report.lost and not np.all(np.isfinite(both)):
                report = report._replace(reason="chains restarted from the prior diverged: no comparison")
            elif not report.lost and not rhat <= self._limits.max_rhat:
                why = f"chains restarted from the prior end elsewhere (R-hat {rhat:.2f}): more than one mode?"
                report = report._replace(lost=True, reason=why)
        self._halves = halves
        return report._replace(num_data=data.num_data)

    def _settle(self, halves: tuple[Half, Half], arguments: Arguments) -> tuple[tuple[Half, Half], Update]:
        """Rounds of draws until the chains agree with each other."""
        total = Update(0, 0, 0.0, False, num_rounds=0)
        for number in range(1, self._limits.max_rounds + 1):
            halves, report = self._one_round(halves, arguments)
            total = _add(total, report)._replace(
                acceptance_rate=report.acceptance_rate,
                rhat=report.rhat,
                lost=report.lost,
                num_rounds=number,
                action="moved" if number == 1 else "continued",
                reason=report.reason if report.lost else total.reason,
            )
            if not report.lost:
                break
        return halves, total

    def _one_round(self, halves: tuple[Half, Half], arguments: Arguments) -> tuple[tuple[Half, Half], Update]:
        first, second = halves
        self._key, key, other_key = jax.random.split(self._key, 3)
        first, cost = self._round(key, arguments, first.states, second.draws)
        second, other_cost = self._round(other_key, arguments, second.states, first.draws)
        rates = np.asarray([cost[0], other_cost[0]])
        draws = np.concatenate([np.asarray(first.draws), np.asarray(second.draws)])
        rhat, rate, limits = worst_rhat(draws), float(np.mean(rates)), self._limits
        reason = ""
        if not np.all(np.isfinite(draws)):
            reason = "draws are not finite"
        elif rate < limits.min_acceptance_rate:
            reason = f"acceptance rate {rate:.3f} is below {limits.min_acceptance_rate}"
        elif not rhat <= limits.max_rhat:
            reason = f"R-hat {rhat:.2f} of the chains is above {limits.max_rhat}"
        gradients = int(cost[1]) + int(other_cost[1])
        report = Update(0, gradients, 0.0, False, rate, rhat, lost=bool(reason), reason=reason)
        return (first, second), report

    def _half_round(
        self, key: Array, arguments: Arguments, states: SamplerState, others: Array
    ) -> tuple[Half, tuple[Array, Array]]:
        target = self._target(arguments, others)

        def chain(key: Array, state: SamplerState) -> tuple[SamplerState, Draw]:
            def draw(state: SamplerState, key: Array) -> tuple[SamplerState, Draw]:
                moved, draw = self._sampler.sample(key, target, state)
                finite = jnp.all(jnp.isfinite(draw.position))  # else the chain stays, and its draw tells
                return jax.tree.map(lambda new, old: jnp.where(finite, new, old), moved, state), draw

            return jax.lax.scan(draw, state, jax.random.split(key, self._num_draws))

        keys = jax.random.split(key, states.position.shape[0])
        if self._sampler.sequential:
            states, draws = jax.lax.map(lambda row: chain(*row), (keys, states))
        else:
            states, draws = jax.vmap(chain)(keys, states)
        gradients = jnp.sum(draws.num_gradients)
        if self._sampler.stiffness_coordinates is not None:
            gradients = gradients + POWER_ITERATION_GRADIENTS
        return Half(states, draws.position), (jnp.mean(draws.acceptance_rate), gradients)

    def _target(self, arguments: Arguments, others: Array) -> Target:
        """The posterior, with a metric and a stiffness that the chains to be moved have no part in."""
        matrix = metric_of(others)
        target = Target(
            lambda x: self._program.logdensity(x, arguments),
            metric=lambda: matrix,
            minibatch_gradient=partial(_minibatch_gradient, self._program, arguments)
            if arguments.weights is not None
            else None,
        )
        coordinates = self._sampler.stiffness_coordinates
        if coordinates is None:
            return target
        preconditioned = coordinates.apply(target, others[0, -1])
        largest = power_iteration(preconditioned.logdensity, preconditioned.from_target(others[0, -1]))
        return target._replace(stiffness=largest / preconditioned.curvature)

    def _start(self, arguments: Arguments) -> tuple[Half, Half]:
        """Both halves at draws from the prior, whose covariance is their first metric."""
        self._key, init_key = jax.random.split(self._key)
        number = self._num_chains
        positions = self._prior_draws(arguments)
        draws = positions[number:].reshape(number, self._num_draws, -1)

        def init(key: Array, position: Array) -> SamplerState:
            return self._sampler.init(key, lambda _: position)

        states = jax.vmap(init)(jax.random.split(init_key, number), positions[:number])
        return _split(states, draws)

    def _restarted(self, halves: tuple[Half, Half], arguments: Arguments) -> tuple[Half, Half]:
        """The halves at new draws from the prior; metric and step size are kept."""
        positions = self._prior_draws(arguments)
        half = self._num_chains // 2
        first, second = halves
        return (
            first._replace(states=first.states._replace(position=positions[:half])),
            second._replace(states=second.states._replace(position=positions[half : 2 * half])),
        )

    def _prior_draws(self, arguments: Arguments) -> Float[Array, "draws size"]:
        """Enough for a position and for the first draws of every chain, always as many: one compiled program."""
        self._key, key = jax.random.split(self._key)
        return self._prior(jax.random.split(key, self._num_chains * (1 + self._num_draws)), arguments)


def _split(states: SamplerState, draws: Array) -> tuple[Half, Half]:
    half = draws.shape[0] // 2
    first, second = (
        jax.tree.map(lambda x, part=part: x[part], Half(states, draws))
        for part in (slice(None, half), slice(half, None))
    )
    return first, second


def _add(report: Update, other: Update) -> Update:
    return report._replace(num_gradients=report.num_gradients + other.num_gradients)


def _minibatch_gradient(
    program: FlatProgram, arguments: Arguments, key: Array, position: Array, batch_size: int
) -> Array:
    """An unbiased estimate of the gradient from rows drawn with replacement, by their weights."""
    weights = arguments.weights
    assert weights is not None
    total = jnp.sum(weights)
    indices = jax.random.choice(key, weights.size, (batch_size,), p=weights / total)
    args, kwargs = jax.tree.map(lambda x: x[indices], (arguments.args, arguments.kwargs))
    batch = Arguments(args, kwargs, jnp.full(batch_size, total / batch_size))
    gradient: Any = jax.grad(program.logdensity)(position, batch)
    return gradient
