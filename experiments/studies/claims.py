"""What the paper claims, and which numbers of a study speak to it. Rules only: no number stands here but thresholds."""

from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np
import xarray as xr

from experiments.analysis.bounds import bound
from experiments.analysis.hyperparameters import LEVELS, growth, halves, tuned_algorithms
from experiments.analysis.scaling import AXES, Line, exponent, exponent_difference, lines
from experiments.analysis.scene import NAMED, OURS, Scene
from experiments.analysis.statistics import Interval, mean_interval, paired_ratio
from experiments.analysis.summary import final_regret
from experiments.analysis.verdicts import Evidence, Verdict, measured
from experiments.config.cell import Cell
from experiments.config.comparison import Comparison
from experiments.config.labels import by_panel, labels_of
from experiments.studies.figure_claims import figure1, figure2

SLACK = 0.25  # what the logarithms that the O-tilde hides may add to an exponent
LINEAR = 0.9  # regret whose growth may be above this is as good as linear: nothing is learnt yet
STILL = 0.25  # regret whose growth is below this has stopped growing

type Claims = Callable[[Scene], Iterator[Verdict]]


def judge(
    study: str, cells: Sequence[Cell], data: Mapping[str, xr.DataTree], comparison: Comparison
) -> list[Verdict]:
    """The verdicts of a study, on those of its claims that its cells can speak to."""
    done = [cell for cell in cells if cell.id in data]
    if study not in CLAIMS or not done:
        return []
    scene = Scene(done, data, tuned_algorithms(cells, data, comparison))
    return measured(CLAIMS[study](scene))


def table1(scene: Scene) -> Iterator[Verdict]:
    """Regret against d and Lambda, and in the deterministic case."""
    found = lines(scene.tuned_algorithms, scene.data)
    for row, forms in {**NAMED, "LinVDTS": ("LinVDTS-style",), "FGTS-VA": OURS}.items():
        for column, what in enumerate(("d, with noise", "Λ", "d, without noise")):
            own = [line for line in found if line.name in forms and line.axis.column == column]
            bounded = [(line, line.theory) for line in own if line.theory is not None]
            for theory in dict.fromkeys(theory for _, theory in bounded):
                yield Verdict(
                    "Table 1",
                    f"{row}: regret grows at most like the power {theory:g} of {what}",
                    f"the fitted exponent; holds if its interval is below {theory:g} + {SLACK:g} for the hidden "
                    f"logarithms, and the growth with the rounds is certainly below {LINEAR:g}: regret that is still "
                    "linear says nothing of a rate. Table 1 has upper bounds, which a steeper line far below them does "
                    "not contradict.",
                    tuple(_within(line, theory) for line, _ in bounded),
                )
    yield from _comparisons(found)
    yield from _without_noise(scene)


def _condition(line: Line) -> str:
    by = f", {line.axis.name}" if line.axis.column == 1 else ""
    return f"{line.name}, {line.level} settings{by}"


def _within(line: Line, theory: float) -> Evidence:
    fitted = exponent(line.x, line.regret)
    grows = line.growth
    learns = grows.high < LINEAR
    note = f"growth {grows.value:.2f}" if learns else "regret is as good as linear"
    return Evidence(_condition(line), fitted, fitted.high < theory + SLACK and learns, note)


def _comparisons(found: Sequence[Line]) -> Iterator[Verdict]:
    """Exponents of FGTS-VA against those of others."""
    cases = (
        (
            "LinVDTS-style", 0, 0.0, "Abstract and Table 1",
            "FGTS-VA depends less on d than LinVDTS",
            "exponent of d of FGTS-VA less that of LinVDTS-style; holds if the interval is below 0.",
        ),
        (
            "Weighted OFUL+", 0, SLACK, "Abstract",
            "FGTS-VA matches the dependence of weighted UCB on d",
            f"exponent of d of FGTS-VA less that of Weighted OFUL+; holds if the interval is below {SLACK:g}.",
        ),
        (
            "Weighted OFUL+", 1, SLACK, "Abstract",
            "FGTS-VA matches the dependence of weighted UCB on Λ",
            f"exponent of Λ of FGTS-VA less that of Weighted OFUL+; holds if the interval is below {SLACK:g}.",
        ),
    )  # fmt: skip
    for other, column, limit, source, claim, rule in cases:
        evidence = []
        for ours in found:
            if ours.name in OURS and ours.axis.column == column:
                theirs = [
                    line
                    for line in found
                    if (line.name, line.level, line.axis) == (other, ours.level, ours.axis)
                ]
                for line in theirs:
                    gap = exponent_difference(ours, line)
                    learns = max(ours.growth.high, line.growth.high) < LINEAR
                    note = "" if learns else "the regret of one is as good as linear"
                    evidence.append(Evidence(_condition(ours), gap, gap.high < limit and learns, note))
        yield Verdict(source, claim, f"{rule[:-1]} and neither regret is linear.", tuple(evidence))


