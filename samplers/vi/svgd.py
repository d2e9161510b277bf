"""Stein variational gradient descent: particles that are moved together and repel each other."""

from dataclasses import KW_ONLY
from typing import Any, ClassVar, override

import jax
import jax.numpy as jnp
import optax
from blackjax.vi import svgd
from jax import Array
from jaxtyping import Key

from samplers.adaptation.preconditioning import STEP_SIZE_RULES, Dense, Preconditioned, Preconditioner
from samplers.base import BIASED, Draw, Sampler, SamplerInfo, SamplerState, Start
from samplers.registry import PRECONDITIONERS
from samplers.settings import choice, component, settings, static_int, traced_float
from samplers.target import Target


@settings
class SVGD(Sampler):
    """BlackJAX's SVGD with the median bandwidth (Liu & Wang 2016); draws one of the particles."""

    sequential: ClassVar[bool] = True  # measured: pairs of particles are a batch already
    info: ClassVar[SamplerInfo] = SamplerInfo(
        "population",
        f"{BIASED}, variances too small",
        "num_particles x num_iterations",
        "precision, to precondition",
    )

    num_particles: int = static_int(default=20, ge=3, doc="number of particles")
    num_iterations: int = static_int(default=10, ge=1, doc="moves of all particles per draw")
    step_size: float = traced_float(default=1.0, gt=0, doc="step size in units of 1 / largest curvature")
    _: KW_ONLY
    preconditioner: Preconditioner = component(
        PRECONDITIONERS, default=Dense(), doc="coordinates in which the particles move"
    )
    step_size_rule: str = choice(
        default="curvature", options=STEP_SIZE_RULES, doc="unit of the step size, as for mala"
    )

    @override
    def init(self, key: Key[Array, ""], start: Start) -> SamplerState:
        particles = jax.vmap(start)(jax.random.split(key, self.num_particles))
        return SamplerState(particles[0], particles)

    @override
    def sample(self, key: Key[Array, ""], target: Target, state: SamplerState) -> tuple[SamplerState, Draw]:
        preconditioned = self.preconditioner.apply(target, state.position, self.step_size_rule)
        particles, _ = self._move(preconditioned, state.carry, self.num_iterations)
        position = jax.random.choice(key, particles)
        num_gradients = self.num_particles * self.num_iterations + preconditioned.num_gradients
        return SamplerState(position, particles), Draw.without_acceptance(position, num_gradients)

    @override
    def trace(self, key: Key[Array, ""], target: Target, state: SamplerState, num_draws: int) -> Draw:
        """Returns one particle after each move of all of them."""
        preconditioned = self.preconditioner.apply(target, state.position, self.step_size_rule)
        _, path = self._move(preconditioned, state.carry, num_draws)
        picks = jax.random.randint(key, (num_draws,), 0, self.num_particles)
        return jax.vmap(lambda particles, pick: Draw.without_acceptance(particles[pick], self.num_particles))(
            path, picks
        )

    @property
    @override
    def expected_gradients(self) -> int:
        return self.num_particles * self.num_iterations

    def _move(
        self, preconditioned: Preconditioned, particles: Array, num_iterations: int
    ) -> tuple[Array, Array]:
        """The particles after all moves, and after each of them."""
        optimizer = optax.sgd(self.step_size / preconditioned.curvature)
        kernel = svgd.build_kernel(optimizer)
        gradient = jax.grad(preconditioned.logdensity)

        def move(state: Any, _: None) -> tuple[Any, Array]:
            state = kernel(state, gradient, svgd.rbf_kernel)
            return state, jax.vmap(preconditioned.to_target)(state.particles)

        # The bandwidth is computed once: in whitened coordinates the median distance hardly changes within a target,
        # and sorting all distances costs more than the step. BlackJAX writes it into the dictionary that it is given.
        bandwidth = {"length_scale": jnp.ones((), particles.dtype)}
        start = svgd.init(jax.vmap(preconditioned.from_target)(particles), bandwidth, optimizer)
        end, path = jax.lax.scan(move, svgd.update_median_heuristic(start), length=num_iterations)
        return jax.vmap(preconditioned.to_target)(end.particles), path
