"""The report in a real browser: headless Chromium."""

from __future__ import annotations

import os
import time
from itertools import pairwise
from pathlib import Path

import pytest

import report_folder
from browser import PHONE, WIDE, Browser, By, Keys, browser

__all__ = ["browser"]

ROOT = Path(__file__).parents[1]
PUBLISHED = ROOT / "reports/paper/report.html"
THEMES = ("light", "dark")
FIRST = (1440, 900)
SIZES = [(360, 740), PHONE, (768, 1024), (1024, 768), (1100, 800), FIRST]

# For each visible text: its contrast ratio with the background, and the ratio that it needs. The
# background of text in a figure is the page, or a filled rectangle below the text.
CONTRASTS = """
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const channels = (color) => {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = color;
  canvas.fillRect(0, 0, 1, 1);
  const [r, g, b, a] = canvas.getImageData(0, 0, 1, 1).data;
  return [r, g, b, a / 255];
};
const over = (top, below) => [0, 1, 2].map((n) => top[n] * top[3] + below[n] * (1 - top[3]));
const luminance = (color) => {
  const [r, g, b] = color.slice(0, 3).map((value) => {
    const part = value / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
};
const behind = (element) => {
  const layers = [];
  for (let one = element; one; one = one.parentElement) {
    layers.push(channels(getComputedStyle(one).backgroundColor));
  }
  const ground = getComputedStyle(document.documentElement).colorScheme === "dark" ? 0 : 255;
  return layers.reverse().reduce((below, layer) => over(layer, below), [ground, ground, ground]);
};
for (const details of document.querySelectorAll("details")) details.open = true;
const cells = new Map();
const filled = (figure) => {
  if (!cells.has(figure)) {
    const shapes = [...figure.querySelectorAll("rect, path")].filter((shape) => {
      const style = getComputedStyle(shape);
      const numbers = (shape.getAttribute("d") ?? "").match(/-?[\\d.]+/g) ?? [];
      return !["none", ""].includes(style.fill)
        && Number(style.fillOpacity) * Number(style.opacity) === 1
        && !shape.closest("defs, clipPath") && numbers.length <= 10;
    });
    cells.set(figure, shapes.map((shape) => [shape.getBoundingClientRect(), shape]));
  }
  return cells.get(figure);
};
const below = (text) => {
  const box = text.getBoundingClientRect();
  const [x, y] = [box.x + box.width / 2, box.y + box.height / 2];
  const found = filled(text.ownerSVGElement).filter(([cell, shape]) =>
    cell.left <= x && x <= cell.right && cell.top <= y && y <= cell.bottom
    && shape.compareDocumentPosition(text) & Node.DOCUMENT_POSITION_FOLLOWING).at(-1);
  const ground = () => behind(text.ownerSVGElement.parentElement);
  return found ? channels(getComputedStyle(found[1]).fill) : ground();
};
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const texts = [];
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
  if (["SCRIPT", "STYLE"].includes(element.tagName)) continue;
  const drawn = element.closest("svg") !== null;
  if (drawn && !(element instanceof SVGTextContentElement)) continue;
  const style = getComputedStyle(element);
  const ground = drawn ? below(element) : behind(element);
  const pair = [over(channels(drawn ? style.fill : style.color), ground), ground].map(luminance);
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  texts.push({
    text: walker.currentNode.textContent.trim().slice(0, 60),
    drawn,
    ratio: (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05),
    needed: large ? 3 : 4.5,
  });
}
return texts;
"""

# What can be seen of the page reaches beyond its right edge, outside of regions that scroll.
OUTSIDE = """
return [...document.querySelectorAll("main *, .side *")]
  .filter((e) => e.checkVisibility() && !e.closest(".scroll, pre, .hidden, .card, svg"))
  .filter((e) => e.getBoundingClientRect().right > innerWidth + 1)
  .map((e) => e.outerHTML.slice(0, 120));
"""

# For each column of each table: its cells before and after each of three clicks on its header.
SORTED = """
const columns = [];
for (const table of document.querySelectorAll("table.sortable")) {
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, column) => {
    const cells = () => [...table.tBodies[0].rows].map((row) => row.cells[column])
      .map((cell) => cell.dataset.value ?? cell.textContent.trim());
    const one = { numeric: header.classList.contains("numeric"), orders: [cells()], marks: [] };
    for (let click = 0; click < 3; click += 1) {
      header.querySelector("button").click();
      one.orders.push(cells());
      one.marks.push(header.getAttribute("aria-sort"));
    }
    columns.push(one);
  });
}
return columns;
"""


