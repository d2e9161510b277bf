"""Figures of the study `logistic`: regret against rounds, and diagnostics against the regret gap to the reference."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from experiments.analysis.arrays import diagnostic
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import known_median
from experiments.figures.draw import Draft, default_figures
from experiments.figures.style import handles_below, marked, style
from experiments.studies.logistic.reference import reference_pairs
from fgtsva_ppl.diagnostics import METRICS

SHOWN = ("total_variation", "rhat")


def figures(results: StudyResults) -> dict[str, Draft]:
    """The usual ones, and what tells regret where no exact draws exist."""
    drafts = default_figures(results)
    if not any(pair.diagnosed for pair in reference_pairs(results)):
        return drafts
    caption = (
        "Median of a diagnostic at the probed rounds against the regret beyond that of Polya-Gamma Gibbs with the same "
        "random numbers, with 95% intervals. Total variation is to gated NUTS chains; large points take more steps."
    )
    own = Draft(partial(against_reference, results), "diagnostics against the regret gap", caption)
    return {"quality": own, **drafts}


@style()
def against_reference(results: StudyResults) -> Figure:
    """A point a cell, coloured by sampler; a panel a diagnostic."""
    pairs = [pair for pair in reference_pairs(results) if pair.diagnosed]
    names = tuple(dict.fromkeys(pair.sampler for pair in pairs))
    figure = Figure(figsize=(9.0, 4.2))
    axes = figure.subplots(1, len(SHOWN), sharey=True)
    for ax, metric in zip(axes, SHOWN, strict=True):
        for pair in pairs:
            gap, x = pair.regret_gap, known_median(diagnostic(pair.data, metric))
            if not np.isfinite(x):
                continue
            size = 4 + 2 * np.log10(pair.cell.flat.get("sampler.num_steps", 10))
            error = [[gap.value - gap.low], [gap.high - gap.value]]
            ax.errorbar(
                x, gap.value, yerr=error, marker="o", ms=size, capsize=2, lw=1, **marked(pair.sampler, names)
            )
        ax.axhline(0, color="black", ls="--", lw=1)
        ax.set(xlabel=METRICS[metric].doc)
    axes[0].set(ylabel="regret beyond the reference")
    handles = {name: Line2D([], [], marker="o", ls="", **marked(name, names)) for name in names}
    handles_below(figure, handles)
    return figure
