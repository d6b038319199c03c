"""The report in a real browser: headless Chromium."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import report_folder
from snap.report import page

webdriver = pytest.importorskip(
    "selenium.webdriver", reason="selenium is missing: pip install -e '.[dev]'"
)
from selenium.webdriver.chrome.service import Service  # noqa: E402
from selenium.webdriver.common.by import By  # noqa: E402
from selenium.webdriver.common.keys import Keys  # noqa: E402

WIDE, PHONE = (1280, 900), (390, 844)
FLAGS = "--headless=new --no-sandbox --disable-gpu --disable-background-networking".split()
THEMES = ("light", "dark")

# For each visible text: its contrast ratio with the background, and the ratio that it needs.
CONTRASTS = """
const channels = (text) => text.match(/[\\d.]+/g).map(Number);
const over = (top, below) => {
  const a = top[3] ?? 1;
  return [0, 1, 2].map((n) => top[n] * a + below[n] * (1 - a));
};
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
  const canvas = getComputedStyle(document.documentElement).colorScheme === "dark" ? 0 : 255;
  return layers.reverse().reduce((below, layer) => over(layer, below), [canvas, canvas, canvas]);
};
for (const details of document.querySelectorAll("details")) details.open = true;
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
const texts = [];
while (walker.nextNode()) {
  const element = walker.currentNode.parentElement;
  if (!walker.currentNode.textContent.trim() || !element.checkVisibility()) continue;
  if (["SCRIPT", "STYLE"].includes(element.tagName)) continue;
  const style = getComputedStyle(element);
  const ground = behind(element);
  const pair = [over(channels(style.color), ground), ground].map(luminance);
  const size = parseFloat(style.fontSize);
  const large = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700);
  texts.push({
    text: walker.currentNode.textContent.trim().slice(0, 60),
    ratio: (Math.max(...pair) + 0.05) / (Math.min(...pair) + 0.05),
    needed: large ? 3 : 4.5,
  });
}
return texts;
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


