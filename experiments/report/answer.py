"""The answer in a few sentences, from the rows of the summary."""

from collections.abc import Sequence

from experiments.analysis.statistics import Interval
from experiments.analysis.summary import Row, regret_gap_of
from experiments.config.cell import REFERENCE
from experiments.config.text import counted

MAX_NAMED = 6  # cells in a sentence; more are counted


def answer(rows: Sequence[Row], labels: Sequence[str], panels: Sequence[str]) -> list[str]:
    """Gaps to exact draws: a sentence for all cells, then one for each panel (an environment).

    Args:
        rows: of the summary.
        labels: the label of each row's cell within its panel.
        panels: the panel of each row.
    """
    done = [index for index, row in enumerate(rows) if "final_regret_mean" in row]
    gaps = {index: gap for index in done if (gap := regret_gap_of(rows[index])) is not None}
    if not done:
        return ["No cell was finished, so there is no answer."]
    if not gaps:
        return _without_reference(rows, labels, panels, done)
    if all(gap.low != gap.low for gap in gaps.values()):
        return [
            "There is one run per cell: gaps to exact draws have no interval, so no sampler can be compared with them."
        ]
    sentences = [_overall(list(gaps.values()))]
    for panel in dict.fromkeys(panels[index] for index in gaps):
        inside = {labels[index]: gap for index, gap in gaps.items() if panels[index] == panel}
        references = [
            rows[index]["final_regret_mean"]
            for index in done
            if panels[index] == panel and rows[index].get("sampler") == REFERENCE
        ]
        sentences.append(_panel(panel, inside, references[0] if len(references) == 1 else None))
    return sentences


def _overall(gaps: Sequence[Interval]) -> str:
    counts = {
        "cannot be distinguished from exact draws": sum(gap.contains_zero for gap in gaps),
        "had more regret": sum(gap.low > 0 for gap in gaps),
        "had less regret": sum(gap.high < 0 for gap in gaps),
    }
    listed = _listed([f"{count} {what}" for what, count in counts.items() if count])
    cells = counted(len(gaps), "cell")
    return f"Of {cells} with an exact reference, {listed} (by the 95% interval of the paired regret gap)."


def _panel(panel: str, gaps: dict[str, Interval], reference: float | None) -> str:
    ordered = dict(sorted(gaps.items(), key=lambda item: item[1].value))
    against = "exact draws" if reference is None else f"exact draws (regret {reference:.4g})"
    groups = (
        (f"more regret than {against}", [name for name in ordered if gaps[name].low > 0]),
        (f"less regret than {against}", [name for name in ordered if gaps[name].high < 0]),
        (f"no difference from {against} found", [name for name in ordered if gaps[name].contains_zero]),
    )
    parts = [f"{what}: {_cells(names, gaps)}" for what, names in groups if names]
    return f"On {panel}: " + "; ".join(parts) + "."


def _cells(names: Sequence[str], gaps: dict[str, Interval]) -> str:
    named = [f"{name} {gaps[name].format(signed)}" for name in names[:MAX_NAMED]]
    return _listed([*named, f"{len(names) - MAX_NAMED} more"] if len(names) > MAX_NAMED else named)


def signed(value: float) -> str:
    """A number in three digits with its sign."""
    if value != value:
        return "–"
    return (f"{value:+.3g}" if abs(value) < 999.5 else f"{value:+.0f}").replace("-", "−")


def _listed(parts: Sequence[str]) -> str:
    return ", ".join(parts[:-1]) + " and " + parts[-1] if len(parts) > 1 else "".join(parts)


def _without_reference(
    rows: Sequence[Row], labels: Sequence[str], panels: Sequence[str], done: Sequence[int]
) -> list[str]:
    """Without exact draws to compare with: which cell has the least regret, and which the most."""
    sentences = []
    for panel in dict.fromkeys(panels[index] for index in done):
        regret = {
            labels[index]: (rows[index]["final_regret_mean"], rows[index].get("final_regret_se"))
            for index in done
            if panels[index] == panel
        }
        ordered = sorted(regret, key=lambda name: regret[name][0])
        text = f"On {panel}: {ordered[0]} has a final regret of {_with_error(*regret[ordered[0]])}"
        if len(ordered) > 1:
            text += (
                f", the least of {len(ordered)}; {ordered[-1]} the most, {_with_error(*regret[ordered[-1]])}"
            )
        sentences.append(text + ".")
    return sentences


def _with_error(mean: float, error: float | None) -> str:
    return f"{mean:.4g}" if error is None else f"{mean:.4g} ± {error:.2g}"
