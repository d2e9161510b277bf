"""The exported reader: its programs are the posteriors, which are written out once more in NumPy."""

import json
import subprocess
import sys
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from helpers.montecarlo import SEED
from scipy import stats

from experiments.targets import read_targets
from experiments.targets.stored import StoredSequence

DIM, ARMS, STEPS, ROWS = 2, 3, 2, 5
SETTINGS = {
    "linear": {"prior_scale": None},
    "logistic": {"prior_scale": 1.5},
    "hierarchical": {"prior_scale": 0.7, "bias_scale": 2.0},
    "mlp": {"width": 4, "depth": 1, "activation": "tanh", "prior_scale": 1.2},
}
SITES = {
    "linear": [("theta", [DIM])],
    "logistic": [("theta", [DIM])],
    "hierarchical": [("bias_mean", []), ("bias_scale", []), ("bias_standard", [ARMS]), ("theta", [DIM])],
    "mlp": [("bias_0", [4]), ("bias_1", [1]), ("weights_0", [DIM, 4]), ("weights_1", [4, 1])],
}
POSTERIORS = {"fgts_b": {"eta": 0.8, "lam": 2.5}, "ts": {"eta": 0.8}}


def numpy_logdensity(kind, x, arrays, step):
    """The density by the words of NAME.json: `density` and `function`."""
    settings = SETTINGS[kind]
    parts, start = {}, 0
    for name, shape in SITES[kind]:
        size = int(np.prod(shape))
        parts[name] = np.reshape(x[start : start + size], shape)
        start += size
    normal = stats.norm.logpdf
    actions = arrays["actions"][step]
    if kind in ("linear", "hierarchical"):
        theta, bias, prior = parts["theta"], np.zeros(ARMS), 0.0
        if kind == "hierarchical":
            spread, s = np.exp(parts["bias_scale"]), settings["bias_scale"]
            bias = parts["bias_mean"] + spread * parts["bias_standard"]
            prior = normal(parts["bias_mean"], 0, s) + normal(parts["bias_standard"]).sum()
            prior += np.log(2) + normal(spread, 0, s) + parts["bias_scale"]
        prior += normal(theta, 0, settings["prior_scale"] or DIM**-0.5).sum()
        c = theta if kind == "linear" else np.concatenate([theta, bias])
        loss = c @ arrays["gram"][step] @ c - 2 * arrays["moment"][step] @ c + arrays["square"][step]
        values = actions @ theta + bias
    else:
        if kind == "logistic":
            prior = normal(parts["theta"], 0, settings["prior_scale"]).sum()

            def f(a):
                return 1 / (1 + np.exp(-a @ parts["theta"]))
        else:
            scale = settings["prior_scale"]
            prior = sum(normal(parts[f"bias_{i}"], 0, scale).sum() for i in (0, 1))
            for name in ("weights_0", "weights_1"):
                prior += normal(parts[name], 0, scale * len(parts[name]) ** -0.5).sum()

            def f(a):
                hidden = np.tanh(a @ parts["weights_0"] + parts["bias_0"])
                return (hidden @ parts["weights_1"] + parts["bias_1"])[:, 0]

        seen = slice(0, arrays["num_rows"][step])
        residuals = arrays["rewards"][seen] - f(arrays["features"][seen])
        loss, values = np.sum(arrays["weights"][seen] * residuals**2), f(actions)
    return prior - loss + arrays["bonus_scale"][step] * np.max(values)


