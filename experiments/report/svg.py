"""A figure's SVG made part of the page: only shapes and text go in, under names of its own."""

import re
import xml.etree.ElementTree as ET
from html import escape
from pathlib import Path

from experiments.report.markup import Markup, tag
from samplers.errors import InputError

SHAPES = {
    "g",
    "path",
    "use",
    "defs",
    "clipPath",
    "rect",
    "text",
    "tspan",
    "circle",
    "ellipse",
    "line",
    "polyline",
}
SHAPES |= {"polygon", "image", "title", "desc", "linearGradient", "stop", "pattern", "marker"}
SIZE = re.compile(r"0 0 ([\d.]+) ([\d.]+)")
POINT = 4 / 3  # CSS pixels
LEAST = 0.63  # of a figure's natural size: smaller, its labels cannot be read, so it scrolls in its box
MOST = 1.25


def inline(path: Path, prefix: str) -> Markup:
    """The figure as an element. It is our own, yet trusted no more than anybody's: InputError where it is no SVG."""
    try:
        root = ET.parse(path).getroot()
    except (ET.ParseError, OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({str(error).splitlines()[0]})") from None
    size = SIZE.fullmatch(root.get("viewBox", ""))
    if _name(root.tag) != "svg" or size is None:
        raise InputError(f"{path} is not a figure of ours")
    width = float(size[1]) * POINT
    title = path.stem.replace("_", " ")
    opening = tag(
        "svg",
        Markup("\0"),
        viewBox=size[0],
        role="img",
        aria_label=title,
        style=f"min-width:{LEAST * width:.0f}px;width:{MOST * width:.0f}px",
    )
    return Markup(opening.replace("\0", "".join(_element(child, prefix) for child in root)))


def _element(element: ET.Element, prefix: str) -> str:
    name = _name(element.tag)
    if name not in SHAPES:
        return ""
    attributes = "".join(
        f' {_name(key)}="{escape(value)}"'
        for key, given in element.attrib.items()
        if (value := _value(_name(key), given, prefix)) is not None
    )
    inner = escape(element.text or "").strip() if name in ("text", "tspan", "title", "desc") else ""
    inner += "".join(_element(child, prefix) for child in element)
    return f"<{name}{attributes}>{inner}</{name}>" if inner else f"<{name}{attributes}/>"


def _value(key: str, value: str, prefix: str) -> str | None:
    """An attribute's value with names made the figure's own; None for what acts or points outside."""
    if key.lower().startswith("on"):
        return None
    if key == "id":
        return prefix + value
    if key == "href":
        if value.startswith("data:image/png;base64,"):
            return "".join(value.split())
        return f"#{prefix}{value[1:]}" if value.startswith("#") else None
    value = " ".join(value.split())
    value = re.sub(r"url\(\s*#", f"url(#{prefix}", value)
    return None if re.search(r"url\((?!#)|image-set|\\", value) else value


def _name(qualified: object) -> str:
    """Without the namespace; a comment has no name."""
    return qualified.rpartition("}")[2] if isinstance(qualified, str) else ""
