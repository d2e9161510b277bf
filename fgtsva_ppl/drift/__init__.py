"""Drift: how the truth of an environment moves from round to round, combined with any that can by `WithDrift`."""

from fgtsva_ppl.drift.base import Drift, NoDrift
from fgtsva_ppl.drift.paths import AdversarialSwap, Jumps, Periodic, Walk
from fgtsva_ppl.drift.with_drift import DriftingInstance, WithDrift
from samplers.registry import Registry

DRIFTS: Registry[Drift] = Registry("drift", "fgtsva.drifts")
DRIFTS.register("none", NoDrift)
DRIFTS.register("walk", Walk)
DRIFTS.register("jumps", Jumps)
DRIFTS.register("periodic", Periodic)
DRIFTS.register("adversarial_swap", AdversarialSwap)

__all__ = [
    "DRIFTS",
    "AdversarialSwap",
    "Drift",
    "DriftingInstance",
    "Jumps",
    "NoDrift",
    "Periodic",
    "Walk",
    "WithDrift",
]
