"""Which question is asked: configs, studies, stored results, statistics, figures, the command line."""

from experiments.cli import signals

signals.while_loading()
# First of all: importing BlackJAX starts JAX, and the number of its devices can be set only before that.
import fgtsva_ppl as fgtsva_ppl  # noqa: E402
