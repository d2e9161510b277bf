"""Puts reward, posterior and likelihood together, and says where they do not fit."""

from fgtsva_ppl.likelihoods import Likelihood, OwnLikelihood
from fgtsva_ppl.posteriors import Posterior
from fgtsva_ppl.rewards import AnyReward, FlatModel, as_reward, flat_model
from fgtsva_ppl.rewards.inspection import without_sums
from samplers import PolyaGamma, Sampler
from samplers.errors import InputError


def reward_model(
    reward: AnyReward, posterior: Posterior, likelihood: Likelihood, arms: int, dim: int
) -> FlatModel:
    """The reward's program, for rounds of `arms` arms with `dim` features each."""
    variance = posterior.variance_model
    if variance.sampled and not likelihood.conjugate:
        raise InputError(
            f"variance=modelled models the noise of the squared loss, and likelihood={likelihood.name} has none: "
            "set posterior.variance=revealed"
        )
    model = flat_model(variance.reward(likelihood.reward(reward)), dim, arms)
    if model.observed != isinstance(likelihood, OwnLikelihood):
        name = as_reward(reward).name
        raise InputError(
            f"reward {name} has an observation model of its own: set likelihood=own"
            if model.observed
            else f"likelihood=own needs a reward program that observes its rewards; {name} only returns their means"
        )
    if model.noisy and not variance.sampled:
        raise InputError(
            "a reward program that models its noise needs posterior fgts_va with variance=modelled"
        )
    return model if likelihood.conjugate else without_sums(model)


def check_weights(posterior: Posterior, likelihood: Likelihood, sampler: Sampler) -> None:
    """Raises InputError for a weight that another likelihood ignores, or that the sampler cannot have."""
    if isinstance(sampler, PolyaGamma) and likelihood.eta != 1:
        raise InputError(
            "sampler 'polya_gamma' augments the likelihood, not a power of it: set likelihood.eta=1"
        )
    if likelihood.conjugate or not hasattr(posterior, "eta"):
        return
    if posterior.eta != type(posterior)().eta:  # type: ignore[attr-defined]
        raise InputError(
            f"posterior.eta is the weight of the squared loss; likelihood={likelihood.name} has its own: set "
            "likelihood.eta"
        )
