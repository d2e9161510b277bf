"""Checks of a Thompson agent's settings before its first round."""

from fgtsva_ppl.posteriors import Posterior
from fgtsva_ppl.posteriors.forgetting import check_forgetting
from fgtsva_ppl.rewards import FlatModel
from samplers import Sampler
from samplers.errors import InputError


def check_start(
    posterior: Posterior, sampler: Sampler, model: FlatModel, warm_start: bool, control_variate: bool
) -> None:
    """Raises InputError for settings that do not fit together."""
    check_forgetting(posterior, model)
    if not warm_start and sampler.adapts_between_rounds:
        raise InputError(
            "sampler.adaptation learns from round to round, which warm_start=false forgets; set one of them"
        )
    if not control_variate:
        return
    if model.linear:
        raise InputError("control_variate needs stored data; of linear rewards only sums are stored")
    if not sampler.batch_size:
        raise InputError(
            "control_variate is for minibatch gradients: set sampler.batch_size (sgld, psgld, sghmc, sgnht, ulmc)"
        )
    if posterior.window:
        raise InputError("control_variate sums over all data, posterior.window drops some: set one of them")
