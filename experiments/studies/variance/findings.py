"""Findings of the study `variance`: what it costs not to know sigma_t."""

from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import paired_difference
from experiments.config.cell import DEFAULT_NOISE

SIGMA = "posterior.variance"


def findings(results: StudyResults) -> list[str]:
    """Regret noise by noise, against the case where sigma_t is revealed and against homoscedastic FGTS."""
    sentences = []
    for noise in dict.fromkeys(cell.flat.get("noise", DEFAULT_NOISE) for cell in results.done):
        regret = {
            str(cell.flat.get(SIGMA, cell.flat["posterior"])): results.final(cell)
            for cell in results.done
            if cell.flat.get("noise", DEFAULT_NOISE) == noise
        }
        if "revealed" not in regret:
            continue
        text = f"{noise} noise: with sigma_t revealed the mean regret is {regret['revealed'].mean():.1f}."
        for name, final in regret.items():
            if name == "revealed":
                continue
            text += f" {name}: {final.mean():.1f}, {paired_difference(final, regret['revealed']).format()}"
            if "fgts_b" in regret and name != "fgts_b":
                against = paired_difference(final, regret["fgts_b"])
                text += f", against homoscedastic FGTS {against.format()}"
            text += "."
        sentences.append(text)
    return sentences
