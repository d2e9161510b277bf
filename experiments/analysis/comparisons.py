"""Readings of the studies that compare agents and posteriors with each other rather than with exact draws."""

from collections.abc import Mapping, Sequence

import xarray as xr

from experiments.analysis.statistics import Interval, paired_difference
from experiments.analysis.summary import final_regret
from experiments.config.cell import Cell

type Data = Mapping[str, xr.DataTree]


def variance(cells: Sequence[Cell], data: Data) -> list[str]:
    """What it costs not to know sigma_t, noise by noise: against the revealed case, and against homoscedastic FGTS."""
    sentences = []
    for noise in dict.fromkeys(cell.flat.get("noise", "own") for cell in cells):
        regret = {
            str(cell.flat.get("posterior.variance", cell.flat["posterior"])): final_regret(data[cell.id])
            for cell in cells
            if cell.flat.get("noise", "own") == noise
        }
        if "revealed" not in regret:
            continue
        text = f"{noise} noise: with sigma_t revealed the mean regret is {regret['revealed'].mean():.1f}."
        for name, values in regret.items():
            if name != "revealed":
                text += (
                    f" {name}: {values.mean():.1f}, {_told(paired_difference(values, regret['revealed']))}"
                )
                if "fgts_b" in regret and name != "fgts_b":
                    text += (
                        f", against homoscedastic FGTS {_told(paired_difference(values, regret['fgts_b']))}"
                    )
                text += "."
        sentences.append(text)
    return sentences


def general(cells: Sequence[Cell], data: Data) -> list[str]:
    """Thompson sampling against those who do not sample, environment by environment, run by run."""
    sentences = []
    for environment in dict.fromkeys(cell.flat["environment"] for cell in cells):
        here = [cell for cell in cells if cell.flat["environment"] == environment]
        others = [cell for cell in here if cell.flat["agent"] != "thompson"]
        for cell in here:
            if cell in others:
                continue
            ours = final_regret(data[cell.id])
            text = f"{environment}: Thompson sampling with reward {cell.flat['reward']} and posterior "
            text += f"{cell.flat['posterior']} has a mean regret of {ours.mean():.1f}"
            for other in others:
                theirs = final_regret(data[other.id])
                gap = paired_difference(ours, theirs)
                verdict = "less" if gap.high < 0 else "more" if gap.low > 0 else "no different"
                text += f"; {verdict} than {other.flat['agent']} ({theirs.mean():.1f}; {_told(gap)}, "
                text += f"better in {(ours < theirs).sum()} of {ours.size} runs)"
            sentences.append(text + ".")
    return sentences


def _told(interval: Interval) -> str:
    return f"{interval.value:+.1f} [{interval.low:+.1f}, {interval.high:+.1f}]"
