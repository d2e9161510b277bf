"""Classification datasets as bandits: a row is a context, a class is an arm, and the right class pays 1."""

from abc import abstractmethod
from typing import override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Int, Key

from fgtsva_ppl.environments import datasets
from fgtsva_ppl.environments.encoding import encode, encoded_dim, encoding_field
from fgtsva_ppl.types import Environment, Outcome, Round, Shape
from samplers.settings import settings, static_int, string, traced_float


@settings
class Classification(Environment):
    """Base class: a subclass names the source of its table, rounds draw its rows with replacement."""

    encoding: str = encoding_field()
    rows: int = static_int(default=20_000, doc="rows to use at most, the same ones in every run; 0: all")
    components: int = static_int(
        default=0, doc="principal components to keep of a context; 0: the context itself"
    )
    sigma: float = traced_float(
        default=0.5,
        ge=0,
        doc="revealed sigma_t. Labels have no noise, but are no function of the model's features; a reward in [0, 1] "
        "has a standard deviation of at most 1/2",
    )

    @property
    @abstractmethod
    def source(self) -> datasets.Source:
        """Where the table comes from."""

    @property
    def table(self) -> datasets.Table:
        """The rows and components in use."""
        return datasets.load_reduced(self.source, self.rows, self.components)

    @property
    @override
    def shape(self) -> Shape:
        contexts, _, classes = self.table
        dim = encoded_dim(contexts.shape[1], len(classes), self.encoding)
        return Shape(len(classes), dim, fixed_actions=False, linear=False)

    @override
    def start(self, key: Key[Array, ""]) -> tuple[()]:
        return ()  # all runs share the table

    @override
    def round(self, key: Key[Array, ""], instance: tuple[()], t: Int[Array, ""]) -> tuple[Round, Outcome]:
        contexts, labels, classes = self.table
        row = jax.random.randint(key, (), 0, len(labels))
        actions = encode(jnp.asarray(contexts)[row], len(classes), self.encoding)
        means = jax.nn.one_hot(jnp.asarray(labels)[row], len(classes), dtype=float)
        return Round(actions, jnp.asarray(self.sigma, dtype=float)), Outcome(means, jnp.zeros(()))


@settings
class Digits(Classification):
    """Handwritten digits (scikit-learn): 1797 images of 8 x 8 pixels, ten classes."""

    @property
    @override
    def source(self) -> datasets.Source:
        return datasets.Source("bundled", "digits")


@settings
class BreastCancer(Classification):
    """Breast cancer Wisconsin (scikit-learn): 569 tumours with 30 features, two classes."""

    @property
    @override
    def source(self) -> datasets.Source:
        return datasets.Source("bundled", "breast_cancer")


@settings
class Wine(Classification):
    """Wine recognition (scikit-learn): 178 wines with 13 features, three classes."""

    @property
    @override
    def source(self) -> datasets.Source:
        return datasets.Source("bundled", "wine")


@settings
class Iris(Classification):
    """Iris plants (scikit-learn): 150 flowers with 4 features, three classes."""

    @property
    @override
    def source(self) -> datasets.Source:
        return datasets.Source("bundled", "iris")


@settings
class TableBandit(Classification):
    """A CSV or Parquet file of the user's."""

    path: str = string(default="", doc="the file, .csv or .parquet")
    label: str = string(default="", doc="the column to predict")

    @property
    @override
    def source(self) -> datasets.Source:
        return datasets.Source("file", self.path, self.label)

    @property
    def content_digest(self) -> str:
        """Digest of the file's content, part of the identity of a result."""
        return datasets.fingerprint(self.path)


@settings
class OpenML(Classification):
    """A dataset from OpenML by name, downloaded once."""

    dataset: str = string(
        default="", doc="shuttle, mushroom, magic, covertype, adult, or a name at openml.org"
    )

    @property
    @override
    def source(self) -> datasets.Source:
        return datasets.Source("openml", self.dataset)
