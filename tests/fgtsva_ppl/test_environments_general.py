"""Environments beyond the linear ones, tables of data, and noise that goes with any environment."""

import warnings
from urllib.error import URLError

import jax
import jax.numpy as jnp
import numpy as np
import pandas as pd
import pytest
from helpers.montecarlo import SEED, assert_frequencies, assert_law, assert_mean
from helpers.worlds import OTHERS, rest_is_slow
from scipy import stats

from experiments.config.compose import resolve
from fgtsva_ppl import ENVIRONMENTS, NOISES, Contextual, InputError, Sparse, Thompson, WithNoise, simulate
from fgtsva_ppl.agents import Uniform
from fgtsva_ppl.environments import (
    Digits,
    Iris,
    LogisticBandit,
    MLPBandit,
    OpenML,
    Quadratic,
    TableBandit,
    Wheel,
    datasets,
)
from fgtsva_ppl.environments.encoding import encoded
from fgtsva_ppl.simulation import check, reveal
from fgtsva_ppl.types import Environment

MANY = 4000
BUILT = [name for name, values in OTHERS.items() if values is not None]


@jax.jit
def _rounds(environment, keys):
    instance = environment.start(jax.random.key(SEED))
    number = jnp.arange(len(keys))
    return instance, jax.vmap(lambda key, t: reveal(environment, key, instance, t))(keys, number)


def rounds(environment):
    """The first rounds of one run, as the loop asks for them."""
    keys = jax.random.split(jax.random.key(SEED), MANY)
    instance, (seen, outcome) = _rounds(environment, keys)
    return instance, jax.tree.map(np.asarray, seen), jax.tree.map(np.asarray, outcome)


@pytest.mark.parametrize("name", rest_is_slow(BUILT, ["mlp", "wheel", "iris"]))
def test_every_other_environment_fits_an_agent(name):
    environment = ENVIRONMENTS.build(name, OTHERS[name])
    assert isinstance(environment, Environment)
    check(environment, Thompson(), rounds=3)
    key, shape = jax.random.key(0), environment.shape
    seen, outcome = jax.eval_shape(
        lambda key: environment.round(key, environment.start(key), jnp.asarray(0)), key
    )
    assert seen.actions.shape == (shape.arms, shape.dim)
    assert outcome.means.shape == (shape.arms,)


def test_a_logistic_truth_is_a_probability_of_the_features():
    theta, seen, outcome = rounds(LogisticBandit(dim=3, arms=4))
    np.testing.assert_allclose(outcome.means, 1 / (1 + np.exp(-seen.actions @ np.asarray(theta))), rtol=1e-12)
    assert_law(outcome.noise, stats.norm(0, 0.1).cdf)


def test_a_quadratic_truth_is_even():
    theta, seen, outcome = rounds(Quadratic(dim=3, arms=4, gain=2.0))
    np.testing.assert_allclose(outcome.means, 2 * (seen.actions @ np.asarray(theta)) ** 2, atol=1e-12)
    np.testing.assert_allclose(np.linalg.norm(theta), 1)


def test_networks_of_two_runs_differ():
    teacher = MLPBandit(dim=3, arms=4, width=2)
    first, second = (teacher.start(key) for key in jax.random.split(jax.random.key(0)))
    assert np.all(np.asarray(first) != np.asarray(second))


@pytest.mark.parametrize("delta", [0.5, 0.95])
def test_the_wheel_is_as_published(delta):
    environment = Wheel(delta=delta)
    _, seen, outcome = rounds(environment)
    assert environment.shape == (5, 15, False, False)
    point = seen.actions[:, 0, :2]
    for arm in range(5):
        np.testing.assert_array_equal(
            seen.actions[:, arm].reshape(-1, 5, 3)[:, arm], np.insert(point, 2, 1, axis=1)
        )
    radius = np.linalg.norm(point, axis=1)
    assert_law(radius**2, stats.uniform.cdf)  # uniform in the disk
    inside = radius <= delta
    np.testing.assert_array_equal(outcome.means[inside], np.tile([1.2, 1, 1, 1, 1], (inside.sum(), 1)))
    for place, rewards in zip(point[~inside], outcome.means[~inside], strict=True):
        expected = np.array([1.2, 1, 1, 1, 1])
        expected[{(1, 1): 1, (1, -1): 2, (-1, 1): 3, (-1, -1): 4}[tuple(np.sign(place).astype(int))]] = 50
        np.testing.assert_array_equal(rewards, expected)
    assert_frequencies(np.bincount(inside, minlength=2), np.array([1 - delta**2, delta**2]))
    assert_law(outcome.noise, stats.norm(0, 0.01).cdf)


