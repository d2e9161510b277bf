"""Experiments: configs, studies, stored results, statistics, figures, and the command line `fgtsva`.

Importing this package imports nothing heavy: `fgtsva --help` and completion do without JAX.
"""

from experiments.cli import signals

signals.exit_on_sigint_while_importing()
