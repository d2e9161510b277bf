"""Calls the command line in this process."""

import sys

from experiments.cli import commands


def call(*arguments, capsys, monkeypatch):
    """Exit code, standard output and standard error of a command."""
    monkeypatch.setattr(sys, "argv", ["fgtsva", *arguments])
    try:
        commands.main()
        code = 0
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    return code, out, err
