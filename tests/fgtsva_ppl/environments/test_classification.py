"""Classification datasets as environments: bundled ones, files, OpenML."""

import warnings
import zlib
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from helpers.environment_rounds import rounds
from helpers.montecarlo import assert_frequencies

from experiments.config.compose import compose
from fgtsva_ppl import InputError, Thompson
from fgtsva_ppl.environments import Digits, Iris, OpenML, TableBandit, datasets, openml
from fgtsva_ppl.environments.tables import table_from_frame
from fgtsva_ppl.simulation import check


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
    revealed = zip(seen.actions[:, 0, :4], outcome.means.argmax(axis=1).tolist(), strict=True)
    drawn = {(*row.round(9), best) for row, best in revealed}
    assert drawn <= rows
    np.testing.assert_array_equal(outcome.means.sum(axis=1), 1)
    assert_frequencies(np.bincount(outcome.means.argmax(axis=1)), np.full(3, 1 / 3))
    np.testing.assert_array_equal(outcome.rewards, outcome.means)


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
    assert environment.shape == (3, 12, False, True)


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
        ({"kind": "a"}, "label 'kind' is constant; there must be at least two classes"),
        ({"size": 1.0, "colour": "red"}, "has no column besides 'kind' that varies"),
        ({"size": [1.0, 2.0, np.inf, 4.0]}, "has numbers that are not finite"),
    ],
)
def test_an_invalid_table_is_rejected_with_a_reason(tmp_path, change, message):
    path = tmp_path / "data.csv"
    FRAME.assign(**change).to_csv(path, index=False)
    with pytest.raises(InputError) as error:
        check(TableBandit(path=str(path), label="kind"), Thompson(), rounds=3)
    assert str(path) in str(error.value)
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_a_missing_table_is_rejected_with_a_reason(tmp_path):
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
    with pytest.raises(
        InputError, match="label 'kind' has 101 values, one arm each; at most 100 are allowed"
    ):
        table_from_frame(many, "kind", "data")


@pytest.fixture
def fetched(monkeypatch, tmp_path):
    """Queries of OpenML that are answered with a small table; rows are numbered, and a text is missing."""
    queries = []

    class Fetched:
        data = FRAME[["size", "colour"]].assign(colour=["red", None, "red", "blue"], ID=range(4))
        target = FRAME["kind"]

    def fetch_openml(**settings):
        assert settings.pop("data_home") == str(
            tmp_path / "openml"
        )  # where scikit-learn keeps what it fetched
        warnings.warn("trying again", UserWarning, stacklevel=2)
        queries.append(settings.get("data_id", settings.get("name")))
        return Fetched

    monkeypatch.setenv("FGTSVA_CACHE", str(tmp_path))
    monkeypatch.setattr(openml.sklearn_datasets(), "fetch_openml", fetch_openml)
    yield queries
    datasets.load_reduced.cache_clear()


def test_openml_is_queried_once_and_a_missing_string_is_a_category(fetched):
    environment = OpenML(dataset="phoneme")
    assert environment.shape == (3, 3 * 5, False, True)  # size; red, blue, missing; 1
    assert environment.table.labels.tolist() == [1, 0, 1, 2]
    assert fetched == ["phoneme"]


def test_known_names_are_pinned_versions_of_a_known_size(fetched, monkeypatch):
    with pytest.raises(
        InputError, match=r"'magic' from OpenML \(id 1120\) is 4 x 2, 3 classes, but should be"
    ):
        _ = OpenML(dataset="magic").shape
    assert fetched == [1120]
    monkeypatch.setitem(openml.PINNED, "magic", openml.Pinned(1120, 4, 2, 3))
    assert OpenML(dataset="magic").shape.arms == 3
    found = [(name, pinned.data_id) for name, pinned in openml.PINNED.items()]
    assert found == [
        ("shuttle", 40685), ("mushroom", 24), ("magic", 1120), ("adult", 1590), ("covertype", 1596), ("mnist", 554)
    ]  # fmt: skip


def test_a_missing_network_is_reported_in_one_line(monkeypatch, tmp_path):
    def fetch_openml(**settings):
        raise URLError("no route to host")

    monkeypatch.setenv("FGTSVA_CACHE", str(tmp_path))
    monkeypatch.setattr(openml.sklearn_datasets(), "fetch_openml", fetch_openml)
    with pytest.raises(
        InputError, match=r"cannot get 'adult' from OpenML: .*no route to host.*needs a network"
    ):
        _ = OpenML(dataset="adult").shape


@pytest.mark.parametrize("error", [EOFError("ended"), ValueError("md5 checksum"), zlib.error("invalid")])
def test_a_damaged_download_is_reported_in_one_line(monkeypatch, tmp_path, error):
    def fetch_openml(**settings):
        raise error

    monkeypatch.setenv("FGTSVA_CACHE", str(tmp_path))
    monkeypatch.setattr(openml.sklearn_datasets(), "fetch_openml", fetch_openml)
    with pytest.raises(InputError, match=r"read from .*openml \(delete that if it is damaged\)$"):
        _ = OpenML(dataset="adult").shape


def test_the_id_of_a_cell_depends_on_the_content_of_its_table(tmp_path, monkeypatch):
    path = tmp_path / "data.csv"
    overrides = ["environment=table", f"environment.path={path}", "environment.label=kind", "sampler=mala"]
    ids = []
    for frame in (FRAME, FRAME.iloc[:3], FRAME):
        frame.to_csv(path, index=False)
        monkeypatch.setattr(datasets, "_digests", {})  # as in another process
        ids.append(compose(overrides).cells[0].id)
    assert ids[0] == ids[2] != ids[1]
    FRAME.iloc[:3].to_csv(path, index=False)
    with pytest.raises(InputError, match="has changed since this process read it"):
        _ = compose(overrides).cells[0].id
