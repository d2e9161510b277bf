"""`report.html`: a study's answer, tables, figures and rounds in one file, made from its output folder alone."""

from experiments.report.page import build, write

__all__ = ["build", "write"]
