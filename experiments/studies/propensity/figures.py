"""Figure of the study `propensity`: bias of the IPS estimate by sampler, and against the sampler's error."""

from functools import partial

import numpy as np
from matplotlib.figure import Figure

from experiments.analysis.results import StudyResults
from experiments.figures.draw import Draft
from experiments.figures.style import COLOURS, handles_below, handles_of, style
from experiments.studies.propensity.biases import POSTERIOR, REPLICAS, logged

LOOKS = {
    (REPLICAS, "ips"): ("IPS, propensities of replicas", COLOURS[1], "o", True),
    (POSTERIOR, "ips"): ("IPS, propensities of the posterior", COLOURS[0], "s", True),
    (POSTERIOR, "doubly_robust"): ("doubly robust, propensities of the posterior", COLOURS[0], "D", False),
}


def figures(results: StudyResults) -> dict[str, Draft]:
    """The two panels; none where no sampler has both kinds of propensities."""
    if not logged(results):
        return {}
    return {
        "bias": Draft(
            partial(bias_by_error, results),
            "bias of a policy's value estimated from the log",
            "Estimate less true value of the uniform policy, mean over runs with its 95% interval: by sampler, from "
            "the most accurate one down, and against the distance of its arms from those of exact draws.",
        )
    }


@style()
def bias_by_error(results: StudyResults) -> Figure:
    """Rows by sampler; the same against action-TV."""
    found = sorted(logged(results), key=lambda one: one.total_variation.value)
    figure = Figure(figsize=(10.0, 1.8 + 0.36 * len(found)))
    axes = figure.subplots(1, 2, squeeze=False)
    left, right = axes[0]
    for place, ((source, estimator), (label, colour, marker, filled)) in enumerate(LOOKS.items()):
        own = {"color": colour, "marker": marker, "mfc": colour if filled else "white", "ms": 5, "capsize": 2}
        numbers = [one.bias(source, estimator) for one in found]
        mean = np.array([number.value for number in numbers])
        bars = np.array([[number.value - number.low, number.high - number.value] for number in numbers]).T
        rows = np.arange(len(found)) + 0.2 * (place - 1)
        left.errorbar(mean, rows, xerr=bars, label=label, linestyle="", **own)
        errors = [one.total_variation.value for one in found]
        right.errorbar(errors, mean, yerr=bars, label=label, linestyle="", **own)
    left.axvline(0, color="grey", lw=0.8)
    right.axhline(0, color="grey", lw=0.8)
    left.set_yticks(range(len(found)), [one.name for one in found])
    left.set_ylim(len(found) - 0.5, -0.5)
    left.set_xlabel("bias")
    right.set(xlabel="action-TV to exact draws", ylabel="bias")
    handles_below(figure, handles_of(axes))
    return figure
