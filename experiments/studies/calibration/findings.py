"""Findings of the study `calibration`: whether ranks of the truth are uniform, by temperature."""

from experiments.analysis.results import StudyResults
from experiments.studies.calibration.ranks import verdicts_of

BAYES = 0.5  # weight of a datum at the Bayes temperature, for rewards of variance 1
MEANING = {"U-shaped": "U-shaped, the posterior is too narrow", "humped": "humped, the posterior is too wide"}


def findings(results: StudyResults) -> list[str]:
    """A sentence per temperature."""
    verdicts = verdicts_of(results)
    sentences = []
    for eta in sorted({one.of.eta for one in verdicts}):
        own = [one for one in verdicts if one.of.eta == eta]
        temperature = "the Bayes temperature" if eta == BAYES else f"{BAYES / eta:g} of the Bayes temperature"
        spreads = [one.test.spread for one in own]
        smallest = min(min(one.test.p_value, one.test.spread_p_value) for one in own)
        shapes = [one.shape for one in own if one.shape != "uniform"]
        told = "no deviation of the truth's ranks from uniform is found"
        if shapes:
            kinds = " or ".join(MEANING[shape] for shape in dict.fromkeys(shapes))
            told = f"the truth's ranks are not uniform in {len(shapes)} ({kinds})"
        sentences.append(
            f"At {temperature} (eta={eta:g}), over {len(own)} cells and rounds: {told}; smallest p={smallest:.2g}, "
            f"variance of the ranks {min(spreads):.2f} to {max(spreads):.2f} of uniform."
        )
    return sentences
