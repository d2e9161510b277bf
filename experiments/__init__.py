"""Which question is asked: configs, studies, stored results, statistics, figures, the command line."""

from experiments.cli import signals

signals.while_loading()
# First of all: importing BlackJAX starts JAX, and the number of its devices can be set only before that.
import fgtsva_ppl as fgtsva_ppl  # noqa: E402


def __getattr__(name: str) -> object:
    """Loads `load_results` when it is first used: the command line needs no analysis to start."""
    if name == "load_results":
        from experiments.analysis.load import load_results

        return load_results
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
