"""What is kept of every round. The annotations of `Record` and `ActionInfo` are the only list of these quantities."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, NamedTuple, get_type_hints

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jaxtyping import Float, Int, Shaped

from fgtsva_ppl.types import ActionInfo, Quantity

AGGREGATES: dict[str, Callable[[Array], Array]] = {
    "sum": jnp.sum,
    "mean": jnp.mean,
    "last": lambda values: values[-1],
}


class Record(NamedTuple):
    """What is recorded of a round; with leading axes, of several runs and rounds.

    To record one more quantity, add an annotated field to `ActionInfo`. `fields` lists all of them, for storage
    and for workers that send simulations.
    """

    regret: Annotated[
        Float[Array | np.ndarray, "*batch"],
        Quantity("float64", "sum", "f*(x_t, a*_t) - f*(x_t, a_t), not summed over earlier rounds"),
    ]
    action: Annotated[Int[Array | np.ndarray, "*batch"], Quantity("int32", "last", "index of the chosen arm")]
    info: ActionInfo

    @classmethod
    def fields(cls) -> dict[str, Quantity]:
        """All quantities by name, in the order of the leaves."""
        return _quantities(cls) | _quantities(type_of_info(cls))

    def arrays(self) -> dict[str, Any]:
        """All arrays by name."""
        return dict(zip(self.fields(), jax.tree.leaves(self), strict=True))

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, Shaped[np.ndarray, "*batch"] | Shaped[Array, "*batch"]]
    ) -> "Record":
        """The inverse of `arrays`."""
        info = type_of_info(cls)
        values: dict[str, Any] = {name: arrays[name] for name in cls.fields()}
        own = {name: values.pop(name) for name in _quantities(cls)}
        return cls(**own, info=info(**values))

    def aggregate(self) -> "Record":
        """Combines rounds along the only axis, each quantity in its own way."""
        combined = [
            AGGREGATES[quantity.aggregate](values)
            for quantity, values in zip(self.fields().values(), jax.tree.leaves(self), strict=True)
        ]
        return jax.tree.unflatten(jax.tree.structure(self), combined)


def type_of_info(record: type[Record]) -> type[ActionInfo]:
    """The class of a record's `info` field."""
    info: type[ActionInfo] = get_type_hints(record)["info"]
    return info


def _quantities(cls: type) -> dict[str, Quantity]:
    """The annotated fields of a NamedTuple."""
    hints = get_type_hints(cls, include_extras=True)
    return {
        name: note
        for name, hint in hints.items()
        for note in getattr(hint, "__metadata__", ())
        if isinstance(note, Quantity)
    }
