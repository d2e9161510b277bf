"""Computation of the cells of a study: `prepare(study)` creates its folder, `execute(study, folder)` fills it."""

from experiments.execute.runner import execute, prepare

__all__ = ["execute", "prepare"]
