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

from typing import TYPE_CHECKING

from experiments.cli import signals

if TYPE_CHECKING:
    from experiments.analysis.load import load_results
    from experiments.config.compose import compose
    from experiments.report.analyse import analyse

# The function `execute` is not among them: `experiments.execute` is the folder that has it.
__all__ = ["analyse", "compose", "load_results"]

signals.exit_on_sigint_while_importing()


def __getattr__(name: str) -> object:
    """Imports a function when it is first used: the command line needs none of them to start."""
    if name == "analyse":
        from experiments.report.analyse import analyse

        return analyse
    if name == "compose":
        from experiments.config.compose import compose

        return compose
    if name == "load_results":
        from experiments.analysis.load import load_results

        return load_results
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
