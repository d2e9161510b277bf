"""A report of a stored study."""

import pytest
from helpers.report_page import Elements
from helpers.stored_study import store, write


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    return write(store(tmp_path_factory.mktemp("report") / "study"))


@pytest.fixture(scope="module")
def elements(report):
    return Elements(report.read_text())
