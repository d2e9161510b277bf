"""Particles that follow a posterior: reweighted for a new batch, resampled, and moved (Chopin 2002).

If the weights of a batch would leave too few effective particles, the batch is added in stages (tempering): each stage
raises its weight as far as the effective sample size allows, found by bisection (Jasra et al. 2011).
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from blackjax.smc.resampling import systematic
from jax import Array
from jaxtyping import Float, Key

from samplers.online.chains import metric_of
from samplers.online.data import OnlineData
from samplers.online.program import Arguments, FlatProgram
from samplers.online.report import Update
from samplers.smc.smc import KERNELS, SMC
from samplers.target import Target

NUM_BISECTIONS = 30


class ParticleLimits(NamedTuple):
    """When particles have lost the posterior.

    Attributes:
        min_effective_size: Smallest effective sample size of a stage, over the number of particles.
        min_acceptance_rate: Smallest mean acceptance rate of the moves.
        max_stages: Stages in which a batch may be added before all particles restart from the prior.
        max_restart_stages: Stages from the prior to the posterior after which an update gives up.
    """

    min_effective_size: float = 0.5
    min_acceptance_rate: float = 0.05
    max_stages: int = 10
    max_restart_stages: int = 100


class Swarm(NamedTuple):
    """Weighted particles."""

    positions: Float[Array, "particles size"]
    log_weights: Float[Array, " particles"]


def effective_share(log_weights: Float[np.ndarray, " particles"]) -> float:
    """Effective sample size 1 / sum w^2 of normalised weights, over their number; 0 if no weight is finite."""
    finite = np.where(np.isfinite(log_weights), log_weights, -np.inf)
    if not np.isfinite(np.max(finite)):
        return 0.0
    weights = np.exp(finite - np.max(finite))
    return float(np.sum(weights) ** 2 / np.sum(weights**2) / len(weights))


class Particles:
    """Particles of sequential Monte Carlo on a posterior that changes.

    Args:
        program: The posterior.
        sampler: Number of particles, kernel and number of its transitions.
        key: Of all randomness.
        limits: When particles have lost the posterior.
    """

    def __init__(
        self, program: FlatProgram, sampler: SMC, key: Key[Array, ""], limits: ParticleLimits
    ) -> None:
        self._program = program
        self._sampler = sampler
        self._key = key
        self._limits = limits
        self._prior = jax.jit(jax.vmap(program.draw_prior, in_axes=(0, None)))
        self._logdensities = jax.jit(jax.vmap(program.logdensity, in_axes=(0, None)))
        self._move = jax.jit(self._moved)
        self._log_step = jnp.zeros(())
        self._swarm: Swarm | None = None

    def reset(self, key: Key[Array, ""]) -> None:
        """Forgets all particles; compiled programs stay."""
        self._key, self._swarm, self._log_step = key, None, jnp.zeros(())

    @property
    def draws(self) -> Float[np.ndarray, "chains draws size"]:
        """The sample: the particles, resampled to equal weights, as draws of one chain."""
        assert self._swarm is not None
        swarm = self._swarm
        weights = jax.nn.softmax(swarm.log_weights)
        ancestors = systematic(jax.random.fold_in(self._key, 1), weights, weights.size)
        return np.asarray(swarm.positions[ancestors])[None]

    def update(self, data: OnlineData, *, audit: bool) -> Update:
        """Moves the particles to the posterior of all data; the first update starts from the prior."""
        from_prior = self._swarm is None
        swarm = self._start(data.example()) if self._swarm is None else self._swarm
        max_stages = self._limits.max_restart_stages if from_prior else self._limits.max_stages
        swarm, report = self._advance(swarm, data, from_prior=from_prior, max_stages=max_stages)
        if report.lost and not from_prior:
            first = report
            swarm = self._start(data.example())
            swarm, report = self._advance(
                swarm, data, from_prior=True, max_stages=self._limits.max_restart_stages
            )
            why = report.reason if report.lost else f"restarted from the prior, since {first.reason}"
            report = report._replace(
                num_gradients=report.num_gradients + first.num_gradients,
                num_densities=report.num_densities + first.num_densities,
                action="restarted",
                effective_size=first.effective_size,
                reason=why,
            )
        self._swarm = swarm
        return report._replace(num_data=data.num_data)

    def _advance(
        self, swarm: Swarm, data: OnlineData, *, from_prior: bool, max_stages: int
    ) -> tuple[Swarm, Update]:
        """Raises the weight of the newest batch (or of all data) from 0 to 1, in as few stages as possible."""
        before, after = (data.arguments(weight, from_prior=from_prior) for weight in (0.0, 1.0))
        least, share = self._limits.min_effective_size, float("nan")
        weight, stages, gradients, rate = 0.0, 0, 0, float("nan")
        while weight < 1.0 and stages < max_stages:
            # Both log-densities: a batch's log-likelihood is their difference, and it is linear in the weight.
            change = np.asarray(
                self._logdensities(swarm.positions, after) - self._logdensities(swarm.positions, before)
            )
            log_weights = np.asarray(swarm.log_weights)
            full = effective_share(log_weights + (1 - weight) * change)
            share = full if stages == 0 else share
            step = 1 - weight if full >= least else _largest_step(log_weights, change, 1 - weight, least)
            weight = 1.0 if step >= 1 - weight else weight + step
            swarm = swarm._replace(log_weights=jnp.asarray(log_weights + step * change))
            arguments = after if weight == 1.0 else data.arguments(weight, from_prior=from_prior)
            self._key, resample_key, move_key = jax.random.split(self._key, 3)
            if effective_share(np.asarray(swarm.log_weights)) < max(
                float(self._sampler.resampling_threshold), 1.01 * least
            ):
                swarm = _resampled(resample_key, swarm)
            positions, accepted, spent, self._log_step = self._move(
                move_key, arguments, swarm, self._log_step
            )
            swarm = swarm._replace(positions=positions)
            rate, stages, gradients = float(accepted), stages + 1, gradients + int(spent)
        reason = ""
        if weight < 1.0:
            reason = f"the batch was not added after {stages} stages (effective size {share:.3g} of 1 in one stage)"
        elif not np.all(np.isfinite(np.asarray(swarm.positions))):
            reason = "particles are not finite"
        elif rate < self._limits.min_acceptance_rate:
            reason = f"acceptance rate {rate:.3f} is below {self._limits.min_acceptance_rate}"
        action = "moved" if stages <= 1 else "tempered"
        note = f"the effective size would have been {share:.3g} of 1 in one stage" if stages > 1 else ""
        report = Update(
            0,
            gradients,
            0.0,
            False,
            acceptance_rate=rate,
            effective_size=share,
            num_rounds=stages,
            action=action,
            lost=bool(reason),
            reason=reason or note,
            num_densities=2 * stages * len(swarm.log_weights),
        )
        return swarm, report

    def _moved(
        self, key: Array, arguments: Arguments, swarm: Swarm, log_step: Array
    ) -> tuple[Array, Array, Array, Array]:
        """Every particle after its transitions; acceptance rate, number of gradients, and the next log step scale."""
        kernel_of = KERNELS[self._sampler.kernel]
        ancestors = systematic(
            jax.random.fold_in(key, 0), jax.nn.softmax(swarm.log_weights), swarm.log_weights.size
        )
        matrix = metric_of(swarm.positions[ancestors][None])
        target = Target(lambda x: self._program.logdensity(x, arguments), metric=lambda: matrix)
        preconditioned = self._sampler.preconditioner.apply(target, swarm.positions[0])
        preconditioned = preconditioned.with_step_scale(jnp.exp(log_step))
        kernel = kernel_of.kernel(preconditioned)

        def move(key: Array, position: Array) -> tuple[Array, Array, Array]:
            keys = jax.random.split(key, self._sampler.num_mcmc_steps + 1)
            start = kernel.init(keys[0], preconditioned.from_target(position))
            end, steps = jax.lax.scan(lambda carry, k: kernel.step(k, carry), start, keys[1:])
            gradients = jnp.sum(jnp.asarray(steps.num_gradients)) + kernel.init_gradients
            moved = preconditioned.to_target(kernel.position(end))
            finite = jnp.all(jnp.isfinite(moved))
            return jnp.where(finite, moved, position), jnp.mean(steps.acceptance_rate), gradients

        positions, rates, gradients = jax.vmap(move)(
            jax.random.split(key, swarm.log_weights.size), swarm.positions
        )
        rate = jnp.mean(rates)
        # A step of Robbins-Monro in the log of the scale, for the next stage: within a stage it is fixed.
        log_step = log_step + (rate - kernel_of.optimal_acceptance_rate)
        return positions, rate, jnp.sum(gradients), jnp.clip(log_step, -10.0, 2.0)

    def _start(self, arguments: Arguments) -> Swarm:
        self._key, key = jax.random.split(self._key)
        number = self._sampler.num_particles
        positions = self._prior(jax.random.split(key, number), arguments)
        return Swarm(positions, jnp.zeros(number, positions.dtype))


def _largest_step(log_weights: np.ndarray, change: np.ndarray, most: float, least: float) -> float:
    """The largest increase of a batch's weight that keeps the effective size, by bisection; at least 1e-9."""
    low, high = 0.0, most
    for _ in range(NUM_BISECTIONS):
        middle = (low + high) / 2
        enough = effective_share(log_weights + middle * change) >= least
        low, high = (middle, high) if enough else (low, middle)
    return max(low, 1e-9)


def _resampled(key: Array, swarm: Swarm) -> Swarm:
    number = swarm.log_weights.size
    log_weights = jnp.where(jnp.isnan(swarm.log_weights), -jnp.inf, swarm.log_weights)
    ancestors = systematic(key, jax.nn.softmax(log_weights), number)
    return Swarm(swarm.positions[ancestors], jnp.zeros_like(log_weights))
