"""Samplers around a jump of the truth."""

from experiments.studies.drift import figures, findings, tables

__all__ = ["figures", "findings", "tables"]
