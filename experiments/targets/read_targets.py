"""Reads the targets of this folder: `fgtsva targets export` puts this file beside them.

It needs JAX, NumPyro and xarray with h5netcdf, and nothing else of the project that wrote the files. To agree with the
check values in all digits call `jax.config.update("jax_enable_x64", True)` first.

    import read_targets

    target = read_targets.load("logistic-5")
    target.reference(-1)  # draws (draws, size) from the last posterior of the sequence
    target.model(**target.data(-1))  # its NumPyro program: NUTS(target.model), then mcmc.run(key, **target.data(-1))
    target.logdensity(x, -1)  # the same as a function of a flat vector without constraints, up to a constant
    target.check()  # compares log-densities and gradients with the stored ones

A flat vector has the sites in alphabetical order. A positive site is stored as its logarithm.
"""

import itertools
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import xarray as xr
from numpyro.infer.util import potential_energy

type Function = Callable[[Any], Any]

HERE = Path(__file__).parent
DATA = ("actions", "bonus_scale", "gram", "moment", "square", "features", "rewards", "weights")


def normal(name: str, scale: Any, *shape: int) -> Any:
    """Independent normal numbers of one scale."""
    return numpyro.sample(name, dist.Normal(0.0, scale).expand(shape).to_event(len(shape)))


def linear(settings: dict[str, Any], actions: Any) -> tuple[Any, Function]:
    """f(a) = <theta, a>: the coefficients, and f itself."""
    scale = settings["prior_scale"] or actions.shape[1] ** -0.5
    theta = normal("theta", scale, actions.shape[1])
    return theta, lambda features: features @ theta


def logistic(settings: dict[str, Any], actions: Any) -> tuple[Any, Function]:
    """f(a) = sigmoid(<theta, a>)."""
    theta = normal("theta", settings["prior_scale"], actions.shape[1])
    return None, lambda features: jax.nn.sigmoid(features @ theta)


def hierarchical(settings: dict[str, Any], actions: Any) -> tuple[Any, Function]:
    """f(a) = <theta, a> + bias_a, where the mean and the scale of the biases are unknown."""
    arms, dim = actions.shape
    theta = normal("theta", settings["prior_scale"] or dim**-0.5, dim)
    mean = numpyro.sample("bias_mean", dist.Normal(0.0, settings["bias_scale"]))
    spread = numpyro.sample("bias_scale", dist.HalfNormal(settings["bias_scale"]))
    bias = mean + spread * normal("bias_standard", 1.0, arms)
    return jnp.concatenate([theta, bias]), lambda features: features @ theta + bias


def mlp(settings: dict[str, Any], actions: Any) -> tuple[Any, Function]:
    """f(a) = a network of normal weights with tanh units."""
    sizes = [actions.shape[1]] + [settings["width"]] * settings["depth"] + [1]
    scale, layers = settings["prior_scale"], []
    for i, (inputs, outputs) in enumerate(itertools.pairwise(sizes)):
        weights = normal(f"weights_{i}", scale * inputs**-0.5, inputs, outputs)
        layers.append((weights, normal(f"bias_{i}", scale, outputs)))

    def function(features: Any) -> Any:
        for weights, bias in layers[:-1]:
            features = jnp.tanh(features @ weights + bias)
        return (features @ layers[-1][0] + layers[-1][1])[:, 0]

    return None, function


CLASSES = {"linear": linear, "logistic": logistic, "hierarchical": hierarchical, "mlp": mlp}
POSITIVE = ("bias_scale",)


class Target:
    """A sequence of posteriors: the arrays of NAME.nc, and the facts of NAME.json."""

    def __init__(self, facts: dict[str, Any], arrays: dict[str, Any]) -> None:
        self.facts, self.arrays = facts, arrays

    def data(self, step: int = -1) -> dict[str, Any]:
        """The arguments of `model` for a step. Rows that were observed later get weight 0."""
        data = {key: self.arrays[key] for key in DATA if key in self.arrays}
        data = {key: x if key in ("features", "rewards", "weights") else x[step] for key, x in data.items()}
        if "rewards" in data:
            seen = np.arange(len(data["rewards"])) < self.arrays["num_rows"][step]
            data["weights"] = np.where(seen, data["weights"], 0.0)
        return data

    def model(self, actions: Any, bonus_scale: Any, **data: Any) -> None:
        """The NumPyro program: prior, weighted squared loss of the data, and the bonus of the best arm."""
        name, settings = self.facts["reward"]
        coefficients, function = CLASSES[name](settings, actions)
        if "gram" in data:
            loss = (
                coefficients @ data["gram"] @ coefficients
                - 2 * data["moment"] @ coefficients
                + data["square"]
            )
        else:
            loss = jnp.sum(data["weights"] * (data["rewards"] - function(data["features"])) ** 2)
        numpyro.factor("loss", -loss)
        numpyro.factor("bonus", bonus_scale * jnp.max(function(actions)))

    def sites(self, x: Any) -> dict[str, Any]:
        """The parts of a flat vector by site, without constraints."""
        parts: dict[str, Any] = {}
        start = 0
        for site in self.facts["sites"]:
            size = int(np.prod(site["shape"]))
            parts[site["name"]] = jnp.reshape(x[start : start + size], site["shape"])
            start += size
        return parts

    def logdensity(self, x: Any, step: int = -1) -> Any:
        """The log-density of a flat vector, up to a constant that is the same for all steps."""
        return self._logdensity(x, self.data(step))

    def _logdensity(self, x: Any, data: dict[str, Any]) -> Any:
        return -potential_energy(self.model, (), data, self.sites(x))

    def flat(self, samples: dict[str, Any]) -> Any:
        """Flat vectors (..., size) from NumPyro's samples by site."""
        parts = []
        for site in self.facts["sites"]:
            values = samples[site["name"]]
            values = jnp.log(values) if site["name"] in POSITIVE else values
            batch = values.shape[: values.ndim - len(site["shape"])]
            parts.append(jnp.reshape(values, (*batch, -1)))
        return jnp.concatenate(parts, axis=-1)

    def reference(self, step: int = -1) -> Any:
        """Draws (draws, size) from the posterior of a step; `facts["references"][step]` says how they were made."""
        return self.arrays["reference"][step]

    def check(self, rtol: float = 1e-6) -> None:
        """Raises AssertionError if a log-density or a gradient differs from the stored one."""
        program = jax.jit(jax.value_and_grad(self._logdensity))
        for step in range(len(self.arrays["round"])):
            for x, value, gradient in zip(
                *(self.arrays[f"check_{key}"][step] for key in ("positions", "logdensity", "gradient")),
                strict=True,
            ):
                ours = program(jnp.asarray(x), self.data(step))
                np.testing.assert_allclose(ours[0], value, rtol=rtol)
                np.testing.assert_allclose(ours[1], gradient, rtol=rtol, atol=rtol * np.max(np.abs(gradient)))


def load(name: str, folder: str | Path = HERE) -> Target:
    """The target of a name, from this folder or another one."""
    facts = json.loads((Path(folder) / f"{name}.json").read_text())
    with xr.open_dataset(Path(folder) / f"{name}.nc") as dataset:
        return Target(
            facts, {str(key): np.asarray(values) for key, values in dataset.load().variables.items()}
        )