class Browser:
    """A page in Chromium."""

    def __init__(self, driver: Any) -> None:
        self.driver = driver

    def open(self, url: str, size: tuple[int, int] = WIDE, theme: str = "light") -> None:
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        width, height = size
        # Chromium's window cannot be as narrow as a phone, so emulate the size.
        self.command(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        # Without smooth scrolling, an element is in view at once.
        preferences = {"prefers-color-scheme": theme, "prefers-reduced-motion": "reduce"}
        features = [{"name": name, "value": value} for name, value in preferences.items()]
        self.command("Emulation.setEmulatedMedia", features=features)
        self.driver.get(url)
        self.run("localStorage.clear()")
        self.driver.refresh()

    def command(self, name: str, **arguments: Any) -> Any:
        return self.driver.execute_cdp_cmd(name, arguments)

    def run(self, script: str, *arguments: Any) -> Any:
        return self.driver.execute_script(script, *arguments)

    def all(self, selector: str) -> list[Any]:
        return self.driver.find_elements(By.CSS_SELECTOR, selector)

    def one(self, selector: str) -> Any:
        return self.driver.find_element(By.CSS_SELECTOR, selector)

    def press(self, key: str) -> None:
        self.driver.switch_to.active_element.send_keys(key)

    def focused(self) -> Any:
        return self.run("return document.activeElement")

    def requests(self) -> list[str]:
        messages = [json.loads(e["message"])["message"] for e in self.driver.get_log("performance")]
        return [
            message["params"]["request"]["url"]
            for message in messages
            if message["method"] == "Network.requestWillBeSent"
        ]

    def console_messages(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    chromedriver = shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        missing = "Chromium is missing: on Debian, apt-get install chromium chromium-driver"
        if os.environ.get("CI"):
            pytest.fail(missing)
        pytest.skip(missing)
    options = webdriver.ChromeOptions()
    options.binary_location = chromium
    for flag in FLAGS:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    # Given the path of a driver, selenium does not download one.
    driver = webdriver.Chrome(options=options, service=Service(executable_path=chromedriver))
    yield Browser(driver)
    driver.quit()


@pytest.fixture(
    scope="module",
    params=[None, *filter(None, [os.environ.get("SNAP_REPORT")])],
    ids=lambda value: value or "made-up",
)
def url(request, tmp_path_factory) -> str:
    """A made-up report, and the report that SNAP_REPORT names, if it is set."""
    if request.param is not None:
        path = Path(request.param).resolve()
        assert path.is_file(), f"SNAP_REPORT names {path}, which does not exist"
        return path.as_uri()
    run = report_folder.build(tmp_path_factory.mktemp("run"))
    page.write(run.folder, run.page, page.Contents(run.figures, run.tables))
    return run.page.as_uri()


@pytest.mark.parametrize("theme", THEMES)
def test_the_page_loads_without_console_messages_or_requests(browser, url, theme):
    browser.open(url, theme=theme)
    assert browser.run("return document.documentElement.classList.contains('ready')")
    assert browser.console_messages() == []
    assert {r for r in browser.requests() if not r.startswith("data:")} == {url}


def test_requests_and_console_messages_are_noticed(browser, tmp_path):
    other = tmp_path / "other.html"
    other.write_text("<img src='http://127.0.0.1:9/x.png'>")
    browser.open(other.as_uri())
    assert "http://127.0.0.1:9/x.png" in browser.requests()
    assert browser.console_messages() != []


def test_an_injected_script_does_not_run(browser, url):
    browser.open(url)
    browser.run(
        "const injected = document.createElement('script');"
        "injected.textContent = 'document.title = \"taken\"';"
        "document.body.append(injected);"
        "document.body.insertAdjacentHTML('beforeend',"
        ' \'<img src="data:," alt="" onerror="document.title = 1">\');'
    )
    assert browser.driver.title.startswith("SNAP, reproduced")


def test_every_image_has_loaded_and_has_alternative_text(browser, url):
    browser.open(url)
    images = browser.run(
        "return [...document.images].map(i => [i.naturalWidth, i.alt, i.complete])"
    )
    assert images
    for width, alternative, complete in images:
        assert width > 0
        assert complete
        assert len(alternative.split()) > 3, "a sentence"


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


def test_sorting_works_by_mouse_and_by_keyboard(browser, url):
    browser.open(url)
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


@pytest.mark.parametrize("way", ["mouse", Keys.ENTER, Keys.SPACE])
def test_figures_enlarge_and_focus_returns(browser, url, way):
    browser.open(url)
    button = browser.all(".enlarge")[1]
    if way == "mouse":
        button.click()
    else:
        button.send_keys(way)
    shown = browser.one("#viewer[open] img")
    source = browser.all(".card img")[1]
    assert shown.get_attribute("src") == source.get_attribute("src")
    assert shown.get_attribute("alt") == source.get_attribute("alt")
    assert shown.rect["width"] > 0
    assert browser.one("#viewer").accessible_name
    browser.press(Keys.ESCAPE)
    assert browser.all("#viewer[open]") == []
    assert browser.focused() == button


def test_the_viewer_steps_through_the_figures_and_wraps_around(browser, url):
    browser.open(url)
    sources = [image.get_attribute("alt") for image in browser.all(".card img")]
    browser.all(".enlarge")[0].click()
    shown = lambda: browser.one("#viewer img").get_attribute("alt")  # noqa: E731
    assert shown() == sources[0]
    browser.press(Keys.ARROW_RIGHT)
    assert shown() == sources[1]
    browser.press(Keys.ARROW_LEFT)
    browser.press(Keys.ARROW_LEFT)
    assert shown() == sources[-1]
    browser.one("[data-step='1']").click()
    assert shown() == sources[0]
    browser.one("[data-close]").click()
    assert browser.all("#viewer[open]") == []


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", [PHONE, (768, 1024), WIDE])
def test_the_page_does_not_scroll_sideways(browser, url, theme, size):
    browser.open(url, size, theme)
    browser.run("for (const d of document.querySelectorAll('main details')) d.open = true")
    assert browser.run("return document.documentElement.clientWidth") <= size[0]
    assert browser.run("return document.documentElement.scrollWidth") <= size[0]
    outside = browser.run(
        "return [...document.querySelectorAll('main *, header *, .side *')]"
        ".filter(e => e.checkVisibility() && !e.closest('.scroll, pre, .hidden, svg'))"
        ".filter(e => e.getBoundingClientRect().right > innerWidth + 1)"
        ".map(e => e.outerHTML.slice(0, 120))"
    )
    assert outside == [], "nothing is cut off either"


def test_wide_tables_scroll_in_their_own_region(browser, url):
    browser.open(url, PHONE)
    for table in browser.all("table"):
        region = table.find_element(By.XPATH, "..")
        assert region.get_attribute("role") == "region"
        assert region.get_attribute("tabindex") == "0"
        assert region.accessible_name


@pytest.mark.parametrize("theme", THEMES)
@pytest.mark.parametrize("size", [PHONE, WIDE])
def test_text_has_the_contrast_that_wcag_aa_requires(browser, url, theme, size):
    browser.open(url, size, theme)
    texts = browser.run(CONTRASTS)
    assert len(texts) > 200
    assert [one for one in texts if one["ratio"] < one["needed"]] == []


def test_the_contrast_check_finds_faint_text(browser, url):
    browser.open(url)
    browser.run("document.querySelector('.lead').style.color = '#999'")
    faint = [one for one in browser.run(CONTRASTS) if one["ratio"] < one["needed"]]
    assert faint
    assert 2.8 < faint[0]["ratio"] < 2.9


def test_the_theme_follows_the_system_until_the_reader_chooses_one(browser, url):
    background = "return getComputedStyle(document.body).backgroundColor"
    browser.open(url, theme="light")
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
    browser.open(url, theme="dark")
    assert browser.run(background) == dark


def test_figures_stay_on_white_in_the_dark_theme(browser, url):
    browser.open(url, theme="dark")
    for card in browser.all(".card"):
        assert card.value_of_css_property("background-color") == "rgba(255, 255, 255, 1)"


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
    assert not link.is_displayed()
    assert browser.run("return location.hash") == "#provenance"
    browser.open(url)
    assert browser.one("#contents a[href='#provenance']").is_displayed()
    assert not browser.one("#contents summary").is_displayed()


def test_the_first_tab_offers_to_skip_to_the_results(browser, url):
    browser.open(url)
    browser.one("body").send_keys(Keys.TAB)
    assert browser.focused().get_attribute("class") == "skip"
    assert browser.focused().rect["y"] >= 0
    browser.press(Keys.ENTER)
    assert browser.focused().get_attribute("id") == "main"


def test_details_of_all_claims_open_at_once(browser, url):
    browser.open(url)
    details = browser.all(".scorecard details")
    browser.one("#expand").click()
    assert all(one.get_attribute("open") for one in details)
    browser.one("#expand").click()
    assert not any(one.get_attribute("open") for one in details)


def test_the_page_is_complete_without_scripts(browser, url):
    browser.command("Emulation.setScriptExecutionDisabled", value=True)
    try:
        browser.driver.get(url)
        for selector in (".card img", ".scorecard", "table.sortable", "nav a"):
            assert all(one.is_displayed() for one in browser.all(selector)), selector
        for selector in (".enlarge", "#theme", "#expand", "#viewer"):
            assert not any(one.is_displayed() for one in browser.all(selector)), selector
    finally:
        browser.command("Emulation.setScriptExecutionDisabled", value=False)


def test_the_printed_page_is_light_and_complete_and_has_no_controls(browser, url):
    browser.open(url, theme="dark")
    browser.run("dispatchEvent(new Event('beforeprint'))")
    browser.command("Emulation.setEmulatedMedia", media="print")
    try:
        assert (
            browser.run("return getComputedStyle(document.body).backgroundColor")
            == "rgb(255, 255, 255)"
        )
        assert all(one.get_attribute("open") for one in browser.all("main details"))
        for selector in (".side", ".enlarge", "#expand", "#viewer"):
            assert not any(one.is_displayed() for one in browser.all(selector)), selector
        browser.run("dispatchEvent(new Event('afterprint'))")
        assert not any(one.get_attribute("open") for one in browser.all("main details"))
    finally:
        browser.command("Emulation.setEmulatedMedia", media="")