def test_nothing_to_remember_is_no_obstacle():
    """Every run of the wheel has the same truth, and a uniform agent learns nothing: no state at all."""
    assert simulate(Wheel(), Uniform(), rounds=2, runs=1).regret.shape == (1, 2)


def test_encodings():
    context = jnp.asarray([2.0, 3.0])
    np.testing.assert_array_equal(encoded(context, 2, "disjoint"), [[2, 3, 1, 0, 0, 0], [0, 0, 0, 2, 3, 1]])
    np.testing.assert_array_equal(encoded(context, 2, "joint"), [[2, 3, 1, 0], [2, 3, 0, 1]])


def test_the_right_class_pays_one():
    environment = Iris()
    contexts, labels, classes = environment.table
    _, seen, outcome = rounds(environment)
    assert classes == ("setosa", "versicolor", "virginica")
    assert contexts.shape == (150, 4)
    np.testing.assert_allclose(contexts.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(contexts.std(axis=0), 1)
    # every revealed context is a row of the table, and pays for a label that this row has
    rows = {(*row.round(9), label) for row, label in zip(contexts, labels.tolist(), strict=True)}
    shown = zip(seen.actions[:, 0, :4], outcome.means.argmax(axis=1).tolist(), strict=True)
    drawn = {(*row.round(9), best) for row, best in shown}
    assert drawn <= rows
    np.testing.assert_array_equal(outcome.means.sum(axis=1), 1)
    assert_frequencies(np.bincount(outcome.means.argmax(axis=1)), np.full(3, 1 / 3))
    assert np.all(outcome.noise == 0)


def test_fewer_rows_and_components():
    environment = Digits(rows=100, components=5, encoding="joint")
    contexts, labels, _ = environment.table
    assert contexts.shape == (100, 5)
    assert environment.shape == (10, 15, False, False)
    np.testing.assert_allclose(np.cov(contexts.T, bias=True), np.eye(5), atol=1e-9)
    assert set(labels) <= set(range(10))


FRAME = pd.DataFrame(
    {
        "size": [1.0, 2.0, 3.0, 4.0],
        "colour": ["red", "blue", "red", "red"],
        "same": 7,
        "kind": ["b", "a", "b", "c"],
    }
)


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_table_is_read_from_a_file(tmp_path, suffix):
    path = tmp_path / f"data{suffix}"
    FRAME.to_csv(path, index=False) if suffix == ".csv" else FRAME.to_parquet(path)
    environment = TableBandit(path=str(path), label="kind")
    contexts, labels, classes = environment.table
    assert classes == ("a", "b", "c")
    assert labels.tolist() == [1, 0, 1, 2]
    assert contexts.shape == (4, 3)  # size, blue, red
    np.testing.assert_allclose(contexts[:, 0], (np.arange(4) - 1.5) / np.std(np.arange(4)))
    assert environment.shape == (3, 12, False, False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"size": [1.0, np.nan, np.nan, 4.0]},
            "2 missing values, 2 of them in column 'size'; fill or drop them first",
        ),
        (
            {"kind": ["a", "b", None, "c"]},
            "1 missing values, 1 of them in column 'kind'; fill or drop them first",
        ),
        ({"kind": "a"}, "label 'kind' is constant; there must be two classes at least"),
        ({"size": 1.0, "colour": "red"}, "has no column beside 'kind' that varies"),
        ({"size": [1.0, 2.0, np.inf, 4.0]}, "has numbers that are not finite"),
    ],
)
def test_what_is_wrong_with_a_table_is_told(tmp_path, change, message):
    path = tmp_path / "data.csv"
    FRAME.assign(**change).to_csv(path, index=False)
    with pytest.raises(InputError) as error:
        check(TableBandit(path=str(path), label="kind"), Thompson(), rounds=3)
    assert str(path) in str(error.value)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_where_a_table_is_not(tmp_path):
    path = tmp_path / "data.csv"
    FRAME.to_csv(path, index=False)
    wrong = [
        (TableBandit(), "environment 'table' needs a file and its label column: set path=FILE label=COLUMN"),
        (TableBandit(path="data.xls", label="kind"), "path=data.xls must end in .csv or .parquet"),
        (TableBandit(path=str(tmp_path / "none.csv"), label="kind"), "cannot read"),
        (
            TableBandit(path=str(path), label="size2"),
            "has no column 'size2'; it has: size, colour, same, kind",
        ),
        (OpenML(), "environment 'openml' needs a name: set dataset=NAME, such as shuttle"),
    ]
    for environment, message in wrong:
        with pytest.raises(InputError, match=message.replace("'", ".")):
            _ = environment.shape
    many = FRAME.iloc[:1].loc[[0] * 101].assign(kind=range(101), size=range(101))
    with pytest.raises(InputError, match="label 'kind' has 101 values; each is an arm, and 100 are the most"):
        datasets.tabulated(many, "kind", "data")


