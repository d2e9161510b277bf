"""The atlas in a real browser, at the width of a desk and of a phone."""

import pytest
from helpers.browser import Page, chromium

from experiments.analysis.claims import by_parts
from experiments.analysis.statistics import Interval
from experiments.report import atlas

pytestmark = pytest.mark.slow

FIGURE = (
    '<svg width="400" height="250" viewBox="0 0 400 250"><rect width="400" height="250" fill="red"/></svg>'
)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """One judged claim with more numbers than are shown; the others wait."""
    waiting = atlas.gather([])
    parts = {
        f"part {i} of a claim with rather many words": holds for i, holds in enumerate((True, False, None))
    }
    judged = waiting[0]._replace(
        judgement=by_parts(parts, "Something was seen."),
        numbers={f"a number with a long name, spread {i}": Interval(1.0, 0.9, 1.1) for i in range(12)},
        figure=FIGURE,
        caption="A caption.",
    )
    path = tmp_path_factory.mktemp("atlas") / "atlas.html"
    path.write_text(atlas.render([judged, *waiting[1:]]))
    return path


def test_figure_first_then_a_sentence_then_numbers_and_nothing_sticks_out(page, tmp_path):
    with chromium(tmp_path) as browser:
        for width, dark in ((1280, False), (390, True)):
            shown = Page(browser, page, width=width, dark=dark)
            assert shown.run("document.documentElement.scrollWidth") <= width
            tops = [
                shown.run(f"document.querySelector('article {part}').getBoundingClientRect().top")
                for part in ("figure", ".verdict", ".parts", ".numbers")
            ]
            assert tops == sorted(tops)
            assert (
                shown.run("document.querySelectorAll('article > div > .numbers > div').length") == atlas.SHOWN
            )
            assert not shown.complaints()
            assert not shown.fetched()
            shown.close()
