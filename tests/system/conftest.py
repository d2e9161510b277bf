"""The command in an empty folder."""

from functools import partial

import pytest
from helpers.command import call


@pytest.fixture
def fgtsva(capsys, monkeypatch, tmp_path):
    """Calls the command in an empty folder; gives exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)
    return partial(call, capsys=capsys, monkeypatch=monkeypatch)