def test_openml_is_asked_once_and_a_missing_word_is_a_category(monkeypatch, tmp_path):
    asked = []

    class Fetched:
        data = FRAME[["size", "colour"]].assign(colour=["red", None, "red", "blue"])
        target = FRAME["kind"]

    def fetch_openml(name, **settings):
        assert settings["data_home"] == str(tmp_path / "openml")  # where scikit-learn keeps what it fetched
        warnings.warn("trying again", UserWarning, stacklevel=2)
        asked.append((name, settings["version"]))
        return Fetched

    monkeypatch.setenv("FGTSVA_CACHE", str(tmp_path))
    monkeypatch.setattr(datasets._scikit_learn(), "fetch_openml", fetch_openml)
    environment = OpenML(dataset="magic")
    assert environment.shape == (3, 3 * 5, False, False)  # size; red, blue, missing; 1
    assert environment.table.labels.tolist() == [1, 0, 1, 2]
    assert asked == [("MagicTelescope", 1)]
    datasets.reduced.cache_clear()


def test_no_network_is_told_in_one_line(monkeypatch, tmp_path):
    def fetch_openml(name, **settings):
        raise URLError("no route to host")

    monkeypatch.setenv("FGTSVA_CACHE", str(tmp_path))
    monkeypatch.setattr(datasets._scikit_learn(), "fetch_openml", fetch_openml)
    with pytest.raises(
        InputError, match=r"cannot get 'adult' from OpenML: .*no route to host.*needs a network"
    ):
        _ = OpenML(dataset="adult").shape


WORLD = Contextual(dim=3, arms=4)
BROUGHT = [name for name in NOISES.names() if name != "own"]


@pytest.mark.parametrize("name", rest_is_slow(BROUGHT, ["sparse", "by_context"]))
def test_noise_goes_with_any_environment(name):
    bare, noisy = rounds(WORLD), rounds(WithNoise(WORLD, NOISES.build(name)))
    np.testing.assert_array_equal(noisy[0].truth.theta, bare[0].theta)
    np.testing.assert_array_equal(noisy[1].actions, bare[1].actions)
    np.testing.assert_array_equal(noisy[2].means, bare[2].means)
    sigma, noise = noisy[1].sigma, noisy[2].noise
    assert_law(noise[sigma > 0] / sigma[sigma > 0], stats.norm.cdf)
    assert np.all(noise[sigma == 0] == 0)
    if name == "decaying":
        np.testing.assert_allclose(sigma, np.arange(1, MANY + 1) ** -0.5)
    if name == "by_context":
        # z is sqrt(3) times a coordinate of a uniform point on the sphere, which is uniform in R^3
        assert_law(np.log(sigma), stats.uniform(-(3**0.5), 2 * 3**0.5).cdf)
        assert_mean(np.log(sigma)[:, None] ** 2, [1.0])


def test_noise_keeps_to_the_environments_convention():
    for subgaussian, factor in ((False, 1.0), (True, 0.5)):
        noisy = WithNoise(Sparse(subgaussian=subgaussian), NOISES.build("constant", {"scale": 2.0}))
        _, seen, outcome = rounds(noisy)
        assert np.all(seen.sigma == 2.0)
        assert_law(outcome.noise, stats.norm(0, 2 * factor).cdf)


def test_noise_is_a_group_of_the_command_line():
    words = ["environment=quadratic", "reward=mlp", "sampler=mala", "rounds=3", "runs=1"]
    plain, *noisy = resolve([*words, "noise=own,sparse,decaying", "noise.power=0.25"]).cells
    assert "noise" not in plain.parts  # so that its id is that of a cell that says nothing of noise
    assert plain.id == resolve(words).cells[0].id
    assert [cell.flat["noise"] for cell in noisy] == ["sparse", "decaying"]
    assert noisy[1].flat["noise.power"] == 0.25
    assert isinstance(noisy[1].environment, WithNoise)
    assert noisy[1].name == "quadratic decaying thompson fgts_va mala"
    assert len({cell.id for cell in (plain, *noisy)}) == 3


def test_a_cell_knows_the_content_of_its_table(tmp_path, monkeypatch):
    path = tmp_path / "data.csv"
    words = ["environment=table", f"environment.path={path}", "environment.label=kind", "sampler=mala"]
    ids = []
    for frame in (FRAME, FRAME.iloc[:3], FRAME):
        frame.to_csv(path, index=False)
        monkeypatch.setattr(datasets, "_read", {})  # as in another process
        ids.append(resolve(words).cells[0].id)
    assert ids[0] == ids[2] != ids[1]
    FRAME.iloc[:3].to_csv(path, index=False)
    with pytest.raises(InputError, match="has changed since this process read it"):
        _ = resolve(words).cells[0].id
