"""The interaction loop: rounds in a scan, runs in batches, batches over devices."""

from fgtsva_ppl.simulation.batching import for_each_run, run_keys
from fgtsva_ppl.simulation.checkpoint import Checkpoint, CheckpointState, Snapshot
from fgtsva_ppl.simulation.exploration import EXPLORATIONS, Exploration
from fgtsva_ppl.simulation.loop import Simulation, simulate
from fgtsva_ppl.simulation.record import Record
from fgtsva_ppl.simulation.rounds import (
    ENVIRONMENT,
    check,
    instance_of_round,
    play_rounds,
    reveal,
    state_structure,
)

__all__ = [
    "ENVIRONMENT",
    "EXPLORATIONS",
    "Checkpoint",
    "CheckpointState",
    "Exploration",
    "Record",
    "Simulation",
    "Snapshot",
    "check",
    "for_each_run",
    "instance_of_round",
    "play_rounds",
    "reveal",
    "run_keys",
    "simulate",
    "state_structure",
]
