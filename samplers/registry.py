"""Names for things: what a config says, what `fgtsva list` shows, what another package adds by an entry point."""

from collections.abc import Callable, Iterator, Mapping
from importlib.metadata import entry_points
from typing import Any

from samplers.settings import InputError, defaults, did_you_mean


class Registry[T]:
    """Settings classes by name, with those that installed packages declare under an entry-point group.

    `as_class` makes a class of whatever else may be registered.
    """

    def __init__(self, kind: str, group: str, as_class: Callable[[Any], type[T]] | None = None) -> None:
        self.kind = kind
        self._group = group
        self._as_class = as_class
        self._classes: dict[str, type[T]] = {}
        self._looked = False

    def register(self, name: str, cls: Any) -> None:
        """Adds a class under a name; a name can be taken once."""
        cls = self._as_class(cls) if self._as_class else cls
        if self._classes.get(name, cls) is not cls:
            raise InputError(f"{self.kind} {name!r} is registered already")
        self._classes[name] = cls

    def names(self) -> list[str]:
        """All names, in the order in which they were registered."""
        self._look_around()
        return list(self._classes)

    def __getitem__(self, name: str) -> type[T]:
        self._look_around()
        if name not in self._classes:
            choices = ", ".join(self._classes)
            hint = did_you_mean(str(name), self._classes)
            raise InputError(f"unknown {self.kind} {name!r}{hint}; valid: {choices}")
        return self._classes[name]

    def __iter__(self) -> Iterator[tuple[str, type[T]]]:
        self._look_around()
        return iter(self._classes.items())

    def defaults(self, name: str) -> dict[str, Any]:
        """What can be set on a member, with the values it has when nothing is said."""
        return defaults(self[name])

    def build(self, name: str, values: Mapping[str, Any] | None = None) -> T:
        """The member with the given settings; an unknown key is an InputError that suggests the did_you_mean."""
        cls, known = self[name], self.defaults(name)
        for key in values or {}:
            if key not in known:
                valid = ", ".join(known) or "none"
                raise InputError(
                    f"{self.kind} {name!r} has no setting {key!r}{did_you_mean(key, known)}; valid: {valid}"
                )
        try:
            return cls(**(values or {}))
        except InputError as error:
            raise InputError(f"{self.kind} {name!r}: {error}") from None

    def _look_around(self) -> None:
        if not self._looked:
            self._looked = True
            for point in entry_points(group=self._group):
                try:
                    self.register(point.name, point.load())
                except Exception as error:  # another package's code
                    raise InputError(
                        f"{self.kind} {point.name!r} of entry point {point.value!r} cannot be loaded: {error}"
                    ) from None
