"""What was found with exact draws on linear rewards, asked again of networks."""

from collections.abc import Iterator

from experiments.analysis.arrays import diagnostic
from experiments.analysis.diagnostics_vs_regret import across_cells
from experiments.analysis.results import StudyResults
from experiments.analysis.statistics import paired_difference
from experiments.analysis.verdicts import Evidence, Verdict
from experiments.config.cell import Cell
from experiments.studies.networks.against import REFERENCE, pairs_with_reference

LINEAR = "the linear studies `samplers` and `blindness` of this project"


def claims(results: StudyResults) -> Iterator[Verdict]:
    """Distance tells, R-hat does not, and preconditioning repairs Langevin steps."""
    pairs = [pair for pair in pairs_with_reference(results) if pair.diagnosed]
    measured = f"Spearman's rank correlation over cells of the median diagnostic with the regret beyond {REFERENCE}'s"
    distance = {
        name: across_cells(pairs, name) for name in ("total_variation", "mean_error") if len(pairs) > 1
    }
    yield Verdict(
        LINEAR,
        "the distance to reference draws tells which sampler costs regret",
        f"{measured}; holds if the interval is above 0.",
        tuple(Evidence(name, rho, rho.low > 0) for name, rho in distance.items() if rho.value == rho.value),
    )
    rhats = {name: across_cells(pairs, name) for name in ("rhat",) if len(pairs) > 1}
    yield Verdict(
        LINEAR,
        "R-hat does not tell which sampler costs regret",
        f"{measured}; holds if the interval contains 0.",
        tuple(
            Evidence(name, rho, rho.contains_zero) for name, rho in rhats.items() if rho.value == rho.value
        ),
    )
    yield Verdict(
        LINEAR,
        "preconditioning repairs Langevin steps",
        "sgld minus psgld with the same number of steps, run by run: final regret, and action TV at the probed rounds; "
        "holds if the interval is above 0.",
        tuple(_langevin(results)),
    )


def _langevin(results: StudyResults) -> Iterator[Evidence]:
    def of(sampler: str) -> dict[object, Cell]:
        found = [cell for cell in results.done if cell.flat.get("sampler") == sampler]
        return {cell.flat.get("sampler.num_steps"): cell for cell in found}

    plain, preconditioned = of("sgld"), of("psgld")
    for steps in [steps for steps in plain if steps in preconditioned]:
        cells = plain[steps], preconditioned[steps]
        regret = paired_difference(results.final(cells[0]), results.final(cells[1]))
        yield Evidence(f"regret, num_steps={steps}", regret, regret.low > 0)
        trees = [results.data[cell.id] for cell in cells]
        if all("diagnostics" in tree.children for tree in trees):
            ours, theirs = (diagnostic(tree, "total_variation").mean(axis=1) for tree in trees)
            gap = paired_difference(ours, theirs)
            if gap.value == gap.value:
                yield Evidence(f"action TV, num_steps={steps}", gap, gap.low > 0)
