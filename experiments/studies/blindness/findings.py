"""Findings of the study `blindness`: which diagnostics look good where the sampler is wrong, and the reverse."""

from collections.abc import Sequence

from experiments.analysis.results import StudyResults
from experiments.config.text import counted
from experiments.studies.blindness.examined import SIGNS, Examined, examine
from fgtsva_ppl.diagnostics import METRICS

CHAINS = "rhat"  # the diagnostic of chains that people look at first


def findings(results: StudyResults) -> list[str]:
    """What R-hat misses, regret that nothing shows, and wrong actions that save regret."""
    return blind_spots(examine(results))


def blind_spots(cells: Sequence[Examined]) -> list[str]:
    """Where actions, chains and regret disagree; the tables have every cell and every diagnostic."""
    sentences = []
    wrong = [cell for cell in cells if cell.wrong and CHAINS in cell.good]
    if wrong:
        missed = sum(cell.good[CHAINS] for cell in wrong)
        sentences.append(
            f"{METRICS[CHAINS].heading} is {SIGNS[CHAINS].rule} in {missed} of {counted(len(wrong), 'cell')} whose "
            "actions are wrong."
        )
    silent = [cell for cell in cells if cell.costly and not cell.alarms]
    if silent:
        worst = max(silent, key=lambda cell: cell.regret_gap.value)
        sentences.append(
            f"{len(silent)} of {counted(len(cells), 'cell')} have more regret than exact draws and no sign of it in "
            f"any diagnostic without them; the most has {worst.label}: {worst.regret_gap.format('auto')}."
        )
    lucky = [cell for cell in cells if cell.wrong and cell.regret_gap.high < 0]
    if lucky:
        best = min(lucky, key=lambda cell: cell.regret_gap.value)
        sentences.append(
            f"{len(lucky)} of {counted(len(cells), 'cell')} have wrong actions and less regret than exact draws; the "
            f"least has {best.label}: {best.regret_gap.format('auto')}."
        )
    return sentences