@pytest.fixture(
    scope="module",
    params=[None, PUBLISHED, *filter(None, [os.environ.get("SNAP_REPORT")])],
    ids=lambda value: "made-up" if value is None else "published" if value == PUBLISHED else value,
)
def url(request, tmp_path_factory) -> str:
    """A made-up report, the published one, and that which SNAP_REPORT names, if it is set."""
    if request.param is not None:
        path = Path(request.param).resolve()
        assert path.is_file(), f"SNAP_REPORT names {path}, which does not exist"
        return path.as_uri()
    return made_up(tmp_path_factory)


@pytest.fixture(scope="module")
def small(tmp_path_factory) -> str:
    """The made-up report, for what does not depend on the results."""
    return made_up(tmp_path_factory)


def made_up(tmp_path_factory) -> str:
    return report_folder.build(tmp_path_factory.mktemp("run")).write().as_uri()


def scroll_through(browser: Browser) -> None:
    """Bring every part of the page into view, so that the charts are drawn."""
    browser.run(
        "const done = arguments[0]; const all = [...document.querySelectorAll('section')];"
        "for (const one of all) one.scrollIntoView();"
    )
    for name in ("explore", "develop"):
        browser.run("document.getElementById(arguments[0])?.scrollIntoView()", name)
        deadline = time.monotonic() + 60
        wanted = f"#{name} .explore-chart, #{name} .develop-chart"
        while browser.all(wanted) and not browser.all(f"#{name} svg"):
            assert time.monotonic() < deadline, f"no chart was drawn in #{name}"
            time.sleep(0.1)


@pytest.mark.parametrize("theme", THEMES)
def test_the_page_loads_without_console_messages_or_requests(browser, url, theme):
    browser.open(url, theme=theme)
    scroll_through(browser)
    assert browser.console_messages() == []
    assert {r for r in browser.requests() if not r.startswith("data:")} == {url}


def test_requests_and_console_messages_are_noticed(browser, tmp_path):
    other = tmp_path / "other.html"
    other.write_text("<img src='http://127.0.0.1:9/x.png'>")
    browser.open(other.as_uri())
    assert "http://127.0.0.1:9/x.png" in browser.requests()
    assert browser.console_messages() != []


def test_an_injected_script_does_not_run(browser, small):
    browser.open(small)
    browser.run(
        "const injected = document.createElement('script');"
        "injected.textContent = 'document.title = \"taken\"';"
        "document.body.append(injected);"
        "document.body.insertAdjacentHTML('beforeend',"
        ' \'<img src="data:," alt="" onerror="document.title = 1">\');'
    )
    assert browser.driver.title.startswith("SNAP, reproduced")


@pytest.mark.parametrize("theme", THEMES)
def test_the_first_screen_has_the_question_the_answer_the_verdicts_and_the_figure(
    browser, url, theme
):
    browser.open(url, FIRST, theme)
    shown = ["h1", ".answer", ".verdicts", ".verdicts tbody tr:last-child", ".key"]
    for selector in [*shown, ".headline h2", ".headline .wide svg"]:
        box = browser.one(selector).rect
        assert box["width"] > 100, selector
        assert box["height"] > 10, selector
        assert box["x"] >= 0, selector
        assert box["y"] >= 0, selector
        assert box["x"] + box["width"] <= FIRST[0], selector
        assert box["y"] + box["height"] <= FIRST[1], selector
    assert browser.one("h1").text.endswith("?")
    assert any(character.isdigit() for character in browser.one(".answer").text)


def test_on_a_phone_the_first_screen_is_one_column(browser, url):
    browser.open(url, PHONE)
    boxes = [browser.one(one).rect for one in ("h1", ".answer", ".verdicts", ".headline .narrow")]
    for above, below in pairwise(boxes):
        assert above["y"] + above["height"] <= below["y"] + 1
    for box in boxes:
        assert box["width"] > 0.85 * PHONE[0]


