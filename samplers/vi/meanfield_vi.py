"""Gaussian variational inference with independent coordinates."""

from typing import Any, ClassVar, override

from blackjax.vi import meanfield_vi

from samplers.adaptation.preconditioning import Diagonal, Preconditioner
from samplers.base import BIASED, SamplerInfo
from samplers.settings import settings
from samplers.vi.gaussian_vi import GaussianVI


@settings
class MeanfieldVI(GaussianVI):
    """BlackJAX's mean-field VI: a Gaussian whose coordinates, the target's own, are independent."""

    info: ClassVar[SamplerInfo] = SamplerInfo(
        "approximation",
        f"{BIASED}, variances too small",
        "num_iterations x num_samples + 4",
        "precision, for the scales",
    )
    family: ClassVar[Any] = meanfield_vi

    preconditioner: Preconditioner = Diagonal()

    @override
    def num_scale_parameters(self, dim: int) -> int:
        """Returns the number of log-scales."""
        return dim
