"""Posteriors of Thompson sampling and of its feel-good variants."""

from fgtsva_ppl.posteriors.base import Posterior
from fgtsva_ppl.posteriors.density import posterior_program, posterior_target
from fgtsva_ppl.posteriors.feel_good import FGTSA, FGTSB, FGTSVA, POSTERIORS, TS
from fgtsva_ppl.posteriors.history import History
from fgtsva_ppl.posteriors.variance import (
    VARIANCE_MODELS,
    Estimated,
    Modelled,
    ModelledByContext,
    Revealed,
    RevealedAfter,
    VarianceModel,
)

__all__ = [
    "FGTSA",
    "FGTSB",
    "FGTSVA",
    "POSTERIORS",
    "TS",
    "VARIANCE_MODELS",
    "Estimated",
    "History",
    "Modelled",
    "ModelledByContext",
    "Posterior",
    "Revealed",
    "RevealedAfter",
    "VarianceModel",
    "posterior_program",
    "posterior_target",
]