def test_a_verdict_leads_to_its_evidence(browser, url):
    browser.open(url, FIRST)
    cells = browser.all(".verdicts td a")
    assert len(cells) >= 8
    for cell in (cells[0], cells[-1]):
        browser.run("scrollTo(0, 0)")
        target = cell.get_attribute("href").partition("#")[2]
        cell.send_keys(Keys.ENTER)
        box = browser.run(
            "return document.getElementById(arguments[0]).getBoundingClientRect().toJSON()", target
        )
        assert 0 <= box["top"] < FIRST[1] - 100
        assert browser.run("return location.hash") == f"#{target}"


def test_the_marks_on_a_number_line_are_where_their_numbers_are(browser, url):
    """The margins are labelled at their ticks, so each line can be read back as numbers."""
    browser.open(url)
    tests = browser.run(
        "return [...document.querySelectorAll('.test')].map((test) => ({"
        "  ticks: [...test.querySelectorAll('.margin')].map((e) => [e.style.left, e.textContent]),"
        "  rows: [...test.querySelectorAll('.row:not(.axis)')].map((row) => ({"
        "    mean: row.querySelector('.mean')?.style.left, value: row.querySelector('.value')"
        ".textContent, seeds: [...row.querySelectorAll('.seed')].map((e) => [e.style.left,"
        " e.title])}))}))"
    )
    place = lambda left: float(left.removesuffix("%"))  # noqa: E731
    value = lambda text: float(text.replace("−", "-"))  # noqa: E731
    read = 0
    for test in tests:
        if len(test["ticks"]) < 2:
            continue
        (a, one), (b, two) = test["ticks"][:2]
        scale = (value(two) - value(one)) / (place(b) - place(a))
        for row in test["rows"]:
            if row["mean"] is None:
                continue
            marks = [(row["mean"], row["value"]), *row["seeds"]]
            for left, text in marks:
                at = value(one) + scale * (place(left) - place(a))
                assert abs(at - value(text)) < 0.0006 + 0.02 * abs(scale)
                read += 1
    assert read > 10


def test_figures_have_alternative_text_and_a_size(browser, url):
    browser.open(url)
    figures = browser.run(
        "return [...document.querySelectorAll('.card:not(.narrow) > [role=img]')].map((e) =>"
        " [e.getAttribute('aria-label'), e.firstElementChild.getBoundingClientRect().width])"
    )
    assert len(figures) > 10
    for label, width in figures:
        assert len(label.split()) > 3, "a sentence"
        assert width > 200


def test_tables_sort_and_return_to_their_order(browser, url):
    """Each column of each table sorts ascending, then descending, then as it was at first."""
    browser.open(url)
    columns = browser.run(SORTED)
    assert any(column["numeric"] for column in columns)
    for column in columns:
        original, up, down, restored = column["orders"]
        assert restored == original
        assert sorted(up) == sorted(down) == sorted(original)
        assert column["marks"] == ["ascending", "descending", None]
        if column["numeric"]:
            for texts, falling in ((up, False), (down, True)):
                values = [number(text) for text in texts]
                known = [value for value in values if value is not None]
                assert known == sorted(known, reverse=falling)
                assert None not in values[: len(known)], "gaps come last"


def test_sorting_works_by_mouse_and_by_keyboard(browser, small):
    browser.open(small)
    header = browser.one("#protocol table.sortable thead th")
    button = header.find_element(By.TAG_NAME, "button")
    button.click()
    assert header.get_attribute("aria-sort") == "ascending"
    button.send_keys(Keys.ENTER)
    assert header.get_attribute("aria-sort") == "descending"
    button.send_keys(Keys.SPACE)
    assert header.get_attribute("aria-sort") is None


def number(text: str) -> float | None:
    """The number at the start of a cell such as 0.708 ± 0.004, or None."""
    try:
        return float(text.split(" ")[0].replace("−", "-").replace(",", ""))
    except ValueError:
        return None


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", SIZES, ids=lambda size: str(size[0]))
def test_the_page_does_not_scroll_sideways(browser, url, theme, size):
    browser.open(url, size, theme)
    scroll_through(browser)
    browser.run("for (const d of document.querySelectorAll('main details')) d.open = true")
    assert browser.run("return document.documentElement.clientWidth") <= size[0]
    assert browser.run("return document.documentElement.scrollWidth") <= size[0]
    assert browser.run(OUTSIDE) == [], "nothing is cut off either"


