"""Findings of the study `general`: Thompson sampling against agents that do not sample."""

from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import paired_difference


def findings(results: StudyResults) -> list[str]:
    """Regret of Thompson sampling against every other agent, environment by environment, run by run."""
    sentences = []
    for environment in dict.fromkeys(cell.flat["environment"] for cell in results.done):
        here = [cell for cell in results.done if cell.flat["environment"] == environment]
        others = [cell for cell in here if cell.flat["agent"] != "thompson"]
        for cell in here:
            if cell in others:
                continue
            own = results.final(cell)
            text = f"{environment}: Thompson sampling with reward {cell.flat['reward']} and posterior "
            text += f"{cell.flat['posterior']} has a mean regret of {own.mean():.1f}"
            for other in others:
                regret = results.final(other)
                gap = paired_difference(own, regret)
                verdict = "less" if gap.high < 0 else "more" if gap.low > 0 else "no different"
                text += f"; {verdict} than {other.flat['agent']} ({regret.mean():.1f}; {gap.format()}, "
                text += f"better in {(own < regret).sum()} of {own.size} runs)"
            sentences.append(text + ".")
    return sentences