def made(kind, posterior):
    """A sequence of random data whose check values come from the NumPy density and its differences."""
    rng = np.random.default_rng(SEED)
    arrays = {
        "round": np.array([3, 6]),
        "actions": rng.normal(size=(STEPS, ARMS, DIM)),
        "sigma": np.ones(STEPS),
        "total_variance": np.ones(STEPS),
        "num_rows": np.array([3, ROWS]),
        "bonus_scale": np.full(STEPS, POSTERIORS[posterior].get("lam", 0.0)),
    }
    if kind in ("linear", "hierarchical"):
        size = DIM + ARMS if kind == "hierarchical" else DIM
        rows = rng.normal(size=(STEPS, ROWS, size))
        arrays |= {"gram": np.einsum("sni,snj->sij", rows, rows), "square": np.ones(STEPS)}
        arrays["moment"] = rng.normal(size=(STEPS, size))
    else:
        arrays |= {"features": rng.normal(size=(ROWS, DIM)), "rewards": rng.random(ROWS)}
        arrays["weights"] = rng.random(ROWS)
    size = sum(int(np.prod(shape)) for _, shape in SITES[kind])
    points, shifts = rng.normal(size=(STEPS, 2, size)), 1e-6 * np.eye(size)

    def value(x, step):
        return float(numpy_logdensity(kind, x, arrays, step))

    def slope(x, step):
        return [(value(x + h, step) - value(x - h, step)) / 2e-6 for h in shifts]

    arrays["check_positions"] = points
    arrays["check_logdensity"] = np.array([[value(x, s) for x in points[s]] for s in range(STEPS)])
    arrays["check_gradient"] = np.array([[slope(x, s) for x in points[s]] for s in range(STEPS)])
    arrays |= {
        "reference": rng.normal(size=(STEPS, 50, size)),
        "metric": np.tile(np.eye(size), (STEPS, 1, 1)),
    }
    facts = {
        "reward": [kind, SETTINGS[kind]],
        "posterior": [posterior, POSTERIORS[posterior]],
        "compared": "parameters",
        "sites": [{"name": name, "shape": shape} for name, shape in SITES[kind]],
        "references": [{"kind": "exact"}] * STEPS,
    }
    return StoredSequence(kind, arrays, facts)


@pytest.mark.parametrize(
    ("kind", "posterior"),
    [("linear", "fgts_b"), ("logistic", "fgts_b"), ("hierarchical", "ts"), ("mlp", "ts")],
)
def test_reader_project_and_plain_numpy_have_one_density(kind, posterior):
    sequence = made(kind, posterior)
    target = read_targets.Target(sequence.facts, sequence.arrays)
    target.check(rtol=1e-5)  # differences have that accuracy
    for step in range(STEPS):
        values, gradients = sequence.densities(step, sequence.arrays["check_positions"][step])
        np.testing.assert_allclose(values, sequence.arrays["check_logdensity"][step], rtol=1e-10)
        np.testing.assert_allclose(gradients, sequence.arrays["check_gradient"][step], rtol=1e-4, atol=1e-4)
    x = jnp.asarray(sequence.arrays["check_positions"][0])
    sites = jax.vmap(target.sites)(x)
    sampled = {name: jnp.exp(v) if name == "bias_scale" else v for name, v in sites.items()}
    np.testing.assert_allclose(target.flat(sampled), x, rtol=1e-12)
    wrong = {**sequence.arrays, "bonus_scale": sequence.arrays["bonus_scale"] + 0.1}
    with pytest.raises(AssertionError):
        read_targets.Target(sequence.facts, wrong).check(rtol=1e-5)


def test_files_need_no_code_of_ours(tmp_path):
    """JSON and netCDF by their own libraries, and the closed form of a Gaussian posterior from the sums alone."""
    made("linear", "ts").save(tmp_path)
    facts = json.loads((tmp_path / "linear.json").read_text())
    with xr.open_dataset(tmp_path / "linear.nc") as data:
        precision = DIM * np.eye(DIM) + 2 * data["gram"].values[1]
        gradient = 2 * data["moment"].values[1] - data["check_positions"].values[1] @ precision
        np.testing.assert_allclose(gradient, data["check_gradient"].values[1], rtol=1e-6)
        assert data["reference"].dims == ("step", "draw", "parameter")
    assert facts["sites"] == [{"name": "theta", "shape": [DIM]}]


@pytest.mark.slow
def test_the_reader_runs_where_nothing_of_the_project_is_installed(tmp_path):
    made("hierarchical", "ts").save(tmp_path)
    (tmp_path / "read_targets.py").write_bytes(Path(read_targets.__file__).read_bytes())
    code = """
import sys
for name in ("fgtsva_ppl", "experiments", "samplers"):
    sys.modules[name] = None
import jax
jax.config.update("jax_enable_x64", True)
import read_targets
from numpyro.infer import MCMC, NUTS
target = read_targets.load("hierarchical")
target.check(rtol=1e-5)
mcmc = MCMC(NUTS(target.model), num_warmup=20, num_samples=20, progress_bar=False)
mcmc.run(jax.random.key(0), **target.data(-1))
draws = target.reference(-1)
print(target.flat(mcmc.get_samples()).shape, draws.shape, target.logdensity(draws[0], -1).shape)
"""
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "(20, 7) (50, 7) ()"
