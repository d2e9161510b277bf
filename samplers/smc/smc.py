"""Sequential Monte Carlo: particles that follow the target from round to round."""

import dataclasses
from dataclasses import KW_ONLY
from typing import ClassVar, NamedTuple, override

import jax
import jax.numpy as jnp
from blackjax.smc.resampling import systematic
from jax import Array
from jaxtyping import Float, Key

from samplers.adaptation.preconditioning import Dense, Preconditioned, Preconditioner
from samplers.base import ASYMPTOTIC, Draw, Kernel, Sampler, SamplerInfo, SamplerState, Start, Step
from samplers.mcmc.hmc import HMC
from samplers.mcmc.mala import MALA
from samplers.registry import PRECONDITIONERS
from samplers.settings import choice, component, settings, static_int, traced_float
from samplers.target import Target

KERNELS: dict[str, MALA | HMC] = {"mala": MALA(), "hmc": HMC()}


class Particles(NamedTuple):
    """Weighted particles.

    Attributes:
        positions: The particles.
        log_weights: Their log-weights, normalised.
        logdensities: Their log-densities under the last target, for the next weights; NaN before the first target.
    """

    positions: Float[Array, "particles size"]
    log_weights: Float[Array, " particles"]
    logdensities: Float[Array, " particles"]


@settings
class SMC(Sampler):
    """Sequential Monte Carlo (Del Moral, Doucet & Jasra 2006): reweights, resamples and moves particles; draws one.

    The weights are multiplied by the ratio of the new target's density to the last one's. When the effective sample
    size falls, particles are resampled systematically. Then each takes transitions of MALA or HMC.
    """

    info: ClassVar[SamplerInfo] = SamplerInfo(
        "population",
        f"{ASYMPTOTIC} in particles",
        "num_particles x (num_mcmc_steps + 1), MALA; num_particles x (4 num_mcmc_steps + 1), HMC",
        "precision, to precondition",
    )

    num_particles: int = static_int(default=20, ge=2, doc="number of particles")
    num_mcmc_steps: int = static_int(default=5, ge=1, doc="transitions of every particle per draw")
    kernel: str = choice(default="mala", options=tuple(KERNELS), doc="kernel of the transitions")
    resampling_threshold: float = traced_float(
        default=0.5,
        ge=0,
        le=1,
        doc="resample if the effective sample size is below this share of the particles",
    )
    _: KW_ONLY
    preconditioner: Preconditioner = component(
        PRECONDITIONERS, default=Dense(), doc="coordinates in which the particles move"
    )

    @override
    def init(self, key: Key[Array, ""], start: Start) -> SamplerState:
        positions = jax.vmap(start)(jax.random.split(key, self.num_particles))
        log_weights = jnp.zeros(self.num_particles, positions.dtype)
        particles = Particles(positions, log_weights, jnp.full_like(log_weights, jnp.nan))
        return SamplerState(positions[0], particles)

    @override
    def sample(self, key: Key[Array, ""], target: Target, state: SamplerState) -> tuple[SamplerState, Draw]:
        resampling_key, mcmc_key, pick_key = jax.random.split(key, 3)
        preconditioned, kernel = self._kernel(target, state)
        particles = self._reweight(resampling_key, target, state.carry)
        particles, steps = self._move(mcmc_key, preconditioned, kernel, particles, self.num_mcmc_steps)
        draw = self._pick(pick_key, kernel, particles, steps)
        draw = draw._replace(num_gradients=draw.num_gradients + preconditioned.num_gradients)
        logdensities = jax.vmap(target.logdensity)(particles.positions)
        return SamplerState(draw.position, particles._replace(logdensities=logdensities)), draw

    @override
    def trace(self, key: Key[Array, ""], target: Target, state: SamplerState, num_draws: int) -> Draw:
        """Returns one particle after each transition of all of them."""
        resampling_key, mcmc_key = jax.random.split(key)
        preconditioned, kernel = self._kernel(target, state)
        particles = self._reweight(resampling_key, target, state.carry)

        def transition(particles: Particles, key: Array) -> tuple[Particles, Draw]:
            mcmc_key, pick_key = jax.random.split(key)
            particles, steps = self._move(mcmc_key, preconditioned, kernel, particles, 1)
            return particles, self._pick(pick_key, kernel, particles, steps)

        return jax.lax.scan(transition, particles, jax.random.split(mcmc_key, num_draws))[1]

    @property
    @override
    def num_transitions(self) -> int:
        return self.num_particles * self.num_mcmc_steps

    @property
    @override
    def expected_gradients(self) -> int:
        kernel = dataclasses.replace(KERNELS[self.kernel], num_steps=self.num_mcmc_steps)
        return self.num_particles * kernel.expected_gradients

    def _kernel(self, target: Target, state: SamplerState) -> tuple[Preconditioned, Kernel]:
        preconditioned = self.preconditioner.apply(target, state.position)
        return preconditioned, KERNELS[self.kernel].kernel(preconditioned)

    def _reweight(self, key: Array, target: Target, particles: Particles) -> Particles:
        """The particles for a new target, resampled if few of them have most of the weight."""
        change = jax.vmap(target.logdensity)(particles.positions) - particles.logdensities
        # The density of the starting positions is unknown: before the first target they keep equal weights.
        is_first = jnp.all(jnp.isnan(particles.logdensities))
        log_weights = particles.log_weights + jnp.where(is_first, 0.0, change)
        log_weights = jnp.where(jnp.isnan(log_weights), -jnp.inf, log_weights)
        all_lost = ~jnp.isfinite(jnp.max(log_weights))
        log_weights = jax.nn.log_softmax(jnp.where(all_lost, 0.0, log_weights))
        effective_size = jnp.exp(-jax.nn.logsumexp(2 * log_weights))
        resample = effective_size < self.resampling_threshold * self.num_particles
        ancestors = systematic(key, jnp.exp(log_weights), self.num_particles)
        ancestors = jnp.where(resample, ancestors, jnp.arange(self.num_particles))
        return particles._replace(
            positions=particles.positions[ancestors],
            log_weights=jnp.where(resample, -jnp.log(float(self.num_particles)), log_weights),
        )

    def _move(
        self, key: Array, preconditioned: Preconditioned, kernel: Kernel, particles: Particles, num_steps: int
    ) -> tuple[Particles, Step]:
        """The particles after some transitions, and what each transition of each particle reports."""

        def move(key: Array, position: Array) -> tuple[Array, Step]:
            keys = jax.random.split(key, num_steps + 1)
            start = kernel.init(keys[0], preconditioned.from_target(position))
            end, steps = jax.lax.scan(lambda carry, k: kernel.step(k, carry), start, keys[1:])
            return preconditioned.to_target(kernel.position(end)), steps

        keys = jax.random.split(key, self.num_particles)
        positions, steps = jax.vmap(move)(keys, particles.positions)
        return particles._replace(positions=positions), steps

    def _pick(self, key: Array, kernel: Kernel, particles: Particles, steps: Step) -> Draw:
        """A particle drawn by weight, with the cost of moving all of them."""
        position = particles.positions[jax.random.categorical(key, particles.log_weights)]
        num_gradients = jnp.sum(jnp.asarray(steps.num_gradients)) + self.num_particles * kernel.init_gradients
        acceptance_rate, num_divergent = jnp.mean(steps.acceptance_rate), jnp.sum(steps.num_divergent)
        return Draw(position, acceptance_rate, num_divergent, num_gradients)
