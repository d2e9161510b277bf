"""The report in a real browser, with a mouse, a keyboard, or the width of a phone."""

import re

import pytest
from helpers.browser import Page, chromium
from helpers.stored_study import store, write


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    with chromium(tmp_path_factory.mktemp("profile")) as running:
        yield running


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    folder = tmp_path_factory.mktemp("report") / "study"
    title = "A <b>study</b></script> with a name that is longer than a phone is wide: " + "wide" * 20
    samplers = ("exact", "mala", "sgld", "nuts")
    failed = {"sgld": "x" * 300}
    return write(store(folder, failed=failed, samplers=samplers, title=title))


@pytest.fixture
def page(browser, report):
    opened = Page(browser, report)
    yield opened
    assert opened.complaints() == []
    assert opened.fetched() == set()
    opened.close()


BARS = "[...document.querySelectorAll('#actions rect')].map((bar) => bar.getAttribute('height')).join()"
TRACES = "[...document.querySelectorAll('#trace path')].map((path) => path.getAttribute('d')).join()"


def pick(page: Page, control: str, value: str) -> None:
    page.run(
        f"(() => {{ const control = document.getElementById('{control}'); control.value = '{value}';"
        "control.dispatchEvent(new Event('change')); })()"
    )


def options(page: Page, control: str) -> list[str]:
    return page.run(f"[...document.getElementById('{control}').options].map((option) => option.value)")


def test_the_title_is_shown_as_it_was_written(page):
    assert page.run("document.querySelector('h1').textContent").startswith("A <b>study</b></script> with")


def test_the_picker_shows_another_sampler_and_another_round(page):
    assert page.run("document.querySelectorAll('#actions rect[data-series=exact]').length") == 8
    seen = set()
    for cell in options(page, "pick-cell"):
        pick(page, "pick-cell", cell)
        assert options(page, "pick-round") == ["2", "5", "12"]
        for t in ("2", "5", "12"):
            pick(page, "pick-round", t)
            assert f"round {t}, run 0: total variation" in page.run(
                "document.getElementById('round-summary').textContent"
            )
            seen.add((page.run(BARS), page.run(TRACES)))
            summary = page.run("document.getElementById('round-summary').textContent")
            assert re.search(
                r"total variation to exact [\d.]+ \([\d.]+ for equal distributions\)\.$", summary
            )
    assert len(options(page, "pick-cell")) == 6  # what failed was not diagnosed
    assert len(seen) == 18


def test_the_coordinate_can_be_chosen_and_is_kept(page):
    before = page.run(TRACES)
    last = options(page, "pick-coordinate")[-1]
    pick(page, "pick-coordinate", last)
    assert page.run(TRACES) != before
    pick(page, "pick-round", "12")
    assert page.run("document.getElementById('pick-coordinate').value") == last
    assert page.run("document.querySelectorAll('#ranks rect').length") == 4 * 20


def test_the_keyboard_is_enough_for_the_picker(page):
    pick(page, "pick-round", "5")
    page.run("document.getElementById('pick-round').focus()")
    before = page.run(BARS)
    page.press("ArrowUp", 38)
    assert page.run("document.getElementById('pick-round').value") == "2"
    assert page.run(BARS) != before


HOVER = "document.querySelectorAll('svg [data-cell].on').length"
SHOWN = "document.querySelectorAll('#results tbody tr:not(.filtered)').length"


def test_hovering_a_shape_highlights_its_cell_everywhere_and_names_it(page):
    assert page.run(HOVER) == 0
    page.run(
        "(() => { const dot = document.querySelector('#answer svg [data-cell]');"
        "dot.dispatchEvent(new MouseEvent('mousemove', { bubbles: true, clientX: 50, clientY: 50 })); })()"
    )
    cell = page.run("document.querySelector('#answer svg [data-cell]').dataset.cell")
    assert page.run(f"[...document.querySelectorAll('.on')].every((node) => node.dataset.cell === '{cell}')")
    assert page.run("document.querySelectorAll('#figures svg .on').length") > 0
    assert page.run("document.querySelectorAll('#results tr.on').length") == 1
    assert "gap to exact" in page.run("document.getElementById('tip').textContent")
    page.run("document.body.dispatchEvent(new MouseEvent('mousemove', { bubbles: true }))")
    assert page.run(HOVER) == 0
    assert page.run("document.getElementById('tip').hidden")


def test_a_filter_hides_cells_in_figures_and_tables(page):
    assert page.run(SHOWN) == 6 + 2  # what failed has no settings to filter by
    pick(page, "filter-2", "mala")
    assert page.run(SHOWN) == 2 + 2
    hidden = page.run("document.querySelectorAll('svg [data-cell].filtered').length")
    assert 0 < hidden < page.run("document.querySelectorAll('svg [data-cell]').length")
    assert page.run("document.getElementById('filter-count').textContent") == "2 of 6 cells shown"
    pick(page, "filter-2", "")
    assert page.run(SHOWN) == 6 + 2


