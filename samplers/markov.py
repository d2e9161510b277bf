"""Samplers that take transitions of a Markov kernel from where the last target left them: most of them."""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jax import Array

from samplers.adaptation import step_size
from samplers.adaptation.preconditioning import Preconditioned, frame
from samplers.base import Cost, Draw, Kernel, SamplerInfo, SamplerState, Step
from samplers.target import Target

TOGETHER = 10  # steps whose randomness is drawn at once: the number of steps is traced, that of an array's rows is not


class MarkovSampler:
    """A sampler that takes `steps` transitions of a kernel from where the last target left it.

    A subclass gives `kernel`. It offers an option by having a settings field of that name: see whitening, tuning.
    """

    sequential: ClassVar[bool] = False
    fetched: ClassVar[bool] = (
        False  # a start far out is brought in first, for kernels that cannot come in themselves
    )
    info: ClassVar[SamplerInfo]
    steps: int
    whiten: str = "dense"
    rule: str = "curvature"
    decay: float | None = None  # the k-th transition has its squared length divided by (k + 1)^decay
    adapt: bool = False
    target_acceptance: float = 0.65
    warmup: int = 0
    warmup_every: int = 0

    def kernel(self, frame: Preconditioned) -> Kernel:
        """The transition for one target, in the coordinates of the frame."""
        raise NotImplementedError

    def frame(self, target: Target, position: Array) -> Preconditioned:
        """The coordinates for a target."""
        return frame(target, position, self.whiten, self.rule)

    def init(self, key: Array, start: Callable[[Array], Array]) -> SamplerState:
        """Starts at a position."""
        position = start(key)
        return SamplerState(position, step_size.untuned(position.shape[-1]) if self._tuned else ())

    def sample(self, key: Array, target: Target, state: SamplerState) -> tuple[SamplerState, Draw]:
        """The position after `steps` transitions."""
        first, rest = jax.random.split(key)
        where = self.frame(target, state.position)
        position, learnt, spent = state.position, state.carry, jnp.asarray(where.spent)
        if self.warmup:
            length = jnp.where(step_size.due(learnt.targets, self.warmup_every), self.warmup, 0)
            warm, first = jax.random.split(first)
            position, learnt, more = step_size.warmed(
                warm, self.kernel, where, position, learnt, length, self.target_acceptance
            )
            spent = spent + more
        if self._tuned:
            where = learnt.applied(where)
        kernel = self.kernel(where)
        transition = self._transition(where, kernel)

        def batch(number: Array, carry: tuple[Any, Cost]) -> tuple[Any, Cost]:
            indices = number * TOGETHER + jnp.arange(TOGETHER)
            rows = kernel.randomness(rest, indices), indices

            def advance(index: Array, carry: tuple[Any, Cost]) -> tuple[Any, Cost]:
                state, info = transition(carry[0], jax.tree.map(lambda row: row[index], rows))
                return state, carry[1].plus(info)

            return jax.lax.fori_loop(0, jnp.minimum(TOGETHER, self.steps - indices[0]), advance, carry)

        start = kernel.init(first, self._start(where, position))
        end, total = jax.lax.fori_loop(0, -(-self.steps // TOGETHER), batch, (start, Cost.nothing()))
        position = where.to_target(kernel.position(end))
        accepted = total.acceptance_rate / self.steps
        if self._tuned:
            learnt = learnt._replace(targets=learnt.targets + 1)
            learnt = step_size.followed(learnt, accepted, self.target_acceptance) if self.adapt else learnt
        gradients = total.num_gradients + kernel.init_gradients + self.fetched + spent
        return SamplerState(position, learnt), Draw(position, accepted, total.num_divergent, gradients)

    def trace(self, key: Array, target: Target, state: SamplerState, draws: int) -> Draw:
        """Every position of a chain of `draws` transitions, with the tuning as it is."""
        where = self.frame(target, state.position)
        where = state.carry.applied(where) if self._tuned else where
        kernel = self.kernel(where)
        first, rest = jax.random.split(key)
        transition = self._transition(where, kernel)

        def report(carry: Any, indexed: tuple[Any, Array]) -> tuple[Any, Draw]:
            carry, info = transition(carry, indexed)
            return carry, Draw(where.to_target(kernel.position(carry)), *map(jnp.asarray, info))

        start = kernel.init(first, self._start(where, state.position))
        rows = kernel.randomness(rest, jnp.arange(draws)), jnp.arange(draws) % self.steps
        return jax.lax.scan(report, start, rows)[1]

    def _start(self, where: Preconditioned, position: Array) -> Array:
        start = where.from_target(position)
        return fetched(where, start) if self.fetched else start

    @property
    def _tuned(self) -> bool:
        return self.adapt or self.warmup > 0

    def _transition(self, where: Preconditioned, kernel: Kernel) -> Callable[[Any, tuple[Any, Array]], Any]:
        """A step of the kernel, rebuilt with a shorter length for every transition where the step decays."""

        def transition(carry: Any, indexed: tuple[Any, Array]) -> tuple[Any, Step]:
            random, index = indexed
            if self.decay is None:
                return kernel.step(random, carry)
            return self.kernel(where.stretched((index + 1.0) ** (-self.decay / 2))).step(random, carry)

        return transition


def fetched(where: Preconditioned, position: Array) -> Array:
    """The position, or a gradient step from it if it is far outside of where the target lives.

    A noiseless datum can leave the last draw a hundred standard deviations out. A gradient that long is one in 10^5
    draws of a Gaussian at most, so what is already there stays.
    """
    slope = jax.grad(where.logdensity)(position)
    far = jnp.linalg.norm(slope) > (math.sqrt(where.dim) + 5) * jnp.sqrt(where.curvature)
    return jnp.where(far, position + slope / where.curvature, position)
