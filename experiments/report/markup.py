"""HTML in which text is escaped unless it was made here."""

import json
from collections.abc import Iterable
from html import escape
from typing import Any

VOID = {"link", "meta"}


class Markup(str):
    """Text that is HTML already."""

    __slots__ = ()


def tag(name: str, *children: str, **attributes: str | int | bool | None) -> Markup:
    """An element. An attribute drops its trailing underscore, other ones become hyphens; None and False omit it."""
    told = "".join(
        f" {_attribute(key)}" if value is True else f' {_attribute(key)}="{escape(str(value))}"'
        for key, value in attributes.items()
        if value is not None and value is not False
    )
    if name in VOID and not children:
        return Markup(f"<{name}{told}>")
    return Markup(f"<{name}{told}>{join(children)}</{name}>")


def _attribute(key: str) -> str:
    return key.removesuffix("_").replace("_", "-")


def join(parts: Iterable[str], between: str = "") -> Markup:
    """The parts one after the other, each escaped if it is plain text."""
    return Markup(between.join(part if isinstance(part, Markup) else escape(part) for part in parts))


def data_block(identifier: str, content: Any) -> Markup:
    """Data for the page's script, as JSON that no content can break out of."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    safe = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    return tag("script", Markup(safe), type="application/json", id=identifier)
