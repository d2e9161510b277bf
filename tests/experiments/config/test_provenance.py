"""The digest of code follows what the code does, not what people read in it."""

import dataclasses
import sys
from pathlib import Path

import pytest

from experiments.config.compose import compose
from experiments.config.provenance import (
    FIELDS,
    TEXT_FIELDS,
    code_version,
    files_digest,
    source_digest,
    versions,
)
from fgtsva_ppl import ENVIRONMENTS
from fgtsva_ppl.diagnostics import Metric
from fgtsva_ppl.types import Quantity
from samplers import SamplerInfo
from samplers import settings as settings_module

CODE = '''
"""A module."""

from samplers.settings import settings, traced_float


@settings
class Step:
    """A step."""

    size: float = traced_float(default=0.5, gt=0, doc="how far it goes")

    def __call__(self, x):
        """Goes there."""
        if x < 0:  # not allowed
            raise ValueError(f"x={x} must be at least 0, " + "not less")
        return x + self.size
'''


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"""A module."""', '"""Another sentence."""'),
        ('"""A module."""\n', ""),
        ('"""A step."""', '"""What a step is.\n\n    In two paragraphs.\n    """'),
        ('"""Goes there."""', '"""Moves."""'),
        ("# not allowed", "# outside"),
        ('doc="how far it goes"', 'doc="length"'),
        ('doc="how far it goes"', 'doc="length " "of a step"'),
        ('f"x={x} must be at least 0, " + "not less"', '"too small"'),
        ("gt=0, doc=", "gt=0,\n        doc="),
        ("return x + self.size", "return (x + self.size)"),
    ],
)
def test_texts_and_formatting_do_not_change_the_digest(old, new):
    assert old in CODE
    reworded = CODE.replace(old, new)
    assert reworded != CODE
    assert source_digest(reworded.encode()) == source_digest(CODE.encode())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("default=0.5", "default=0.25"),
        ("gt=0", "ge=0"),
        ("x < 0", "x <= 0"),
        ("ValueError", "TypeError"),
        ("x + self.size", "x - self.size"),
        ("return x + self.size", 'return "x"'),
        ("class Step", "class Stride"),
    ],
)
def test_code_changes_the_digest(old, new):
    assert old in CODE
    assert source_digest(CODE.replace(old, new).encode()) != source_digest(CODE.encode())


RECORDS = """
info = SamplerInfo("Metropolis-adjusted", EXACT, "num_steps + 1", needs="precision")
quantity = Quantity("float32", "mean", "acceptance probability")
METRICS = {"rhat": Metric("split R-hat", "R-hat", lambda of: of.rhat, in_summary=True)}
"""


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Metropolis-adjusted", "adjusted"),
        ("num_steps + 1", "1 + num_steps"),
        ('needs="precision"', 'needs="a precision"'),
        ("acceptance probability", "mean acceptance"),
        ("split R-hat", "rank-normalized R-hat"),
        ('"R-hat", lambda', '"Rhat", lambda'),
    ],
)
def test_texts_of_records_do_not_change_the_digest(old, new):
    assert old in RECORDS
    assert source_digest(RECORDS.replace(old, new).encode()) == source_digest(RECORDS.encode())


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"float32"', '"float64"'),
        ('"mean"', '"sum"'),
        ('"rhat":', '"ess":'),
        ("of.rhat", "of.ess"),
        ("in_summary=True", "in_summary=False"),
        ("EXACT", "BIASED"),
    ],
)
def test_other_arguments_of_records_change_the_digest(old, new):
    assert old in RECORDS
    assert source_digest(RECORDS.replace(old, new).encode()) != source_digest(RECORDS.encode())


def test_text_fields_are_those_of_the_records():
    for record in (SamplerInfo, Quantity, Metric):
        positions = TEXT_FIELDS[record.__name__]
        assert [record._fields[index] for index in positions.values()] == list(positions)
    assert len(TEXT_FIELDS) == 3


def test_a_doc_argument_of_another_function_counts():
    assert source_digest(b"write(doc='a')") != source_digest(b"write(doc='b')")


def test_a_file_that_is_not_python_is_digested_as_it_is():
    assert source_digest(b"\x7fELF 1") != source_digest(b"\x7fELF 2")
    assert source_digest(b"def (") != source_digest(b"def ()")


def test_all_settings_fields_with_documentation_are_known():
    specifiers = settings_module.settings.__dataclass_transform__["field_specifiers"]
    assert {function.__name__ for function in specifiers} == FIELDS


def copied_version(folder, monkeypatch):
    """The version of a copy of the packages, which a test may edit."""
    for package in ("samplers", "fgtsva_ppl"):
        monkeypatch.setattr(sys.modules[package], "__file__", str(folder / package / "__init__.py"))
    code_version.cache_clear()
    return code_version()


@pytest.fixture
def packages(tmp_path):
    for package in ("samplers", "fgtsva_ppl"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "__init__.py").write_text(CODE)
    yield tmp_path
    code_version.cache_clear()


def test_the_version_of_the_code_ignores_texts_and_sees_numbers(packages, monkeypatch):
    before = copied_version(packages, monkeypatch)
    assert len(before) == 12
    file = packages / "samplers" / "__init__.py"
    file.write_text(CODE.replace("A step.", "Another sentence."))
    assert copied_version(packages, monkeypatch) == before
    file.write_text(CODE.replace("0.5", "0.6"))
    assert copied_version(packages, monkeypatch) != before
    file.write_text(CODE)
    (packages / "samplers" / "more.py").write_text("")
    assert copied_version(packages, monkeypatch) != before


def test_versions_of_packages_count(monkeypatch):
    code_version.cache_clear()
    before = code_version()
    monkeypatch.setattr("experiments.config.provenance.versions", lambda: versions() | {"jax": "0.0.0"})
    code_version.cache_clear()
    assert code_version() != before
    monkeypatch.undo()
    code_version.cache_clear()
    assert code_version() == before


MINE = '''
from samplers.settings import settings
from fgtsva_ppl import Sparse

@settings
class Mine(Sparse):
    """Mine."""
    size = 1
'''


def test_a_users_own_file_counts_in_the_same_way(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(ENVIRONMENTS, "_classes", dict(ENVIRONMENTS._classes))
    file = tmp_path / "users_own_environment.py"
    file.write_text(MINE)
    import users_own_environment

    ENVIRONMENTS.register("mine", users_own_environment.Mine)
    (cell,) = compose(["environment=mine", "sampler=exact"]).cells

    def id_with(text):
        file.write_text(text)
        return dataclasses.replace(cell).id

    assert id_with(MINE.replace("Mine.", "Reworded.")) == cell.id
    assert id_with(MINE.replace("size = 1", "size = 2")) != cell.id
    assert files_digest([]) == ""
    assert files_digest([file]) != files_digest([Path(__file__)])
