"""A NumPyro program with data arguments as a log-density of one flat vector, in which every row of data has a weight.

The program is called with arrays that have more rows than there are data. Each observed site must have one axis along
which it grows with the data. The site's log-probabilities are multiplied by the rows' weights along that axis: 1 for a
datum, 0 for a row that is not filled, something between while a batch is being added. The axis is found by running the
program on two numbers of rows.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import Array
from jax.flatten_util import ravel_pytree
from jaxtyping import Float, Key, Shaped
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer.util import potential_energy
from numpyro.primitives import Messenger

from samplers.errors import InputError

type Model = Callable[..., Any]


class Arguments(NamedTuple):
    """What the program is called with, and the weights of the rows.

    Attributes:
        args: Positional arguments.
        kwargs: Keyword arguments.
        weights: One per row; None where the arguments are sufficient statistics, which have no rows.
    """

    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    weights: Float[Array | np.ndarray, " rows"] | None = None


class weigh_rows(Messenger):  # type: ignore[misc]  # noqa: N801 (an effect handler, named like NumPyro's)
    """Effect handler: multiplies the log-probabilities of observed sites by the weights of their rows.

    Args:
        fn: The program.
        axes: Observed site -> the axis of its rows, counted from the last batch axis (-1).
        weights: One per row. Where a weight is 0, the value of the row is not used at all.
    """

    def __init__(
        self, fn: Model, axes: Mapping[str, int], weights: Float[Array | np.ndarray, " rows"]
    ) -> None:
        super().__init__(fn)
        self._axes = axes
        self._weights = weights

    def process_message(self, msg: dict[str, Any]) -> None:
        """Weighs one site."""
        if msg["type"] != "sample" or msg["name"] not in self._axes:
            return
        weights = self._weights.reshape(self._weights.shape + (1,) * (-self._axes[msg["name"]] - 1))
        msg["fn"] = msg["fn"].expand(_batch_shape(msg)).mask(weights > 0)
        msg["scale"] = weights if msg.get("scale") is None else weights * msg["scale"]


class FlatProgram:
    """A NumPyro program as a log-density on flat unconstrained vectors.

    Args:
        model: The program.
        example: Arguments with at least one row, or sufficient statistics.

    Attributes:
        size: Length of the flat vector.
    """

    def __init__(self, model: Model, example: Arguments) -> None:
        self._model = model
        self._axes: dict[str, int] = {}
        self._growing: set[str] = set()
        if example.weights is not None:
            self._find_axes(_sites(model, _with_rows(example, 4)), _sites(model, _with_rows(example, 7)))
        _check_latent(_sites(model, example))
        shapes = jax.eval_shape(lambda: _latent_values(model, example))
        zeros = jax.tree.map(lambda x: np.zeros(x.shape, x.dtype), shapes)
        flat, self._unravel = ravel_pytree(zeros)
        self.size = int(flat.size)

    def logdensity(self, position: Float[Array, " size"], data: Arguments) -> Float[Array, ""]:
        """The unconstrained log-density, including the Jacobian of the constraints."""
        model = self._model
        if data.weights is not None:
            model = weigh_rows(model, self._axes, data.weights)
        return -potential_energy(model, data.args, data.kwargs, self._unravel(position))

    def draw_prior(self, key: Key[Array, ""], data: Arguments) -> Float[Array, " size"]:
        """A draw of the latent sites before any data, unconstrained and flat."""
        return ravel_pytree(_latent_values(self._model, data, key))[0]

    def constrain(self, position: Float[Array, " size"], data: Arguments) -> dict[str, Shaped[Array, "..."]]:
        """The latent and deterministic sites at a position, on their own supports; without those of single rows."""
        free = self._unravel(position)

        def substitute(site: dict[str, Any]) -> Array | None:
            latent = site["type"] == "sample" and site["name"] in free
            return biject_to(site["fn"].support)(free[site["name"]]) if latent else None

        model = handlers.substitute(handlers.seed(self._model, jax.random.key(0)), substitute_fn=substitute)
        trace = handlers.trace(model).get_trace(*data.args, **data.kwargs)
        kept = {
            name: site
            for name, site in trace.items()
            if _is_latent(site) or (site["type"] == "deterministic" and name not in self._growing)
        }
        return {name: jnp.asarray(site["value"]) for name, site in kept.items()}

    def check_padding(self, padded: Arguments, exact: Arguments, position: Float[Array, " size"]) -> None:
        """Raises InputError if rows of weight 0 change the log-density."""
        value = jax.jit(self.logdensity)
        with_padding, without = (float(value(position, data)) for data in (padded, exact))
        tolerance = 100 * float(np.finfo(position.dtype).eps) * (1 + abs(without))
        if np.isfinite(without) and not abs(with_padding - without) <= tolerance:
            raise InputError(
                "empty rows change the log-density of the model: every term that depends on the data must be an "
                "observed site or a numpyro.factor with one value per row (no sums over rows, no len of the data)"
            )

    def _find_axes(self, shorter: "dict[str, _Site]", longer: "dict[str, _Site]") -> None:
        for name, site in shorter.items():
            if site.shape != longer[name].shape:
                self._growing.add(name)
            if not site.is_sample:
                continue
            both = list(zip(site.batch_shape, longer[name].batch_shape, strict=True))
            axes = [i - len(both) for i, (a, b) in enumerate(both) if a != b]
            if axes and not site.is_observed:
                raise InputError(
                    f"site {name!r} has a latent value for every row of the data; the number of unknowns must not "
                    "grow with the data: marginalise it, or use groups of a fixed number"
                )
            if len(axes) > 1:
                raise InputError(
                    f"observed site {name!r} grows along {len(axes)} axes; it must have one of rows"
                )
            if axes:
                self._axes[name] = axes[0]
            elif name in self._growing:
                raise InputError(
                    f"rows of observed site {name!r} are one joint event; they must be independent given the "
                    "latent sites: use a plate instead of to_event or a multivariate distribution over rows"
                )
        if not self._axes:
            raise InputError("no observed site of the model grows with the data: pass the data to obs=")


class _Site(NamedTuple):
    """What is static of a site."""

    is_sample: bool
    is_observed: bool
    is_discrete: bool
    shape: tuple[int, ...]
    batch_shape: tuple[int, ...]


def _batch_shape(site: Mapping[str, Any]) -> tuple[int, ...]:
    """The shape of a site's log-probabilities; without a plate an observed value may have more axes than its `fn`."""
    value_shape = jnp.shape(site["value"])
    return np.broadcast_shapes(site["fn"].batch_shape, value_shape[: len(value_shape) - site["fn"].event_dim])


