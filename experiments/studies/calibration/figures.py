"""Figure of the study `calibration`: the ECDF of ranks less that of the uniform distribution, with its band."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from experiments.analysis.results import StudyResults
from experiments.figures.draw import Draft
from experiments.figures.style import style
from experiments.studies.calibration.ranks import NUM_DRAWS, ranks_of
from samplers.diagnostics import simultaneous_band

POINTS = np.linspace(0.02, 0.98, 49)


def figures(results: StudyResults) -> dict[str, Draft]:
    """The ECDF plot; none where no cell has enough probed runs."""
    if not any(True for _ in ranks_of(results)):
        return {}
    return {
        "calibration": Draft(
            partial(rank_ecdfs, results),
            "calibration along the run",
            "ECDF of the truth's rank among draws, less the uniform distribution's; the band holds the whole curve of "
            "a calibrated posterior with probability 95%. A posterior that is too narrow goes up, then down.",
        )
    }


@style()
def rank_ecdfs(results: StudyResults) -> Figure:
    """A panel per cell, a curve per probed round, and the simultaneous band."""
    found = list(ranks_of(results))
    labels = list(dict.fromkeys(one.label for one in found))
    figure = Figure(figsize=(3.4 * len(labels), 3.2))
    axes = figure.subplots(1, len(labels), squeeze=False, sharey=True)[0]
    rng = np.random.default_rng(0)
    for ax, label in zip(axes, labels, strict=True):
        own = [one for one in found if one.label == label]
        lower, upper = simultaneous_band(len(own[0].ranks), POINTS)
        ax.fill_between(POINTS, lower - POINTS, upper - POINTS, color="0.85", linewidth=0)
        for one in own:
            u = (one.ranks + rng.random(len(one.ranks))) / (NUM_DRAWS + 1)
            ecdf = np.mean(u[:, None] <= POINTS, axis=0)
            ax.plot(POINTS, ecdf - POINTS, label=f"round {one.round}")
        ax.axhline(0, color="grey", lw=0.8)
        ax.set_title(label, fontsize=10)
        ax.set_xlabel("rank of the truth")
    axes[0].set_ylabel("ECDF less uniform")
    axes[0].legend(fontsize="small", loc="lower center")
    figure.set_layout_engine("constrained")
    return figure
