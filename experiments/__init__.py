"""Experiments: configs, studies, stored results, statistics, figures, and the command line `fgtsva`.

    from experiments import analyse, compose, load_results
    from experiments.execute import execute, prepare

    study = compose(["sampler=exact,mala", "environment=sparse"])
    folder = prepare(study)
    execute(study, folder)
    analyse(folder.path)
    results = load_results(folder.path)

Importing this package imports nothing heavy: `fgtsva --help` and completion do without JAX.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from experiments.cli import signals

if TYPE_CHECKING:
    from experiments.analysis.load import load_results
    from experiments.config.compose import compose
    from experiments.report.analyse import analyse

__all__ = ["analyse", "compose", "load_results"]

# The function `execute` is not among them: `experiments.execute` is the folder that has it.
_MODULES = {
    "analyse": "report.analyse",
    "compose": "config.compose",
    "load_results": "analysis.load",
}

signals.exit_on_sigint_while_importing()


def __getattr__(name: str) -> object:
    """Imports a function when it is first used: the command line needs none of them to start."""
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
