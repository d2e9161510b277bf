"""The sequences that are exported: a bandit, an agent that plays it, and the rounds whose posteriors are kept."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from samplers.errors import InputError, did_you_mean


class Sequence(NamedTuple):
    """A recorded run and the rounds whose posteriors are kept.

    Attributes:
        title: What is hard about it.
        environment: Name and settings.
        reward: Name and settings.
        posterior: Name and settings.
        sampler: That of the agent which plays the run.
        rounds: Whose posteriors are kept.
        horizon: Rounds of the run, for settings that depend on it.
        compared: What errors are measured in: `parameters`, or mean `rewards` of the round's arms where parameters are
            not identified.
        quick: Whether it belongs to the `--quick` size.
    """

    title: str
    environment: tuple[str, Mapping[str, Any]]
    reward: tuple[str, Mapping[str, Any]]
    posterior: tuple[str, Mapping[str, Any]]
    sampler: str
    rounds: tuple[int, ...]
    horizon: int
    compared: str = "parameters"
    quick: bool = False


SEQUENCES = {
    "modes-5": Sequence(
        "linear, feel-good bonus with separated modes",
        ("homoscedastic", {}),
        ("linear", {}),
        ("fgts_b", {"lam": 15.0}),
        "exact",
        (2, 8, 32),
        100,
        quick=True,
    ),
    "stiff-5": Sequence(
        "linear, sparse noise: condition numbers up to a million",
        ("sparse", {}),
        ("linear", {}),
        ("fgts_va", {}),
        "exact",
        (2, 10, 50, 250),
        1000,
        quick=True,
    ),
    "linear-20": Sequence(
        "linear with new arms in every round",
        ("contextual", {"dim": 20, "arms": 50}),
        ("linear", {}),
        ("fgts_va", {}),
        "exact",
        (2, 10, 50, 250),
        1000,
    ),
    "linear-100": Sequence(
        "linear with new arms in every round",
        ("contextual", {"dim": 100, "arms": 50}),
        ("linear", {}),
        ("fgts_va", {}),
        "exact",
        (2, 20, 200),
        1000,
    ),
    "logistic-5": Sequence(
        "logistic mean rewards",
        ("logistic", {"dim": 5, "arms": 10, "steepness": 1.0}),
        ("logistic", {}),
        ("ts", {"eta": 50.0}),
        "mala",
        (2, 10, 40),
        100,
        quick=True,
    ),
    "logistic-20": Sequence(
        "logistic mean rewards",
        ("logistic", {"dim": 20, "arms": 20, "steepness": 1.0}),
        ("logistic", {}),
        ("ts", {"eta": 50.0}),
        "mala",
        (2, 20, 200),
        200,
    ),
    "hierarchical-13": Sequence(
        "linear with partially pooled biases: a constrained scale",
        ("homoscedastic", {"dim": 3}),
        ("hierarchical", {}),
        ("ts", {"eta": 0.5}),
        "mala",
        (2, 10, 40),
        100,
        quick=True,
    ),
    "hierarchical-22": Sequence(
        "linear with partially pooled biases: a constrained scale",
        ("homoscedastic", {"dim": 4, "arms": 16}),
        ("hierarchical", {"bias_scale": 2.0}),
        ("ts", {"eta": 0.5}),
        "mala",
        (2, 20, 200),
        200,
    ),
    "neural-113": Sequence(
        "a network whose weights are not identified",
        ("mlp", {"dim": 5, "arms": 10, "width": 16}),
        ("mlp", {"width": 16}),
        ("ts", {"eta": 50.0}),
        "mala",
        (2, 10, 40),
        100,
        compared="rewards",
    ),
}


def chosen(names: list[str] | None, *, quick: bool) -> dict[str, Sequence]:
    """The sequences of these names; by default all, or those of the quick size."""
    unknown = [name for name in names or [] if name not in SEQUENCES]
    if unknown:
        hint = did_you_mean(unknown[0], SEQUENCES)
        raise InputError(f"unknown target {unknown[0]!r}{hint}; valid: {', '.join(SEQUENCES)}")
    if names:
        return {name: SEQUENCES[name] for name in names}
    return {name: sequence for name, sequence in SEQUENCES.items() if sequence.quick or not quick}


def stored_names(folder: Path) -> list[str]:
    """The names of all sequences in a folder."""
    names = sorted(path.stem for path in folder.glob("*.nc"))
    if not names:
        raise InputError(f"no targets in {folder}: run fgtsva targets export {folder} first")
    return names
