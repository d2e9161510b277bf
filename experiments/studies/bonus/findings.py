"""Findings of the study `bonus`: whether the feel-good term helps only where sampling is accurate."""

from collections.abc import Mapping

import numpy as np

from experiments.analysis.findings import MAX_FINDINGS, Budget
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import mean_interval
from experiments.config.cell import REFERENCE
from experiments.studies.bonus.gains import Gain, gains


def findings(results: StudyResults) -> list[str]:
    """What the term saves with inaccurate and with accurate sampling, by environment; `gains.csv` has every sampler."""
    sentences = [
        f"{environment}: {text}"
        for environment, here in gains(results).items()
        for text in when_accurate(here)
    ]
    return sentences[:MAX_FINDINGS]


def when_accurate(here: Mapping[Budget, Gain]) -> list[str]:
    """Whether the term helps samplers whose actions are right, and those whose actions are wrong, at any c compared."""
    saved = {
        side: np.mean([own.saved for own in here.values() if own.wrong is side], axis=0)
        for side in (False, True)
        if any(own.wrong is side for own in here.values())
    }
    names = {False: "accurate", True: "inaccurate"}
    if not saved:
        exact = here.get((REFERENCE, 0))
        if exact is None:
            return []
        return [
            f"with exact draws the feel-good term saves {mean_interval(exact.saved).format('auto')} per run."
        ]
    intervals = {side: mean_interval(by_run) for side, by_run in saved.items()}
    helps = [side for side, interval in intervals.items() if interval.low > 0]
    if not helps:
        text = "the feel-good term shows no help"
    elif len(helps) < len(saved):
        text = f"the feel-good term helps only where sampling is {names[helps[0]]}"
    else:
        text = "the feel-good term helps"
    parts = [f"{interval.format('auto')} with {names[side]} sampling" for side, interval in intervals.items()]
    return [f"{text}; it saves {' and '.join(parts)}."]