def test_what_is_cut_off_is_noticed(browser, small):
    browser.open(small, PHONE)
    browser.run("document.querySelector('.answer').style.width = '600px'")
    assert browser.run(OUTSIDE) != []


def test_figures_are_readable_on_a_phone(browser, url):
    """A figure that is wider than the screen scrolls in its card instead of shrinking."""
    browser.open(url, PHONE)
    cards = browser.run(
        "return [...document.querySelectorAll('.exhibit .card')].map((card) => {"
        " const svg = card.querySelector('svg');"
        " return [svg.getBoundingClientRect().width / svg.viewBox.baseVal.width,"
        "  getComputedStyle(card).overflowX, card.tabIndex]; })"
    )
    assert cards
    for scale, overflow, index in cards:
        assert scale > 1.2, "pixels per point"
        assert (overflow, index) == ("auto", 0)


def test_wide_tables_scroll_in_their_own_region(browser, url):
    browser.open(url, PHONE)
    for table in browser.all(".scroll table"):
        region = table.find_element(By.XPATH, "..")
        assert region.get_attribute("role") == "region"
        assert region.get_attribute("tabindex") == "0"
        assert region.accessible_name


def test_the_first_number_of_a_table_is_visible_on_a_phone(browser, url):
    browser.open(url, PHONE)
    places = browser.run(
        "return [...document.querySelectorAll('.exhibit .scroll table')].map((table) => {"
        " const first = table.tBodies[0].rows[0].querySelector('.numeric');"
        " return [table.closest('article').id, first?.getBoundingClientRect().right ?? 0]; })"
    )
    assert places
    assert [name for name, right in places if right > PHONE[0]] == []


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", [PHONE, WIDE], ids=["phone", "wide"])
def test_text_has_the_contrast_that_wcag_aa_requires(browser, url, theme, size):
    browser.open(url, size, theme)
    scroll_through(browser)
    texts = browser.run(CONTRASTS)
    assert len(texts) > 200
    assert sum(one["drawn"] for one in texts) > 10, "also text in figures"
    faint = [one for one in texts if one["ratio"] < one["needed"]]
    assert faint == [], len(faint)


@pytest.mark.parametrize("selector", [".answer", ".card svg text"])
def test_the_contrast_check_finds_faint_text(browser, small, selector):
    browser.open(small)
    browser.run(
        "const one = document.querySelector(arguments[0]).style; one.color = one.fill = '#999'",
        selector,
    )
    faint = [one for one in browser.run(CONTRASTS) if one["ratio"] < one["needed"]]
    assert faint
    assert 2.8 < faint[0]["ratio"] < 2.9


def test_a_rectangle_below_a_text_counts_as_its_ground(browser, small):
    browser.open(small)
    browser.run(
        "const text = document.querySelector('.card svg text');"
        "const rect = document.createElementNS('http://www.w3.org/2000/svg', 'rect');"
        "for (const [key, value] of Object.entries({x: 0, y: 0, width: 500, height: 300}))"
        "  rect.setAttribute(key, value);"
        "rect.style.fill = '#222'; text.before(rect)"
    )
    assert [one for one in browser.run(CONTRASTS) if one["drawn"] and one["ratio"] < 1.2]


def test_the_theme_follows_the_system_until_the_reader_chooses_one(browser, small):
    background = "return getComputedStyle(document.body).backgroundColor"
    browser.open(small, theme="light")
    light = browser.run(background)
    assert browser.one("#theme").text == "Dark theme"
    browser.one("#theme").click()
    dark = browser.run(background)
    assert dark != light
    assert browser.one("#theme").text == "Light theme"
    browser.driver.refresh()
    assert browser.run(background) == dark, "remembered"
    browser.one("#theme").click()
    assert browser.run(background) == light
    browser.open(small, theme="dark")
    assert browser.run(background) == dark


def test_figures_follow_the_theme(browser, url):
    """They are drawn on the page itself: no white slab in the dark theme."""
    ink = "return getComputedStyle(document.querySelector('.card svg text')).fill"
    browser.open(url, theme="light")
    light = browser.run(ink)
    browser.open(url, theme="dark")
    assert browser.run(ink) != light
    grounds = browser.run(
        "return [...document.querySelectorAll('.card, .card div, .card svg')]"
        ".map((e) => getComputedStyle(e).backgroundColor)"
    )
    assert set(grounds) == {"rgba(0, 0, 0, 0)"}


