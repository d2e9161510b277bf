"""Findings of the study `networks`: regret against NUTS, and which diagnostics rank the samplers as regret does."""

import numpy as np

from experiments.analysis.arrays import diagnostic
from experiments.analysis.diagnostics_vs_regret import across_cells
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import known_median
from experiments.config.text import counted
from experiments.studies.networks.against import REFERENCE, pairs_with_reference
from fgtsva_ppl.diagnostics import METRICS

SHOWN = ("total_variation", "mean_error", "sd_ratio", "rhat", "nested_rhat", "gradient_norm")


def findings(results: StudyResults) -> list[str]:
    """The references, regret of each sampler against NUTS with its distance, and the diagnostics' associations."""
    return [*_references(results), *_gaps(results), *_associations(results)]


def _references(results: StudyResults) -> list[str]:
    """How many probed rounds have a reference that passed the gate."""
    probed = [data for data in results.data.values() if "diagnostics" in data.children]
    known = [np.isfinite(diagnostic(data, "total_variation_floor")) for data in probed]
    if not known:
        return []
    passed, total = sum(int(one.sum()) for one in known), sum(one.size for one in known)
    return [
        f"{passed} of {counted(total, 'probed round')} have a reference that passed the gate: NUTS from four draws of "
        "the prior, judged by mean rewards of the arms and the log-density, because weights have symmetric copies."
    ]


def _gaps(results: StudyResults) -> list[str]:
    sentences = []
    for pair in pairs_with_reference(results):
        gap = pair.regret_gap
        verb = "more" if gap.low > 0 else "less" if gap.high < 0 else "no different"
        text = f"{results.labels[pair.cell.id]}: regret {verb} than with {REFERENCE} ({gap.format()} per run)"
        if pair.diagnosed:
            medians = {name: known_median(diagnostic(pair.data, name)) for name in SHOWN}
            parts = [
                f"{METRICS[name].heading} {value:.2f}"
                for name, value in medians.items()
                if not np.isnan(value)
            ]
            text += f"; {', '.join(parts)}"
        sentences.append(text + ".")
    return sentences


def _associations(results: StudyResults) -> list[str]:
    pairs = [pair for pair in pairs_with_reference(results) if pair.diagnosed]
    found = {name: across_cells(pairs, name) for name in SHOWN} if pairs else {}
    known = {name: rho for name, rho in found.items() if np.isfinite(rho.value)}
    if not known:
        return []
    listed = ", ".join(f"{METRICS[name].heading} {rho.format('+.2f')}" for name, rho in known.items())
    return [
        f"Rank correlation over {counted(len(pairs), 'cell')} with the regret beyond {REFERENCE}'s: {listed}."
    ]
