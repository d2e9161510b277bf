"""The elements and the embedded data of a report."""

import json
import re
from html.parser import HTMLParser


class Elements(HTMLParser):
    """All elements of a page with their attributes, and the text of some."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.seen: list[tuple[str, dict[str, str | None]]] = []
        self.texts: dict[str, list[str]] = {}
        self.within: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        self.seen.append((tag, dict(attrs)))
        self.within.append(tag)
        self.texts.setdefault(tag, []).append("")

    def handle_endtag(self, tag):
        while self.within and self.within.pop() != tag:
            pass

    def handle_data(self, data):
        if self.within:
            self.texts[self.within[-1]][-1] += data

    def named(self, tag: str) -> list[dict[str, str | None]]:
        return [attributes for name, attributes in self.seen if name == tag]


def embedded(page: str) -> dict:
    """The data of the round view."""
    (text,) = re.findall(r'<script type="application/json" id="rounds-data">(.*?)</script>', page)
    return json.loads(text)
