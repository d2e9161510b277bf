"""Gaussian variational inference with a full covariance."""

from typing import Any, ClassVar, override

from blackjax.vi import fullrank_vi

from samplers.base import BIASED, SamplerInfo
from samplers.settings import settings
from samplers.vi.gaussian_vi import GaussianVI


@settings
class FullrankVI(GaussianVI):
    """BlackJAX's full-rank VI: a Gaussian with any covariance; exact for Gaussian targets."""

    info: ClassVar[SamplerInfo] = SamplerInfo(
        "approximation",
        f"{BIASED}, unless Gaussian",
        "num_iterations x num_samples + 4",
        "precision, to precondition",
    )
    family: ClassVar[Any] = fullrank_vi

    @override
    def num_scale_parameters(self, dim: int) -> int:
        """Returns the size of a Cholesky factor: log-diagonal and lower triangle."""
        return dim * (dim + 1) // 2