def test_a_download_has_the_data_of_its_figure(browser, small, tmp_path):
    browser.open(small)
    browser.command("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    link = browser.one("#figure-iid a[download]")
    browser.run("arguments[0].scrollIntoView()", link)
    link.send_keys(Keys.ENTER)
    file = tmp_path / "figure-iid.csv"
    deadline = time.monotonic() + 10
    while not file.exists():
        assert time.monotonic() < deadline, "nothing was downloaded"
        time.sleep(0.05)
    assert file.read_text() == "configuration,λ,mean\nlinear-linear,0.5,0.713\n"


def test_links_within_the_page_have_targets(browser, url):
    browser.open(url)
    lost = browser.run(
        "return [...document.querySelectorAll('a[href^=\"#\"]')]"
        ".filter(a => !document.getElementById(decodeURIComponent(a.hash.slice(1))))"
        ".map(a => a.hash)"
    )
    assert lost == []
    assert len(browser.all("nav a")) > 10


def test_headings_skip_no_level(browser, url):
    browser.open(url)
    levels = browser.run(
        "return [...document.querySelectorAll('h1,h2,h3,h4,h5,h6')].map(h => Number(h.tagName[1]))"
    )
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(after <= before + 1 for before, after in pairwise(levels))


def test_the_contents_fold_on_a_phone_and_are_beside_a_wide_page(browser, url):
    browser.open(url, PHONE)
    link = browser.one("#contents a[href='#provenance']")
    assert not link.is_displayed()
    browser.one("#contents summary").click()
    assert link.is_displayed()
    link.click()
    assert browser.run("return location.hash") == "#provenance"
    assert browser.one("#provenance").rect["y"] - browser.run("return scrollY") < 100
    browser.open(url, FIRST)
    assert browser.shown("#contents a[href='#provenance']") == [True]
    assert not browser.one("#contents summary").is_displayed()


def test_the_whole_page_can_be_reached_by_keyboard(browser, small):
    browser.open(small)
    browser.one("body").send_keys(Keys.TAB)
    assert browser.focused().get_attribute("class") == "skip"
    assert browser.focused().rect["y"] >= 0
    browser.press(Keys.ENTER)
    assert browser.focused().get_attribute("id") == "main"
    reached = set()
    for _ in range(400):
        browser.press(Keys.TAB)
        one = browser.focused()
        reached.add(browser.run("return arguments[0].closest('section')?.id ?? 'none'", one))
        if one.tag_name == "summary" and "config" in browser.run(
            "return arguments[0].parentElement.className", one
        ):
            break
        shown = browser.run("return getComputedStyle(arguments[0]).outlineStyle", one)
        assert shown != "none", browser.run("return arguments[0].outerHTML.slice(0, 200)", one)
    assert {"top", "claims", "explore", "develop", "tables", "provenance"} <= reached


def test_claims_that_cannot_be_tested_unfold(browser, small):
    browser.open(small, FIRST)
    claim = browser.one("#claim-before")
    assert not claim.is_displayed()
    browser.one("#untested summary").click()
    assert claim.is_displayed()


def test_the_page_is_complete_without_scripts(browser, url):
    browser.open(url)
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.driver.get(url)
        for selector in (".card svg", ".verdicts", ".test", "table.sortable", "nav a"):
            assert browser.all(selector), selector
            assert any(browser.shown(selector)), selector
        assert not browser.one("#theme").is_displayed()
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)


def test_the_printed_page_is_light_and_complete_and_has_no_controls(browser, small):
    browser.open(small, theme="dark")
    browser.command("Emulation.setEmulatedMedia", media="print")
    try:
        assert (
            browser.run("return getComputedStyle(document.body).backgroundColor")
            == "rgb(255, 255, 255)"
        )
        for selector in ("#claim-before", "details.config pre", ".gaps li"):
            height = browser.run(
                "return document.querySelector(arguments[0]).getBoundingClientRect().height",
                selector,
            )
            assert height > 10, f"{selector} is folded"
        for selector in (".side", "#theme", ".explore-form"):
            assert not any(one.is_displayed() for one in browser.all(selector)), selector
    finally:
        browser.command("Emulation.setEmulatedMedia", media="")
