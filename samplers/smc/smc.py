"""Sequential Monte Carlo: particles that follow the target from round to round."""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
from blackjax.smc.resampling import systematic
from jax import Array

from samplers.adaptation.preconditioning import Preconditioned, frame, whitening
from samplers.base import ASYMPTOTIC, Draw, Kernel, SamplerInfo, SamplerState
from samplers.mcmc.hmc import HMC
from samplers.mcmc.mala import MALA
from samplers.settings import choice, settings, static_int, traced_float
from samplers.target import Target

MOVES: dict[str, MALA | HMC] = {"mala": MALA(), "hmc": HMC()}


class Cloud(NamedTuple):
    """Weighted particles. The values are those under the last target, to see what has changed; NaN before it."""

    particles: Array
    log_weights: Array
    values: Array


@settings
class SMC:
    """Reweights by what changed, resamples when the effective size falls, moves by MALA or HMC; draws a particle."""

    sequential: ClassVar[bool] = False
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "population",
        f"{ASYMPTOTIC} in particles",
        "particles x (moves + 1), MALA; particles x (4 moves + 1), HMC",
        "precision, to whiten",
    )

    particles: int = static_int(default=20, ge=2, doc="particles")
    moves: int = static_int(default=5, ge=1, doc="transitions of every particle a round")
    move: str = choice(default="mala", options=tuple(MOVES), doc="kernel of the moves")
    resample: float = traced_float(
        default=0.5, ge=0, le=1, doc="resample when the effective share of particles is below this"
    )
    whiten: str = whitening()

    def init(self, key: Array, start: Callable[[Array], Array]) -> SamplerState:
        """Independent starting positions."""
        cloud = jax.vmap(start)(jax.random.split(key, self.particles))
        level = jnp.zeros(self.particles, cloud.dtype)
        return SamplerState(cloud[0], Cloud(cloud, level, jnp.full_like(level, jnp.nan)))

    def sample(self, key: Array, target: Target, state: SamplerState) -> tuple[SamplerState, Draw]:
        """One round of the filter."""
        resampling, moving, picking = jax.random.split(key, 3)
        where, kernel = self._prepared(target, state)
        cloud = self._reweighted(resampling, target, state.carry)
        moved, infos = self._moved(moving, where, kernel, cloud, self.moves)
        position = moved.particles[jax.random.categorical(picking, moved.log_weights)]
        gradients = (
            jnp.sum(jnp.asarray(infos.num_gradients)) + self.particles * kernel.init_gradients + where.spent
        )
        draw = Draw(position, jnp.mean(infos.acceptance_rate), jnp.sum(infos.num_divergent), gradients)
        values = jax.vmap(target.logdensity)(moved.particles)
        return SamplerState(position, moved._replace(values=values)), draw

    def trace(self, key: Array, target: Target, state: SamplerState, draws: int) -> Draw:
        """Particles of one cloud that keeps moving, one picked after each transition of all."""
        resampling, moving = jax.random.split(key)
        where, kernel = self._prepared(target, state)
        cloud = self._reweighted(resampling, target, state.carry)

        def transition(cloud: Cloud, key: Array) -> tuple[Cloud, Draw]:
            moving, picking = jax.random.split(key)
            cloud, infos = self._moved(moving, where, kernel, cloud, 1)
            position = cloud.particles[jax.random.categorical(picking, cloud.log_weights)]
            spent = jnp.sum(jnp.asarray(infos.num_gradients)) + self.particles * kernel.init_gradients
            return cloud, Draw(position, jnp.mean(infos.acceptance_rate), jnp.sum(infos.num_divergent), spent)

        return jax.lax.scan(transition, cloud, jax.random.split(moving, draws))[1]

    def _prepared(self, target: Target, state: SamplerState) -> tuple[Preconditioned, Kernel]:
        where = frame(target, state.position, self.whiten)
        return where, MOVES[self.move].kernel(where)

    def _reweighted(self, key: Array, target: Target, cloud: Cloud) -> Cloud:
        """The cloud for a new target: weights by the ratio of densities, copies by weight if few are left."""
        change = jax.vmap(target.logdensity)(cloud.particles) - cloud.values
        # Before the first target nothing is known of the start's density: the moves alone bring the cloud in.
        log_weights = cloud.log_weights + jnp.where(jnp.all(jnp.isnan(cloud.values)), 0.0, change)
        log_weights = jnp.where(jnp.isnan(log_weights), -jnp.inf, log_weights)
        lost = ~jnp.isfinite(jnp.max(log_weights))
        log_weights = jax.nn.log_softmax(jnp.where(lost, 0.0, log_weights))
        size = jnp.exp(-jax.nn.logsumexp(2 * log_weights))
        few = size < self.resample * self.particles
        chosen = systematic(key, jnp.exp(log_weights), self.particles)
        copies = jnp.where(few, chosen, jnp.arange(self.particles))
        return cloud._replace(
            particles=cloud.particles[copies],
            log_weights=jnp.where(few, -jnp.log(float(self.particles)), log_weights),
        )

    def _moved(
        self, key: Array, where: Preconditioned, kernel: Kernel, cloud: Cloud, moves: int
    ) -> tuple[Cloud, Any]:
        def one(key: Array, particle: Array) -> tuple[Array, Any]:
            keys = jax.random.split(key, moves + 1)
            start = kernel.init(keys[0], where.from_target(particle))
            end, infos = jax.lax.scan(lambda carry, k: kernel.step(k, carry), start, keys[1:])
            return where.to_target(kernel.position(end)), infos

        particles, infos = jax.vmap(one)(jax.random.split(key, self.particles), cloud.particles)
        return cloud._replace(particles=particles), infos
