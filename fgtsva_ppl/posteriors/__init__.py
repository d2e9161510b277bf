"""Posteriors of Thompson sampling and of its feel-good variants."""

from fgtsva_ppl.posteriors.feel_good import FGTSA, FGTSB, FGTSVA, POSTERIORS, TS

__all__ = ["FGTSA", "FGTSB", "FGTSVA", "POSTERIORS", "TS"]