def test_a_click_on_a_point_shows_the_rounds_of_its_cell(page):
    before = page.run("document.getElementById('round-summary').textContent")
    page.run(
        "(() => { const dots = [...document.querySelectorAll('#answer svg [data-cell]')];"
        "const other = dots.find((dot) => dot.dataset.cell.startsWith('dense')) || dots[0];"
        "other.dispatchEvent(new MouseEvent('click', { bubbles: true })); })()"
    )
    after = page.run("document.getElementById('round-summary').textContent")
    assert " on dense, " in after
    assert before


def test_the_round_view_opens_on_the_worst_round(page):
    excess = (
        "JSON.parse(document.getElementById('rounds-data').textContent).cells.filter((cell) => cell.label !== 'exact')"
        ".flatMap((cell) => cell.rounds.map((one) => [one.metrics.total_variation - one.metrics.total_variation_floor,"
        " `${cell.label} on ${cell.panel}, round ${one.round},`])).sort((a, b) => b[0] - a[0])[0][1]"
    )
    assert page.run("document.getElementById('round-summary').textContent").startswith(page.run(excess))


def column(page: Page, index: int) -> list[str]:
    return page.run(
        f"[...document.querySelectorAll('#results tbody tr')].map((row) => row.cells[{index}].textContent)"
    )


def unfold(page: Page) -> None:
    page.run("document.querySelectorAll('details').forEach((details) => { details.open = true; })")


def test_tables_sort_by_mouse_and_keyboard_and_set_aria_sort(page):
    unfold(page)
    headings = page.run("[...document.querySelectorAll('#results thead th')].map((th) => th.textContent)")
    at = headings.index("regret")
    heading = f"document.querySelectorAll('#results thead th')[{at}]"
    page.run(f"{heading}.querySelector('button').click()")
    assert page.run(f"{heading}.getAttribute('aria-sort')") == "ascending"
    rising = column(page, at)
    numbers = [float(text.split()[0]) for text in rising if text != "–"]
    assert numbers == sorted(numbers)
    assert rising[-2:] == ["–", "–"]
    page.run(f"{heading}.querySelector('button').focus()")
    page.press("Enter", 13, "\r")
    assert page.run(f"{heading}.getAttribute('aria-sort')") == "descending"
    falling = [float(text.split()[0]) for text in column(page, at) if text != "–"]
    assert falling == sorted(falling, reverse=True)
    assert column(page, at)[-2:] == ["–", "–"]
    page.run("document.querySelector('#results thead th button').focus()")
    page.press(" ", 32, " ")
    names = column(page, 0)
    assert names == sorted(names)
    assert page.run("document.querySelectorAll('#results [aria-sort]:not([aria-sort=none])').length") == 1


def test_an_infinite_value_sorts_as_the_largest(browser, tmp_path):
    page = Page(browser, write(store(tmp_path / "study", probes=(5,))))
    headings = page.run("[...document.querySelectorAll('#quality thead th')].map((th) => th.textContent)")
    at = headings.index("R\u2011hat")
    page.run(f"document.querySelectorAll('#quality thead button')[{at}].click()")
    shown = page.run(
        f"[...document.querySelectorAll('#quality tbody tr')].map((row) => row.cells[{at}].textContent)"
    )
    assert shown == ["1.01"] * 4 + ["∞"] * 2
    assert page.complaints() == []


@pytest.mark.parametrize("width", [360, 768, 1280])
def test_the_page_never_scrolls_sideways_and_figures_stay_legible(browser, report, width):
    page = Page(browser, report, width=width)
    unfold(page)
    assert page.run("document.documentElement.scrollWidth") <= width
    for box in (
        "#results .scroll",
        "#cost .scroll",
        "#association .scroll",
        "#by-round .scroll",
        "#figures .scroll",
    ):
        assert page.run(f"document.querySelector('{box}').getBoundingClientRect().right") <= width
    sizes = page.run(
        "[...document.querySelectorAll('#figures svg text')].map((text) => text.getBoundingClientRect().height)"
    )
    assert min(size for size in sizes if size) >= 8
    assert page.complaints() == []


def test_every_control_can_be_reached_and_shows_its_focus(page):
    reached = []
    unfold(page)
    page.run("document.body.focus()")
    for _ in range(400):
        page.press("Tab", 9)
        reached.append(page.run("document.activeElement.id || document.activeElement.textContent"))
        if reached[-1] == "regret":
            break
    assert {"Skip to the answer", "filter-1", "regret", "pick-cell", "pick-round", "pick-coordinate"} <= set(
        reached
    )
    assert page.run("getComputedStyle(document.activeElement).outlineStyle") != "none"
