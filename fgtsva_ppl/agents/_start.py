"""Checks of a Thompson agent's settings before its first round."""

from typing import Any

from fgtsva_ppl.posteriors.forgetting import check_forgetting
from fgtsva_ppl.rewards import FlatModel
from samplers.errors import InputError


def check_start(agent: Any, model: FlatModel) -> None:
    """Raises InputError for settings of a `Thompson` agent that do not fit together."""
    posterior, sampler = agent.posterior, agent.sampler
    check_forgetting(posterior, model)
    if not agent.warm_start and sampler.adapts_between_rounds:
        raise InputError(
            "sampler.adaptation learns from round to round, which warm_start=false forgets; set one of them"
        )
    if agent.restart_every and not agent.warm_start:
        raise InputError(
            "agent.restart_every: warm_start=false starts anew in every round already; set one of them"
        )
    if not agent.control_variate:
        return
    if model.linear:
        raise InputError("control_variate needs stored data; of linear rewards only sums are stored")
    if not sampler.batch_size:
        raise InputError(
            "control_variate is for minibatch gradients: set sampler.batch_size (sgld, psgld, sghmc, sgnht, ulmc)"
        )
    if posterior.window:
        raise InputError("control_variate sums over all data, posterior.window drops some: set one of them")
