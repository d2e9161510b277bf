"""The structure of a logistic regression, for samplers that use it."""

from collections.abc import Callable
from typing import NamedTuple

from jax import Array
from jaxtyping import Float


class LogisticFactor(NamedTuple):
    """The other factors of a density with a Gaussian one.

    density(x) = gaussian(x) prod_i sigmoid(<phi_i, x>)^r_i (1 - sigmoid(<phi_i, x>))^(1 - r_i) exp(remainder(x)), the
    product over the rows that are present.

    Attributes:
        features: phi_i.
        responses: r_i, 0 or 1.
        present: 1 for a datum, 0 for an empty row.
        remainder: The logarithm of what is left, a bounded function on compact sets.
    """

    features: Float[Array, "rows size"]
    responses: Float[Array, " rows"]
    present: Float[Array, " rows"]
    remainder: Callable[[Array], Array]
