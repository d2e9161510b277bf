"""A NumPyro program with weighted rows: equal to NumPyro's own density, and clear words where it cannot be followed."""

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
import pytest
from numpyro.infer.util import log_likelihood, potential_energy

from samplers import MALA, NUTS, SMC, ChainLimits, InputError, ParticleLimits, follow
from samplers.online.data import RowBuffer, StatisticsSum
from samplers.online.program import Arguments, FlatProgram

RNG = np.random.default_rng(3)


def regression(x, y):
    scale = numpyro.sample("scale", dist.HalfNormal(2.0))
    with numpyro.plate("features", 2):
        theta = numpyro.sample("theta", dist.Normal(0.0, 1.0))
    numpyro.deterministic("fitted", x @ theta)
    numpyro.deterministic("variance", scale**2)
    with numpyro.plate("data", len(y)):
        numpyro.sample("y", dist.Normal(x @ theta, scale), obs=y)


def test_density_is_numpyros_with_one_weight_per_row():
    x, y = RNG.normal(size=(5, 2)), RNG.normal(size=5)
    data = RowBuffer(capacity=4)
    data.add((x[:3], y[:3]), {})
    data.add((x[3:], y[3:]), {})
    assert data.capacity == 8
    program = FlatProgram(regression, data.arguments())
    assert program.size == 3
    position = jnp.asarray([0.3, -0.4, 0.7])
    free = {"scale": position[0], "theta": position[1:]}
    whole = -potential_energy(regression, (x, y), {}, free)
    np.testing.assert_allclose(program.logdensity(position, data.arguments()), whole, rtol=1e-12)
    old = -potential_energy(regression, (x[:3], y[:3]), {}, free)
    np.testing.assert_allclose(program.logdensity(position, data.arguments(0.0)), old, rtol=1e-12)
    rows = log_likelihood(
        regression, {"scale": jnp.exp(position[:1]), "theta": position[None, 1:]}, x, y, batch_ndims=1
    )["y"][0]
    tempered = program.logdensity(position, data.arguments(0.25))
    np.testing.assert_allclose(tempered, old + 0.25 * rows[3:].sum(), rtol=1e-12)
    from_prior = program.logdensity(position, data.arguments(0.25, from_prior=True))
    np.testing.assert_allclose(from_prior, whole - 0.75 * rows.sum(), rtol=1e-12)
    gradient = jax.grad(program.logdensity)(position, data.arguments())
    expected = jax.grad(lambda z: -potential_energy(regression, (x, y), {}, {"scale": z[0], "theta": z[1:]}))(
        position
    )
    np.testing.assert_allclose(gradient, expected, rtol=1e-10)
    sites = program.constrain(position, data.arguments())
    assert {*sites} == {"scale", "theta", "variance"}  # `fitted` has a value per row
    np.testing.assert_allclose(sites["variance"], np.exp(2 * 0.3), rtol=1e-12)


def test_empty_rows_may_be_impossible():
    """A weight of zero hides a row whose log-probability is infinite."""

    def model(y):
        top = numpyro.sample("top", dist.HalfNormal(1.0))
        numpyro.sample("y", dist.Uniform(0.0, top, validate_args=False), obs=y)

    program = FlatProgram(model, Arguments((np.array([0.5, 3.0]),), {}, np.ones(2)))
    data = Arguments((jnp.array([0.5, 3.0]),), {}, jnp.array([1.0, 0.0]))
    value, gradient = jax.value_and_grad(program.logdensity)(jnp.zeros(1), data)
    assert np.isfinite(value)
    assert np.all(np.isfinite(gradient))


def test_statistics_add_up():
    data = StatisticsSum(lambda y: {"n": len(y), "sum": np.sum(y)})
    data.add((np.array([1.0, 2.0]),), {})
    data.add((np.array([4.0]),), {})
    (sums,) = data.arguments().args
    assert (float(sums["n"]), float(sums["sum"]), data.num_data) == (3.0, 7.0, 3)
    (sums,) = data.arguments(0.5).args
    assert (float(sums["n"]), float(sums["sum"])) == (2.5, 5.0)
    (sums,) = data.arguments(0.5, from_prior=True).args
    assert (float(sums["n"]), float(sums["sum"])) == (1.5, 3.5)
    with pytest.raises(InputError, match="not finite"):
        data.add((np.array([np.nan]),), {})


def local(y):
    with numpyro.plate("data", len(y)):
        z = numpyro.sample("z", dist.Normal(0.0, 1.0))
        numpyro.sample("y", dist.Normal(z, 1.0), obs=y)


def joint(y):
    m = numpyro.sample("m", dist.Normal(0.0, 1.0))
    numpyro.sample("y", dist.Normal(m, 1.0).expand([len(y)]).to_event(1), obs=y)


def summed(y):
    m = numpyro.sample("m", dist.Normal(0.0, 1.0))
    numpyro.sample("y", dist.Normal(m, 1.0), obs=y)
    numpyro.factor("more", -jnp.sum((y - m) ** 2))


def unused(y):
    numpyro.sample("m", dist.Normal(0.0, 1.0))


def discrete(y):
    m = numpyro.sample("m", dist.Bernoulli(0.5))
    numpyro.sample("y", dist.Normal(m, 1.0), obs=y)


def fixed_plate(y):
    m = numpyro.sample("m", dist.Normal(0.0, 1.0))
    with numpyro.plate("data", 3):
        numpyro.sample("y", dist.Normal(m, 1.0), obs=y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (local, "'z' has a latent value for every row"),
        (joint, "'y' are one joint event"),
        (summed, "empty rows change the log-density"),
        (unused, "no observed site"),
        (discrete, "'m' is discrete"),
        (fixed_plate, "does not run on the data"),
    ],
)
def test_models_that_cannot_be_followed_are_named(model, message):
    follower = follow(model, MALA(), jax.random.key(0))
    with pytest.raises(InputError, match=message):
        follower.update(RNG.normal(size=3))


def test_batches_must_fit():
    data = RowBuffer(capacity=4)
    data.add((np.zeros((2, 3)), np.zeros(2)), {})
    for args, message in [
        ((np.zeros((2, 3)), np.zeros(1)), "same number of rows"),
        ((np.zeros((2, 4)), np.zeros(2)), "do not fit"),
        ((np.zeros((0, 3)), np.zeros(0)), "no rows"),
        ((np.zeros((2, 3)),), "same arguments"),
        ((), "empty"),
    ]:
        with pytest.raises(InputError, match=message):
            data.add(args, {})
    assert data.num_data == 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": 3}, "NumPyro program"),
        ({"sampler": "nuts"}, "takes a sampler"),
        ({"num_chains": 7}, "num_chains=7"),
        ({"num_draws": 2}, "num_draws=2"),
        ({"capacity": 0}, "capacity=0"),
        ({"limits": ParticleLimits()}, "ChainLimits"),
        ({"sampler": SMC(), "limits": ChainLimits()}, "ParticleLimits"),
    ],
)
def test_wrong_arguments_are_named(change, message):
    with pytest.raises(InputError, match=message):
        follow(**({"model": regression, "sampler": NUTS(), "key": jax.random.key(0)} | change))


def test_there_is_no_sample_before_data():
    follower = follow(regression, NUTS(), jax.random.key(0))
    with pytest.raises(InputError, match="first update"):
        follower.samples()
