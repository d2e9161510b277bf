"""Experiments: configs, studies, stored results, statistics, figures, and the command line `fgtsva`.

Importing this package imports nothing heavy: `fgtsva --help` and completion do without JAX.
"""

from typing import Any

from experiments.cli import signals

signals.exit_on_sigint_while_importing()


def __getattr__(name: str) -> Any:
    if name == "load_results":
        from experiments.analysis.results import load_results

        return load_results
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
