"""A figure as part of the page: only shapes and text of its SVG are kept, with ids of its own."""

import re
import xml.etree.ElementTree as ET
from html import escape
from pathlib import Path

from experiments.figures.labels import CELL
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
MIN_SCALE = 0.63  # of a figure's natural size: smaller, its labels cannot be read, so it scrolls in its box
MAX_SCALE = 1.25


def inline(path: Path, prefix: str) -> str:
    """The figure as an SVG element that is safe to put into a page, even if it is not ours.

    Args:
        path: an SVG file.
        prefix: of all ids, so that those of several figures differ.

    Raises:
        InputError: the file is not an SVG figure of ours.
    """
    try:
        root = ET.parse(path).getroot()
    except (ET.ParseError, OSError, ValueError) as error:
        raise InputError(f"{path} cannot be read ({str(error).splitlines()[0]})") from None
    size = SIZE.fullmatch(root.get("viewBox", ""))
    if _name(root.tag) != "svg" or size is None:
        raise InputError(f"{path} is not a figure of ours")
    width = float(size[1]) * POINT
    title = escape(path.stem.replace("_", " "))
    style = f"min-width:{MIN_SCALE * width:.0f}px;width:{MAX_SCALE * width:.0f}px"
    inside = "".join(_element(child, prefix) for child in root)
    return f'<svg viewBox="{size[0]}" role="img" aria-label="{title}" style="{style}">{inside}</svg>'


def _element(element: ET.Element, prefix: str) -> str:
    name = _name(element.tag)
    if name not in SHAPES:
        return ""
    attributes = "".join(
        f' {_name(key)}="{escape(value)}"'
        for key, given in element.attrib.items()
        if (value := _value(_name(key), given, prefix)) is not None
    )
    own = element.get("id", "")
    if own.startswith(CELL):  # several shapes show one cell, so that this is no id
        attributes += f' data-cell="{escape(own.removeprefix(CELL))}"'
    inner = escape(element.text or "").strip() if name in ("text", "tspan", "title", "desc") else ""
    inner += "".join(_element(child, prefix) for child in element)
    return f"<{name}{attributes}>{inner}</{name}>" if inner else f"<{name}{attributes}/>"


def _value(key: str, value: str, prefix: str) -> str | None:
    """An attribute's value with prefixed ids; None for event handlers and references to other files."""
    if key.lower().startswith("on"):
        return None
    if key == "id":
        return None if value.startswith(CELL) else prefix + value
    if key == "href":
        if value.startswith("data:image/png;base64,"):
            return "".join(value.split())
        return f"#{prefix}{value[1:]}" if value.startswith("#") else None
    value = " ".join(value.split())
    value = re.sub(r"url\(\s*#", f"url(#{prefix}", value)
    return None if re.search(r"url\((?!#)|image-set|\\", value) else value


def _name(qualified: object) -> str:
    """The name without its namespace; a comment has none."""
    return qualified.rpartition("}")[2] if isinstance(qualified, str) else ""
