"""Figures of the study `networks`: regret over rounds, and diagnostics against the regret beyond NUTS's."""

from collections.abc import Mapping
from functools import partial

import numpy as np
from matplotlib.figure import Figure

from experiments.analysis.arrays import diagnostic
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import known_median
from experiments.figures.draw import Draft, default_figures
from experiments.figures.style import handles_below, marked, panels_of, style
from experiments.studies.networks.against import REFERENCE, pairs_with_reference
from fgtsva_ppl.diagnostics import METRICS

SHOWN = ("total_variation", "mean_error", "rhat", "gradient_norm")


def figures(results: StudyResults) -> Mapping[str, Draft]:
    """The usual figures, and diagnostics against regret where cells were probed."""
    usual = default_figures(results)
    if not any(pair.diagnosed for pair in pairs_with_reference(results)):
        return usual
    caption = (
        f"Median of each diagnostic over probed runs and rounds against the mean regret beyond that of {REFERENCE} "
        "with the same random numbers (95% intervals). Numbers beside the points: transitions per draw."
    )
    own = Draft(
        partial(against_regret, results), f"diagnostics against the regret beyond {REFERENCE}'s", caption
    )
    return {**usual, "against_regret": own}


@style()
def against_regret(results: StudyResults) -> Figure:
    """A panel for each diagnostic, a point for each cell."""
    pairs = [pair for pair in pairs_with_reference(results) if pair.diagnosed]
    names = tuple(dict.fromkeys(pair.sampler for pair in pairs))
    figure, axes = panels_of(len(SHOWN), 4.2, 3.2)
    handles = {}
    for ax, name in zip(axes, SHOWN, strict=False):
        for pair in pairs:
            x, gap = known_median(diagnostic(pair.data, name)), pair.regret_gap
            if not np.isfinite(x):
                continue
            error = np.array([[gap.value - gap.low], [gap.high - gap.value]])
            handles[pair.sampler] = ax.errorbar(
                x,
                gap.value,
                yerr=error,
                marker="o",
                ms=5,
                capsize=2,
                lw=1,
                ls="",
                **marked(pair.sampler, names),
            )
            ax.annotate(f" {pair.cell.flat.get('sampler.num_steps', '')}", (x, gap.value), fontsize=8)
        ax.axhline(0, color="black", ls="--", lw=1)
        ax.set(xlabel=METRICS[name].heading, ylabel=f"regret beyond {REFERENCE}")
        if name in ("rhat", "gradient_norm"):
            ax.set_xscale("log")
    handles_below(figure, handles)
    return figure
