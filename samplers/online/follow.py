"""`follow`: an up-to-date sample from the posterior of a NumPyro program, as data arrive."""

import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Key, Shaped

from samplers.base import Sampler
from samplers.errors import InputError
from samplers.online.chains import ChainLimits, Chains
from samplers.online.data import OnlineData, RowBuffer, StatisticsSum
from samplers.online.particles import ParticleLimits, Particles
from samplers.online.program import FlatProgram, Model
from samplers.online.report import Update
from samplers.smc.smc import SMC


def follow(
    model: Model,
    sampler: Sampler,
    key: Key[Array, ""],
    *,
    num_chains: int = 8,
    num_draws: int = 25,
    capacity: int = 64,
    statistics: Callable[..., Any] | None = None,
    limits: ChainLimits | ParticleLimits | None = None,
    audit_every: int = 0,
) -> "Follower":
    """Follows the posterior of a NumPyro program: each `update` adds a batch of data and refreshes the sample.

    The model takes arrays whose first axis is the data, and is called with more rows than there are data; each observed
    site must grow along one batch axis with them (a plate, for example), and no latent site may. The number of rows
    doubles when they are full, which compiles again; other updates do not.

    Args:
        model: A NumPyro program, `model(*args, **kwargs)`. With `statistics` it takes their sums as its only argument.
        sampler: A Markov sampler, such as `NUTS()`, or `SMC()`, which reweights, resamples and moves its particles.
        key: Source of all randomness.
        num_chains: Number of chains, even; `SMC` has its own number of particles.
        num_draws: Draws that each chain adds to the sample per update, `sampler.num_steps` transitions apart.
        capacity: Number of rows for which there is room at first.
        statistics: A batch -> sufficient statistics that add up over batches, for models that need no more.
        limits: When the sample has lost the posterior.
        audit_every: Chains are compared with chains restarted from the prior every so many updates; 0: at updates 1,
            2, 4, 8, ...; -1: never.

    Returns:
        The follower, before any data.
    """
    if not callable(model):
        raise InputError("follow takes a NumPyro program, a function, as its first argument")
    if not isinstance(sampler, Sampler):
        raise InputError(f"follow takes a sampler such as samplers.NUTS(), not {type(sampler).__name__}")
    if num_chains < 4 or num_chains % 2:
        raise InputError(f"num_chains={num_chains} must be even and at least 4: each half tunes the other")
    if num_draws < 4:
        raise InputError(f"num_draws={num_draws} must be at least 4, for R-hat")
    if capacity < 1:
        raise InputError(f"capacity={capacity} must be at least 1")
    expected = ParticleLimits if isinstance(sampler, SMC) else ChainLimits
    if limits is not None and not isinstance(limits, expected):
        raise InputError(f"limits of {type(sampler).__name__} must be {expected.__name__}")
    data: OnlineData = RowBuffer(capacity) if statistics is None else StatisticsSum(statistics)

    def build(program: FlatProgram) -> Chains | Particles:
        if isinstance(sampler, SMC):
            own = limits if isinstance(limits, ParticleLimits) else ParticleLimits()
            return Particles(program, sampler, key, own)
        chain_limits = limits if isinstance(limits, ChainLimits) else ChainLimits()
        return Chains(program, sampler, key, num_chains, num_draws, chain_limits)

    return Follower(model, data, build, audit_every)


class Follower:
    """A sample that follows a posterior; made by `follow`.

    Attributes:
        reports: What each update so far has cost and found.
    """

    def __init__(
        self,
        model: Model,
        data: OnlineData,
        build: Callable[[FlatProgram], Chains | Particles],
        audit_every: int,
    ) -> None:
        self._model = model
        self._data = data
        self._build = build
        self._audit_every = audit_every
        self._program: FlatProgram | None = None
        self._population: Chains | Particles | None = None
        self._constrain: Callable[..., dict[str, Array]] | None = None
        self._shapes: Any = None
        self.reports: list[Update] = []

    def update(self, *args: Any, **kwargs: Any) -> Update:
        """Adds a batch of data, as the model takes them, and moves the sample to the new posterior.

        Returns:
            Cost, diagnostics, and what was done if the sample had lost the posterior.
        """
        began = time.perf_counter()
        self._data.add(args, kwargs)
        if self._population is None:
            self._program = self._check_model()
            self._population = self._build(self._program)
        arguments = self._data.arguments()
        shapes = jax.tree.map(jnp.shape, arguments)
        compiled, self._shapes = shapes != self._shapes, shapes
        report = self._population.update(self._data, audit=self._is_audit(len(self.reports) + 1))
        report = report._replace(seconds=time.perf_counter() - began, compiled=compiled)
        self.reports.append(report)
        return report

    def reset(self, key: Key[Array, ""]) -> None:
        """Forgets all data and the sample. Compiled programs and the capacity stay, so that a replay is cheap."""
        self._data.clear()
        self.reports = []
        if self._population is not None:
            self._population.reset(key)

    @property
    def positions(self) -> Float[np.ndarray, "chains draws size"]:
        """The sample in unconstrained flat coordinates."""
        if self._population is None:
            raise InputError("there is no sample before the first update")
        return self._population.draws

    def samples(self) -> dict[str, Shaped[np.ndarray, "chains draws ..."]]:
        """The sample by site, on the sites' own supports: `arviz.from_dict({"posterior": follower.samples()})`."""
        positions = jnp.asarray(self.positions)
        assert self._program is not None
        if self._constrain is None:
            rows = jax.vmap(self._program.constrain, in_axes=(0, None))
            self._constrain = jax.jit(jax.vmap(rows, in_axes=(0, None)))
        constrained = self._constrain(positions, self._data.arguments())
        return {name: np.asarray(value) for name, value in constrained.items()}

    def logdensity(self, position: Float[Array, " size"]) -> Float[Array, ""]:
        """The log-density of the current posterior in flat coordinates, up to a constant."""
        if self._program is None:
            raise InputError("there is no posterior before the first update")
        return self._program.logdensity(position, self._data.arguments())

    def _is_audit(self, number: int) -> bool:
        if self._audit_every < 0:
            return False
        return number % self._audit_every == 0 if self._audit_every else number & (number - 1) == 0

    def _check_model(self) -> FlatProgram:
        data = self._data
        arguments = data.arguments()
        program = FlatProgram(self._model, arguments)
        if isinstance(data, RowBuffer):
            position = jax.jit(program.draw_prior)(jax.random.key(0), data.example())
            program.check_padding(arguments, data.exact_arguments(), position)
        return program