def _without_noise(scene: Scene) -> Iterator[Verdict]:
    """The deterministic case, in the dimension where it is hardest."""
    still, ahead = [], []
    for ours in OURS:
        for level in LEVELS:
            grows: dict[int, Interval] = {}
            ratios: dict[int, Interval] = {}
            told: dict[int, str] = {}  # where the hyperparameters are, and those of FGTS
            against: dict[int, str] = {}
            for found in scene.panels().values():
                own = found[ours].at(level) if ours in found else None
                theirs = found["FGTS-A"].at(level) if "FGTS-A" in found else None
                if own is None or not AXES[-1].holds(own.cell):
                    continue
                dim = int(own.cell.flat["environment.dim"])
                grows[dim] = growth(halves(scene.data[own.cell.id]))
                told[dim] = f"d={dim}; {found[ours].told(level)}"
                if theirs is not None:
                    ratios[dim] = paired_ratio(scene.regret(theirs), scene.regret(own))
                    against[dim] = f"{told[dim]} against {found['FGTS-A'].told(level)}"
            condition = f"{ours}, {level} settings"
            if grows:
                worst = max(grows, key=lambda dim: grows[dim].high)
                still.append(Evidence(condition, grows[worst], grows[worst].high < STILL, told[worst]))
            if ratios:
                worst = min(ratios, key=lambda dim: ratios[dim].low)
                ahead.append(Evidence(condition, ratios[worst], ratios[worst].low > 1, against[worst]))
    yield Verdict(
        "Table 1, deterministic case",
        "Without noise the regret of FGTS-VA does not grow with the number of rounds",
        "log2 of the regret after all rounds over that after half of them, in the dimension where it is highest; holds "
        f"if the interval is below {STILL:g}.",
        tuple(still),
    )
    yield Verdict(
        "Table 1, deterministic case",
        "Without noise FGTS-VA has less regret than FGTS",
        "regret of FGTS-A over regret of FGTS-VA, paired, in the dimension where it is least; holds if the interval is "
        "above 1.",
        tuple(ahead),
    )


def theorem(scene: Scene) -> Iterator[Verdict]:
    """Regret against the bound, where the theorem's conditions hold."""
    labels = labels_of(scene.cells)
    for panel, members in by_panel(scene.cells).items():
        evidence = []
        for cell in members:
            found = bound(cell, np.array([cell.rounds]))
            if found is None or not found.met:
                continue
            limits = {labels[cell.id]: found.regret}
            if found.stated is not None:
                limits[f"{labels[cell.id]}, the theorem's own c and bound"] = found.stated
            regret = mean_interval(final_regret(scene.data[cell.id]))
            for condition, (limit,) in limits.items():
                if limit < cell.rounds:
                    share = Interval(*(end / limit for end in regret))
                    note = f"regret {regret.value:.3g}, bound {limit:.4g}"
                    evidence.append(Evidence(condition, share, share.high < 1, note))
        yield Verdict(
            "Abstract and main theorem",
            f"{panel}: expected regret is below the bound",
            "mean regret over the bound with the constants of the proof at the cell's own c, and where that is the "
            "theorem's c over the theorem's 9/4 sqrt((alpha^2 T + Λ) Z dc) + dc as well; holds if the interval is "
            "below 1. A bound above the number of rounds says nothing, and is left out.",
            tuple(evidence),
        )


CLAIMS: dict[str, Claims] = {
    "figure1": figure1,
    "figure2": figure2,
    "table1": table1,
    "theorem": theorem,
}
