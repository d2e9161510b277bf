"""Stein variational gradient descent: particles that are moved together, each kept off the others."""

from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import optax
from blackjax.vi import svgd
from jax import Array

from samplers.adaptation.preconditioning import Preconditioned, frame, step_rule, whitening
from samplers.base import BIASED, Draw, SamplerInfo, SamplerState
from samplers.settings import settings, static_int, traced_float
from samplers.target import Target


@settings
class SVGD:
    """BlackJAX's SVGD (Liu & Wang 2016) with the median bandwidth; draws one of the particles."""

    sequential: ClassVar[bool] = True  # measured: pairs of particles are a batch already
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "population", f"{BIASED}, variances too small", "particles x steps", "precision, to whiten"
    )

    particles: int = static_int(default=20, ge=3, doc="particles")
    steps: int = static_int(default=10, ge=1, doc="moves of all particles a round")
    step: float = traced_float(default=1.0, gt=0, doc="step size in units of 1 / largest curvature")
    whiten: str = whitening()
    rule: str = step_rule()

    def init(self, key: Array, start: Callable[[Array], Array]) -> SamplerState:
        """Independent starting positions."""
        particles = jax.vmap(start)(jax.random.split(key, self.particles))
        return SamplerState(particles[0], particles)

    def sample(self, key: Array, target: Target, state: SamplerState) -> tuple[SamplerState, Draw]:
        """Moves all, draws one."""
        where = frame(target, state.position, self.whiten, self.rule)
        particles, _ = self._moved(where, state.carry, self.steps)
        position = jax.random.choice(key, particles)
        draw = _draw(position, jnp.asarray(self.particles * self.steps + where.spent))
        return SamplerState(position, particles), draw

    def trace(self, key: Array, target: Target, state: SamplerState, draws: int) -> Draw:
        """One particle picked after each move of all."""
        where = frame(target, state.position, self.whiten, self.rule)
        _, path = self._moved(where, state.carry, draws)
        picks = jax.random.randint(key, (draws,), 0, self.particles)
        return jax.vmap(lambda cloud, pick: _draw(cloud[pick], jnp.asarray(self.particles)))(path, picks)

    def _moved(self, where: Preconditioned, particles: Array, steps: int) -> tuple[Array, Array]:
        """The particles after so many moves, and after each of them."""
        optimizer = optax.sgd(self.step / where.curvature)
        kernel = svgd.build_kernel(optimizer)
        gradient = jax.grad(where.logdensity)

        def move(state: Any, _: None) -> tuple[Any, Array]:
            state = kernel(state, gradient, svgd.rbf_kernel)
            return state, jax.vmap(where.to_target)(state.particles)

        # The bandwidth is found once: in whitened coordinates the median distance hardly changes within a target,
        # and sorting all distances costs more than the step. BlackJAX writes it into the dictionary that it is given.
        bandwidth = {"length_scale": jnp.ones((), particles.dtype)}
        start = svgd.init(jax.vmap(where.from_target)(particles), bandwidth, optimizer)
        end, path = jax.lax.scan(move, svgd.update_median_heuristic(start), length=steps)
        return jax.vmap(where.to_target)(end.particles), path


def _draw(position: Array, gradients: Array) -> Draw:
    diverged = jnp.asarray(~jnp.all(jnp.isfinite(position)), int)
    return Draw(position, jnp.asarray(jnp.nan), diverged, gradients)
