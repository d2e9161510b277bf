"""Settings classes by name, as configs and `fgtsva list` use them; other packages add theirs by an entry point."""

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from importlib.metadata import entry_points
from typing import TYPE_CHECKING, Any

from samplers.errors import InputError, did_you_mean
from samplers.settings import arguments, component_fields, defaults, documentation

if TYPE_CHECKING:
    from samplers.adaptation.base import Adaptation
    from samplers.adaptation.preconditioning import Preconditioner
    from samplers.base import Sampler


class Registry[T]:
    """Settings classes by name, those of installed packages' entry points included.

    Args:
        kind: What the members are, for messages, e.g. `sampler`.
        group: The entry-point group under which other packages declare members.
        as_class: Makes a class of anything else that may be registered.
    """

    def __init__(self, kind: str, group: str, as_class: Callable[[Any], type[T]] | None = None) -> None:
        self.kind = kind
        self._group = group
        self._as_class = as_class
        self._classes: dict[str, type[T] | str] = {}
        self._entry_points_loaded = False

    def register(self, name: str, cls: Any) -> None:
        """Adds a class, or `"module:Class"` to be imported on first use, under a name that is not taken."""
        if not isinstance(cls, str) and self._as_class:
            cls = self._as_class(cls)
        if name in self._classes and cls not in (self._classes[name], self._resolve(name)):
            raise InputError(f"{self.kind} {name!r} is registered already")
        self._classes[name] = cls

    def names(self) -> list[str]:
        """All names, in the order in which they were registered."""
        self._load_entry_points()
        return list(self._classes)

    def __getitem__(self, name: str) -> type[T]:
        self._load_entry_points()
        if name not in self._classes:
            choices = ", ".join(self._classes)
            hint = did_you_mean(str(name), self._classes)
            raise InputError(f"unknown {self.kind} {name!r}{hint}; valid: {choices}")
        return self._resolve(name)

    def __iter__(self) -> Iterator[tuple[str, type[T]]]:
        return iter([(name, self[name]) for name in self.names()])

    def _resolve(self, name: str) -> type[T]:
        cls = self._classes[name]
        if isinstance(cls, str):
            module, _, attribute = cls.partition(":")
            loaded = getattr(import_module(module), attribute)
            cls = self._classes[name] = self._as_class(loaded) if self._as_class else loaded
        return cls

    def name_of(self, member: T) -> str:
        """Returns the name under which an object's class is registered."""
        for name, cls in self:
            if type(member) is cls:
                return name
        raise InputError(f"{type(member).__name__} is not a registered {self.kind}")

    def defaults(self, name: str, values: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Returns a member's default settings under dotted keys.

        Args:
            name: The member.
            values: Settings that may name components; the defaults are then those of the components they name.
        """
        return defaults(self[name], values)

    def all_keys(self, name: str) -> list[str]:
        """Returns every key that a member has with some choice of its components."""
        return list(documentation(self[name]))

    def build(self, name: str, values: Mapping[str, Any] | None = None) -> T:
        """Returns a member with the given settings.

        Args:
            name: The member.
            values: Settings under dotted keys; a component is given by its name, or as an object.

        Raises:
            InputError: If a key or a value is not valid; the message names the valid ones.
        """
        values = values or {}
        cls, names = self[name], _component_names(self[name], values)
        known = self.defaults(name, {**values, **names})
        for key in values:
            if key not in known:
                raise InputError(self._unknown_key(name, key, names, known))
        try:
            return cls(**arguments(cls, values))
        except InputError as error:
            raise InputError(f"{self.kind} {name!r}: {error}") from None

    def _unknown_key(self, name: str, key: str, chosen: Mapping[str, str], known: Iterable[str]) -> str:
        field, _, inner = key.partition(".")
        if key in self.all_keys(name):
            owners = [m for m, cls in component_fields(self[name])[field] if inner in documentation(cls)]
            return (
                f"{self.kind} {name!r}: {key} is a setting of {field}={' or '.join(owners)}, "
                f"not of {field}={chosen[field]}"
            )
        hint = did_you_mean(key, self.all_keys(name))
        return f"{self.kind} {name!r} has no setting {key!r}{hint}; valid: {', '.join(known) or 'none'}"

    def _load_entry_points(self) -> None:
        if not self._entry_points_loaded:
            self._entry_points_loaded = True
            for point in entry_points(group=self._group):
                try:
                    self.register(point.name, point.load())
                except Exception as error:  # another package's code
                    raise InputError(
                        f"{self.kind} {point.name!r} of entry point {point.value!r} cannot be loaded: {error}"
                    ) from None


def _component_names(cls: type, values: Mapping[str, Any]) -> dict[str, str]:
    """The names of a class's components: those that `values` gives by name or as objects, else the defaults."""
    usual = defaults(cls)
    names = {}
    for field, registry in component_fields(cls).items():
        value = values.get(field, usual[field])
        names[field] = registry.name_of(value) if dataclasses.is_dataclass(value) else str(value)
    return names


SAMPLERS: Registry["Sampler"] = Registry("sampler", "fgtsva.samplers")
SAMPLERS.register("exact", "samplers.reference.exact:Exact")
SAMPLERS.register("sgld", "samplers.sgmcmc.sgld:SGLD")
SAMPLERS.register("psgld", "samplers.sgmcmc.psgld:PSGLD")
SAMPLERS.register("sghmc", "samplers.sgmcmc.sghmc:SGHMC")
SAMPLERS.register("sgnht", "samplers.sgmcmc.sgnht:SGNHT")
SAMPLERS.register("ulmc", "samplers.sgmcmc.ulmc:ULMC")
SAMPLERS.register("mclmc", "samplers.mcmc.mclmc:MCLMC")
SAMPLERS.register("mala", "samplers.mcmc.mala:MALA")
SAMPLERS.register("barker", "samplers.mcmc.barker:Barker")
SAMPLERS.register("hmc", "samplers.mcmc.hmc:HMC")
SAMPLERS.register("dynamic_hmc", "samplers.mcmc.dynamic_hmc:DynamicHMC")
SAMPLERS.register("ghmc", "samplers.mcmc.ghmc:GHMC")
SAMPLERS.register("nuts", "samplers.mcmc.nuts:NUTS")
SAMPLERS.register("adjusted_mclmc", "samplers.mcmc.adjusted_mclmc:AdjustedMCLMC")
SAMPLERS.register("rmh", "samplers.mcmc.rmh:RMH")
SAMPLERS.register("elliptical_slice", "samplers.mcmc.elliptical_slice:EllipticalSlice")
SAMPLERS.register("slice", "samplers.mcmc.slice:Slice")
SAMPLERS.register("polya_gamma", "samplers.mcmc.polya_gamma:PolyaGamma")
SAMPLERS.register("smc", "samplers.smc.smc:SMC")
SAMPLERS.register("svgd", "samplers.vi.svgd:SVGD")
SAMPLERS.register("laplace", "samplers.vi.laplace:Laplace")
SAMPLERS.register("pathfinder", "samplers.vi.pathfinder:Pathfinder")
SAMPLERS.register("meanfield_vi", "samplers.vi.meanfield_vi:MeanfieldVI")
SAMPLERS.register("fullrank_vi", "samplers.vi.fullrank_vi:FullrankVI")
SAMPLERS.register("control", "samplers.reference.control:Control")
SAMPLERS.register("showdown_lmc", "samplers.reference.showdown:ShowdownLMC")
SAMPLERS.register("showdown_mala", "samplers.reference.showdown:ShowdownMALA")

register = SAMPLERS.register

PRECONDITIONERS: Registry["Preconditioner"] = Registry("preconditioner", "fgtsva.preconditioners")
PRECONDITIONERS.register("dense", "samplers.adaptation.preconditioning:Dense")
PRECONDITIONERS.register("diagonal", "samplers.adaptation.preconditioning:Diagonal")
PRECONDITIONERS.register("none", "samplers.adaptation.preconditioning:Identity")

ADAPTATIONS: Registry["Adaptation"] = Registry("adaptation", "fgtsva.adaptations")
ADAPTATIONS.register("automatic", "samplers.adaptation.step_size:Automatic")
ADAPTATIONS.register("none", "samplers.adaptation.base:NoAdaptation")
ADAPTATIONS.register("dual_averaging", "samplers.adaptation.step_size:DualAveraging")
ADAPTATIONS.register("window", "samplers.adaptation.window:WindowAdaptation")
