"""The command in an empty folder."""

import sys

import pytest

from experiments.cli import commands


@pytest.fixture
def fgtsva(capsys, monkeypatch, tmp_path):
    """Calls the command in an empty folder; gives exit code, standard output and standard error."""
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["fgtsva", *arguments])
        try:
            commands.main()
            code = 0
        except SystemExit as stop:
            code = int(stop.code or 0)
        out, err = capsys.readouterr()
        return code, out, err

    return call
