"""Data to classify as a bandit: a row is a context, a class an arm, and the right one pays 1."""

from abc import abstractmethod

import jax
import jax.numpy as jnp
from jax import Array

from fgtsva_ppl.environments import datasets
from fgtsva_ppl.environments.encoding import encoded, encoded_size, encoding
from fgtsva_ppl.types import Environment, Outcome, Round, Shape
from samplers.settings import settings, static_int, string, traced_float


@settings
class Classification(Environment):
    """What the environments of data share; each says where its table comes from."""

    encoding: str = encoding()
    rows: int = static_int(
        default=20_000, doc="rows that are used at most, the same ones in every run; 0: all"
    )
    components: int = static_int(
        default=0, doc="principal components that are kept of a context; 0: it stays as it is"
    )
    sigma: float = traced_float(
        default=0.5,
        ge=0,
        doc="sigma_t that is revealed. A label is fixed, yet no function of what a model sees: to that a reward in "
        "[0, 1] is noise of a standard deviation of at most 1/2",
    )

    @property
    @abstractmethod
    def source(self) -> datasets.Source:
        """Where the table is."""

    @property
    def table(self) -> datasets.Table:
        """What is used of it."""
        return datasets.reduced(self.source, self.rows, self.components)

    @property
    def shape(self) -> Shape:
        """An arm per class."""
        contexts, _, classes = self.table
        size = encoded_size(contexts.shape[1], len(classes), self.encoding)
        return Shape(len(classes), size, fixed_actions=False, linear=False)

    def start(self, key: Array) -> tuple[()]:
        """Every run has the same table."""
        return ()

    def round(self, key: Array, instance: tuple[()], t: Array) -> tuple[Round, Outcome]:
        """A row drawn at random."""
        contexts, labels, classes = self.table
        row = jax.random.randint(key, (), 0, len(labels))
        actions = encoded(jnp.asarray(contexts)[row], len(classes), self.encoding)
        means = jax.nn.one_hot(jnp.asarray(labels)[row], len(classes), dtype=float)
        return Round(actions, jnp.asarray(self.sigma, dtype=float)), Outcome(means, jnp.zeros(()))


@settings
class Digits(Classification):
    """Handwritten digits of 8 x 8 pixels, ten classes (scikit-learn's)."""

    @property
    def source(self) -> datasets.Source:
        """1797 rows."""
        return datasets.Source("bundled", "digits")


@settings
class BreastCancer(Classification):
    """Tumours, two classes (scikit-learn's)."""

    @property
    def source(self) -> datasets.Source:
        """569 rows of 30 numbers."""
        return datasets.Source("bundled", "breast_cancer")


@settings
class Wine(Classification):
    """Wines, three classes (scikit-learn's)."""

    @property
    def source(self) -> datasets.Source:
        """178 rows of 13 numbers."""
        return datasets.Source("bundled", "wine")


@settings
class Iris(Classification):
    """Flowers, three classes (scikit-learn's)."""

    @property
    def source(self) -> datasets.Source:
        """150 rows of 4 numbers."""
        return datasets.Source("bundled", "iris")


@settings
class TableBandit(Classification):
    """A CSV or Parquet file of your own."""

    path: str = string(default="", doc="the file, .csv or .parquet")
    label: str = string(default="", doc="the column that is to be predicted")

    @property
    def source(self) -> datasets.Source:
        """Whatever is in the file."""
        return datasets.Source("file", self.path, self.label)

    @property
    def fingerprint(self) -> str:
        """Of the file's content."""
        return datasets.fingerprint(self.path)


@settings
class OpenML(Classification):
    """A set from OpenML by name, kept once it was fetched."""

    dataset: str = string(
        default="", doc="shuttle, mushroom, magic, covertype, adult, or as it is called there"
    )

    @property
    def source(self) -> datasets.Source:
        """Whatever OpenML has."""
        return datasets.Source("openml", self.dataset)
