"""A posterior as a NumPyro program over a reward program, and as the target of a sampler."""

from collections.abc import Callable
from functools import partial

import jax.numpy as jnp
import numpyro

from fgtsva_ppl.posteriors.base import Posterior
from fgtsva_ppl.posteriors.curvature import full_precision, metric
from fgtsva_ppl.posteriors.exact import finite_class_draw, gaussian_part, with_exact_draws
from fgtsva_ppl.posteriors.forgetting import predicted
from fgtsva_ppl.posteriors.gradient_cache import minibatch_gradient_of
from fgtsva_ppl.posteriors.history import History, SufficientStatistics
from fgtsva_ppl.rewards import FlatModel
from fgtsva_ppl.types import Round
from samplers.gaussian import Gaussian
from samplers.target import Target


def posterior_program(
    posterior: Posterior, model: FlatModel, history: History, round: Round
) -> Callable[[], None]:
    """The posterior as a NumPyro program: prior, factor `loss`, factor `feel_good`."""

    def program() -> None:
        function = model.program()
        numpyro.factor("loss", -posterior.loss(history, posterior.weighted_data(history), function))
        numpyro.factor("feel_good", posterior.bonus(function, history, round))

    return program


def posterior_target(posterior: Posterior, model: FlatModel, history: History, round: Round) -> Target:
    """The posterior of a round as a log-density, with everything that is known of its shape.

    log p_t(f) = log p0(f) + sum_{s<t} eta_s log p(r_s | f) + lambda_t max_a f(x_t, a), in the flat unconstrained
    coordinates of the reward program; for the squared loss log p(r_s | f) = -(r_s - f(x_s, a_s))^2.

    Args:
        posterior: The member of the family.
        model: The reward program.
        history: The rounds before this one.
        round: The current round, with features as the program takes them: shape (arms, model.features).

    Returns:
        The target. For linear rewards with a Gaussian prior it has the Gaussian part in closed form, an analytic
        gradient and exact draws, if the bonus allows; for finite classes exact draws; else minibatch gradients.
    """
    history = predicted(posterior, model, history)
    padded = history.padded_with(round.actions)
    logdensity = model.logdensity(posterior_program(posterior, model, padded, round))
    data = posterior.weighted_data(padded)
    if model.gaussian is not None and isinstance(data, SufficientStatistics):
        gaussian = gaussian_part(model.gaussian, data)
        target = Target(logdensity, lambda position: gaussian.precision, gaussian, prior=model.draw)
        return with_exact_draws(target, gaussian, posterior, padded, round)
    cache = history.curvature_cache
    return Target(
        logdensity,
        partial(full_precision, posterior, model, padded),
        _prior_gaussian(model),
        finite_class_draw(posterior, model.program, padded, round),
        minibatch_gradient_of(posterior, model, history, round),
        prior=model.draw,
        metric=partial(metric, posterior, model, padded),
        stiffness=1.0 if cache is None else cache.stiffness,
        logistic=posterior.logistic_factor(model, padded, round),
    )


def _prior_gaussian(model: FlatModel) -> Gaussian | None:
    """The Gaussian factor of a posterior that has no closed form: its prior, if that is Gaussian."""
    if model.prior is None:
        return None
    mean, prior_precision = map(jnp.asarray, model.prior)
    return Gaussian(prior_precision, prior_precision @ mean)
