"""Off-policy evaluation: what a policy would have earned, estimated from the log of another one."""

from fgtsva_ppl.evaluation.estimators import (
    LEVEL,
    Estimate,
    direct_method,
    doubly_robust,
    evaluate,
    importance_weights,
    ips,
    snips,
)
from fgtsva_ppl.evaluation.log import Log, fit_rewards, read_log
from fgtsva_ppl.evaluation.replay import Replay, replay

__all__ = [
    "LEVEL",
    "Estimate",
    "Log",
    "Replay",
    "direct_method",
    "doubly_robust",
    "evaluate",
    "fit_rewards",
    "importance_weights",
    "ips",
    "read_log",
    "replay",
    "snips",
]
