"""The data so far: a buffer of rows that doubles when it is full, or sums of a user's sufficient statistics."""

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, override

import jax
import jax.numpy as jnp
import numpy as np

from samplers.errors import InputError
from samplers.online.program import Arguments


class OnlineData(ABC):
    """All data so far, the newest batch set apart: it can be given a weight between 0 and 1.

    Attributes:
        num_data: Number of rows so far.
    """

    num_data: int = 0

    @abstractmethod
    def add(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        """Adds a batch. Raises InputError if it does not fit the ones before, and then changes nothing."""

    @abstractmethod
    def clear(self) -> None:
        """Forgets all data."""

    @abstractmethod
    def arguments(self, weight: float = 1.0, *, from_prior: bool = False) -> Arguments:
        """The program's arguments with the newest batch, or with `from_prior` all data, at this weight."""

    @abstractmethod
    def example(self) -> Arguments:
        """Arguments of a size that never changes, for draws from the prior."""


class RowBuffer(OnlineData):
    """Rows in arrays whose capacity doubles. Rows that are not filled repeat the first one, at weight 0.

    Args:
        capacity: Number of rows for which there is room at first.
    """

    def __init__(self, capacity: int) -> None:
        self._capacity = capacity
        self._arrays: list[np.ndarray] = []
        self._structure: Any = None
        self._num_old = 0

    @property
    def capacity(self) -> int:
        """Number of rows for which there is room."""
        return self._capacity

    @override
    def add(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        leaves, structure = jax.tree.flatten((args, kwargs))
        rows = [np.asarray(leaf) for leaf in leaves]
        number = self._check(rows, structure)
        if not self._arrays:
            self._structure = structure
            self._arrays = [np.repeat(row[:1], self._capacity, axis=0) for row in rows]
        while self.num_data + number > self._capacity:
            self._arrays = [
                np.concatenate([x, np.repeat(x[:1], self._capacity, axis=0)]) for x in self._arrays
            ]
            self._capacity *= 2
        for array, row in zip(self._arrays, rows, strict=True):
            array[self.num_data : self.num_data + number] = row
        self._num_old, self.num_data = self.num_data, self.num_data + number

    @override
    def clear(self) -> None:
        self.num_data = self._num_old = 0

    @override
    def arguments(self, weight: float = 1.0, *, from_prior: bool = False) -> Arguments:
        weights = np.zeros(self._capacity)
        weights[: self.num_data] = weight
        if not from_prior:
            weights[: self._num_old] = 1.0
        # Copies: JAX may share memory with an array of NumPy, and the buffer is written to later.
        arrays = [jnp.array(array) for array in self._arrays]
        args, kwargs = jax.tree.unflatten(self._structure, arrays)
        return Arguments(args, kwargs, jnp.asarray(weights, float))

    def exact_arguments(self) -> Arguments:
        """The filled rows alone."""
        arrays = [jnp.array(array[: self.num_data]) for array in self._arrays]
        args, kwargs = jax.tree.unflatten(self._structure, arrays)
        return Arguments(args, kwargs, jnp.ones(self.num_data))

    @override
    def example(self) -> Arguments:
        args, kwargs = jax.tree.unflatten(self._structure, [jnp.array(array[:1]) for array in self._arrays])
        return Arguments(args, kwargs, jnp.ones(1))

    def _check(self, rows: list[np.ndarray], structure: Any) -> int:
        if not rows:
            raise InputError("a batch is empty: pass the arrays that the model takes")
        lengths = {row.shape[0] if row.ndim else None for row in rows}
        if len(lengths) > 1 or None in lengths:
            raise InputError(
                f"all arrays of a batch must have the same number of rows, not {[r.shape for r in rows]}"
            )
        if 0 in lengths:
            raise InputError("a batch has no rows")
        if self._arrays and structure != self._structure:
            raise InputError("a batch must have the same arguments as the first one")
        for old, new in zip(self._arrays or rows, rows, strict=True):
            if old.shape[1:] != new.shape[1:] or not np.can_cast(new.dtype, old.dtype, "same_kind"):
                raise InputError(
                    f"rows of shape {new.shape[1:]} and type {new.dtype} do not fit the first batch's "
                    f"{old.shape[1:]}, {old.dtype}"
                )
        return int(rows[0].shape[0])


class StatisticsSum(OnlineData):
    """Sums of sufficient statistics: the program is called with the sums as its only argument.

    Args:
        statistics: A batch -> its statistics, any pytree of arrays, which add up over batches.
    """

    def __init__(self, statistics: Callable[..., Any]) -> None:
        self._statistics = statistics
        self._old: Any = None
        self._new: Any = None

    @override
    def add(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        sums = jax.tree.map(lambda x: np.asarray(x, float), self._statistics(*args, **kwargs))
        if not all(np.all(np.isfinite(x)) for x in jax.tree.leaves(sums)):
            raise InputError("the statistics of a batch are not finite")
        total = jax.tree.map(np.zeros_like, sums) if self._new is None else self._new
        if jax.tree.map(np.shape, total) != jax.tree.map(np.shape, sums):
            raise InputError("statistics must have the same shapes for every batch")
        self._old, self._new = total, jax.tree.map(np.add, total, sums)
        leaves = jax.tree.leaves((args, kwargs))
        self.num_data += int(np.shape(leaves[0])[0]) if leaves and np.ndim(leaves[0]) else 1

    @override
    def clear(self) -> None:
        self._old = self._new = None
        self.num_data = 0

    @override
    def arguments(self, weight: float = 1.0, *, from_prior: bool = False) -> Arguments:
        def mix(old: np.ndarray, new: np.ndarray) -> Any:
            start = np.zeros_like(old) if from_prior else old
            return jnp.asarray((1 - weight) * start + weight * new)

        return Arguments((jax.tree.map(mix, self._old, self._new),), {})

    @override
    def example(self) -> Arguments:
        return self.arguments()
