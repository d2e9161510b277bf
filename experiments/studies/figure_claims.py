"""What the paper says of its two figures, by rules over the runs of a study."""

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from experiments.analysis.hyperparameters import LEVELS, Setting, TunedAlgorithm
from experiments.analysis.scene import NAMED, OURS, Scene
from experiments.analysis.statistics import Interval, bootstrap, paired_difference, paired_ratio
from experiments.analysis.verdicts import Evidence, Verdict

LARGE = 2.0  # a margin is large if the other's regret is so many times as high
SMALL = 0.01  # a c up to this is close to 0, where the theory's is of order 1


def figure1(scene: Scene) -> Iterator[Verdict]:
    """Comparison of algorithms."""
    for panel, found in scene.panels().items():
        for forms in NAMED.values():
            for form in forms:
                yield Verdict(
                    "Experiments, Figure 1",
                    f"{panel} noise: FGTS-VA outperforms {form}",
                    f"regret of {form} over regret of FGTS-VA, paired; holds if the interval is above 1.",
                    tuple(one.evidence(1) for one in _ratios(scene, found, form)),
                )
        yield Verdict(
            "Experiments, Figure 1",
            f"{panel} noise: FGTS-VA outperforms the baselines by a large margin",
            "the least ratio of regrets among Weighted OFUL+, SAVE and FGTS in the published forms; the paper has no "
            f"number, and a margin counts as large if the interval is above {LARGE:g}.",
            tuple(_margins(scene, found)),
        )
        yield Verdict(
            "Experiments",
            f"{panel} noise: c is the only parameter of FGTS-VA that has to be tuned",
            "regret at the textbook settings over regret at those that were tuned on the other seed, at the same c, "
            f"paired; holds if the interval is below {LARGE:g}: the other settings then make no large difference.",
            tuple(_left_to_tune(scene, found)),
        )


class Ratio(NamedTuple):
    """Another algorithm's regret in units of ours, at one level."""

    ours: str
    level: str
    number: Interval
    settings: str  # of both

    def evidence(self, least: float, who: str = "") -> Evidence:
        """That it is certainly above some number."""
        condition = f"{self.ours}, {self.level} settings"
        return Evidence(condition, self.number, self.number.low > least, who + self.settings)


def _ratios(scene: Scene, found: Mapping[str, TunedAlgorithm], other: str) -> Iterator[Ratio]:
    """For both samplers at both levels."""
    for ours in OURS:
        for level in LEVELS:
            own = found[ours].at(level) if ours in found else None
            theirs = found[other].at(level) if other in found else None
            if own is not None and theirs is not None:
                number = paired_ratio(scene.regret(theirs), scene.regret(own))
                yield Ratio(ours, level, number, _both(found[ours].told(level), found[other].told(level)))


def _both(ours: str, theirs: str) -> str:
    """Where the hyperparameters of both sides of a comparison are."""
    return f"{ours or 'no hyperparameter'} against {theirs or 'no hyperparameter'}"


def _margins(scene: Scene, found: Mapping[str, TunedAlgorithm]) -> Iterator[Evidence]:
    did_you_mean: dict[tuple[str, str], tuple[Ratio, str]] = {}
    for forms in NAMED.values():
        for ratio in _ratios(scene, found, forms[0]):
            key = (ratio.ours, ratio.level)
            if key not in did_you_mean or ratio.number.low < did_you_mean[key][0].number.low:
                did_you_mean[key] = (ratio, forms[0])
    for ratio, form in did_you_mean.values():
        yield ratio.evidence(LARGE, f"did_you_mean: {form}; ")


def _left_to_tune(scene: Scene, found: Mapping[str, TunedAlgorithm]) -> Iterator[Evidence]:
    """What tuning gains where c stays as it is: c is no hyperparameter of this study."""
    for ours in OURS:
        place = found.get(ours)
        if (
            place is not None
            and place.textbook is not None
            and place.tuned is not None
            and place.hyperparameters
        ):
            ratio = paired_ratio(scene.regret(place.textbook), scene.regret(place.tuned))
            told = f"c={place.tuned.cell.flat['posterior.c']:g}; {place.told('textbook')} against {place.told('tuned')}"
            yield Evidence(ours, ratio, ratio.high < LARGE, told)


def figure2(scene: Scene) -> Iterator[Verdict]:
    """Ablation of c."""
    for panel in dict.fromkeys(place.panel for place in scene.tuned_algorithms):
        ablations = list(_ablations([place for place in scene.tuned_algorithms if place.panel == panel]))
        if panel.startswith("sparse"):
            yield Verdict(
                "Experiments, Figure 2",
                f"{panel} noise: c bounded away from 0 is better than c=0",
                f"regret at the best c above {SMALL:g}, which is chosen on the other seed, less regret at c=0, paired; "
                f"holds if the interval is below 0. A c up to {SMALL:g} counts as close to 0.",
                tuple(found for line in ablations for found in _gain(scene, line)),
            )
        else:
            yield Verdict(
                "Experiments, Figure 2",
                f"{panel} noise: the best c is close to 0",
                "the c of the grid with the least mean regret, with a bootstrap interval; holds if that ends at "
                f"{SMALL:g} or before, where the theory's c is of order 1.",
                tuple(_best(scene, line) for line in ablations),
            )


class Ablation(NamedTuple):
    """An algorithm at one level, along c."""

    condition: str
    at: Mapping[float, Setting]
    told: Mapping[float, str]  # c and the other settings


def _ablations(found: Sequence[TunedAlgorithm]) -> Iterator[Ablation]:
    for name in dict.fromkeys(place.name for place in found):
        for level in LEVELS:
            at, told = {}, {}
            for place in found:
                if place.name == name and (chosen := place.at(level)) is not None:
                    c = float(chosen.cell.flat["posterior.c"])
                    at[c], told[c] = chosen, place.told(level)
            if len(at) > 1:
                yield Ablation(f"{name}, {level} settings", at, told)


def _gain(scene: Scene, line: Ablation) -> Iterator[Evidence]:
    tried = {c: chosen.tried for c, chosen in line.at.items() if c > SMALL and np.isfinite(chosen.tried)}
    if 0.0 in line.at and tried:
        best = min(tried, key=lambda c: tried[c])
        gap = paired_difference(scene.regret(line.at[best]), scene.regret(line.at[0.0]))
        told = _both(line.told[best], line.told[0.0])
        yield Evidence(line.condition, gap, gap.high < 0, f"best: {told}")


def _best(scene: Scene, line: Ablation) -> Evidence:
    grid = np.array(sorted(line.at))
    regret = np.stack([scene.regret(line.at[c]) for c in grid], axis=1)
    best = bootstrap(regret, lambda rows: grid[np.argmin(rows.mean(axis=-2), axis=-1)])
    least = int(np.argmin(regret.mean(axis=0)))
    note = f"{line.told[float(grid[least])]}: regret {regret[:, least].mean():.3g}"
    if grid[0] == 0 and least:
        note += f", {regret[:, 0].mean():.3g} with {line.told[0.0]}"
    return Evidence(line.condition, best, best.high <= SMALL, note)
