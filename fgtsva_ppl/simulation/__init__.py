"""The interaction loop: rounds in a scan, runs in batches, batches over devices."""

from fgtsva_ppl.simulation.loop import Simulation, simulate

__all__ = ["Simulation", "simulate"]
