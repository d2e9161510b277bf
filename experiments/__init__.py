"""Experiments: configs, studies, stored results, statistics, figures, and the command line `fgtsva`.

Importing this package imports nothing heavy: `fgtsva --help` and completion do without JAX.
"""

from experiments.cli import signals

signals.exit_on_sigint_while_importing()


def __getattr__(name: str) -> object:
    """Loads `load_results` when it is first used: the command line needs no analysis to start."""
    if name == "load_results":
        from experiments.analysis.load import load_results

        return load_results
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