def _trace(model: Model, data: Arguments, key: Array | None = None) -> dict[str, Any]:
    seeded = handlers.seed(model, jax.random.key(0) if key is None else key)
    return dict(handlers.trace(seeded).get_trace(*data.args, **data.kwargs))


def _sites(model: Model, data: Arguments) -> dict[str, _Site]:
    """The static facts of a program's sites, without any computation."""
    sites: dict[str, _Site] = {}

    def collect(data: Arguments) -> None:
        for name, site in _trace(model, data).items():
            if site["type"] not in ("sample", "deterministic"):
                continue
            is_sample = site["type"] == "sample"
            discrete = is_sample and not site["is_observed"] and site["fn"].support.is_discrete
            batch_shape = _batch_shape(site) if is_sample else ()
            observed = is_sample and site["is_observed"]
            sites[name] = _Site(is_sample, observed, discrete, jnp.shape(site["value"]), batch_shape)

    try:
        jax.eval_shape(collect, data)
    except Exception as error:
        reason = f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else ''}"
        raise InputError(f"the model does not run on the data: {reason}") from error
    return sites


def _latent_values(model: Model, data: Arguments, key: Array | None = None) -> dict[str, Array]:
    """A draw of the latent sites, mapped to the whole space."""
    sites = {name: site for name, site in _trace(model, data, key).items() if _is_latent(site)}
    return {name: biject_to(site["fn"].support).inv(site["value"]) for name, site in sites.items()}


def _with_rows(data: Arguments, number: int) -> Arguments:
    """The arguments with `number` copies of the first row."""

    def repeat(x: Any) -> Any:
        return np.repeat(np.asarray(x)[:1], number, axis=0)

    args, kwargs = jax.tree.map(repeat, (data.args, data.kwargs))
    return Arguments(args, kwargs, np.ones(number))


def _is_latent(site: Mapping[str, Any]) -> bool:
    return site["type"] == "sample" and not site["is_observed"]


def _check_latent(sites: dict[str, _Site]) -> None:
    latent = {name: site for name, site in sites.items() if site.is_sample and not site.is_observed}
    if not latent:
        raise InputError("the model has no latent site: there is nothing to sample")
    discrete = [name for name, site in latent.items() if site.is_discrete]
    if discrete:
        raise InputError(f"site {discrete[0]!r} is discrete; gradients need continuous sites: marginalise it")
