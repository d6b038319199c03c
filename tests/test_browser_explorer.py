"""The explorer and the developing weights in Chromium, on a page with the report's policy."""

from __future__ import annotations

import base64
import hashlib
import time

import pandas as pd
import pytest
from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.keys import Keys

from browser import PHONE, WIDE, browser
from little_run import as_in_the_paper, rows_of
from snap.pipeline import snapshots
from snap.report import bundle, development, explorer
from snap.report.figures.style import contrast
from snap.report.frames import Tables
from test_explorer import PUBLISHED, RUNS, STYLE, changed, freezing, made, trial

__all__ = ["browser"]

WIDTHS = (360, 390, 768, 1024, 1100, 1440)
POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'sha256-{}'"
PAGE = """
{% import "explorer.html" as parts %}
<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>Explorer</title>
<meta http-equiv="Content-Security-Policy" content="{{ policy }}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<style>
:root { color-scheme: light dark; --ground: light-dark(#ffffff, #14171c);
  --raised: light-dark(#f6f7f9, #1c2128); --line: light-dark(#dfe3e8, #333a45);
  --ink: light-dark(#1b222c, #e6e9ee); --soft: light-dark(#566070, #a6afbd);
  --accent: light-dark(#1d4f91, #93bbf5); --tint: light-dark(#eaf0f8, #202c3d); }
:root[data-theme="light"] { color-scheme: light; }
:root[data-theme="dark"] { color-scheme: dark; }
[hidden] { display: none !important; }
*, *::before, *::after { box-sizing: border-box; }
figure { margin: 0; }
body { margin: 0 1rem; background: var(--ground); color: var(--ink); font: 1rem/1.5 sans-serif; }
{{ style }}</style></head><body>
<h2 id="claim-first">A claim</h2>
{% if explored %}<section id="explore">{{ parts.explorer(explored) }}</section>{% endif %}
{% if developed %}<section id="develop">{{ parts.development(developed) }}</section>{% endif %}
<script>{{ script }}</script></body></html>
"""
ITEMS = """
  const found = [];
  const walk = (mark) => {
    for (const item of mark.items) {
      if (mark.role === "mark" && mark.marktype === arguments[1]) found.push(item);
      (item.items ?? []).forEach(walk);
    }
  };
  walk(snapViews[arguments[0]].scenegraph().root);
"""


def page(path, explored=None, developed=None):
    loader = PackageLoader("snap.report", "template")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    script = bundle.script()
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    text = environment.from_string(PAGE).render(
        policy=POLICY.format(digest),
        style=Markup(loader.get_source(environment, "explorer.css")[0]),
        script=Markup(script),
        explored=explored,
        developed=developed,
    )
    path.write_text(text)
    return path.as_uri()


@pytest.fixture(scope="module")
def url(tmp_path_factory):
    """A page with the published run, and with neurons that freeze one by one."""
    folder = tmp_path_factory.mktemp("explorer")
    paths = {name: folder / f"{name}.snapshots.npz" for name in ("MNIST", "FashionMNIST")}
    names = ("sigmoid-linear-neuron", "linear-linear", "sigmoid-sigmoid-synapse")
    for path in paths.values():
        snapshots.write(path, {trial(name): freezing() for name in names})
    explored = explorer.content(Tables(PUBLISHED), STYLE)
    return page(folder / "page.html", explored, development.content(paths, STYLE))


def wait(browser, condition, *arguments, seconds=60):
    """Wait for an expression in JavaScript to be true."""
    end = time.monotonic() + seconds
    while not browser.run(f"return {condition}", *arguments):
        assert time.monotonic() < end, f"not within {seconds} s: {condition}"
        time.sleep(0.05)


def show(browser, chart):
    """Scroll to a chart, and wait until it is drawn."""
    browser.run("document.querySelector(`[data-chart=${arguments[0]}]`).scrollIntoView()", chart)
    wait(browser, "window.snapViews?.[arguments[0]] !== undefined", chart)
    settle(browser, chart)


def settle(browser, chart):
    browser.driver.execute_async_script(
        "const done = arguments[1]; snapViews[arguments[0]].runAsync().then(() => done())", chart
    )


def choose(browser, field, value, section="explore"):
    browser.run(
        """
        const field = document.getElementById(arguments[0]);
        field.value = arguments[1];
        field.dispatchEvent(new Event("input", { bubbles: true }));
        field.dispatchEvent(new Event("change", { bubbles: true }));
        """,
        f"{section}-{field}",
        value,
    )


def drawn(browser, chart, mark, *fields):
    """The values that the items of a drawn chart have."""
    return browser.run(
        ITEMS + "return found.map((item) => arguments[2].map((name) => item.datum[name]))",
        chart,
        mark,
        list(fields),
    )


def lines(browser):
    """The accuracies at the end of every task that the drawn lines have."""
    names = ("configuration", "task", "tasks learned", "mean", "lambda")
    points = pd.DataFrame(drawn(browser, "curves", "line", *names), columns=names)
    ends = points[(points["tasks learned"] % 1 == 0) & (points["tasks learned"] > 0)]
    return ends.set_index(["configuration", "task", "tasks learned"]).sort_index()


def in_the_table(dataset, learner, lambda_):
    """The same from curve.csv: the mean over seeds of the last point in every task."""
    curve = pd.read_csv(PUBLISHED / "curve.csv.gz")
    curve = curve[(curve["dataset"] == dataset) & (curve["learner"] == learner)]
    curve = curve[curve["lambda"].isna() if lambda_ is None else curve["lambda"] == lambda_]
    curve = curve[curve["training"] > 0].sort_values("samples")
    last = curve.groupby(["configuration", "seed", "training"]).last()
    names = {f"task{n + 1}": f"{2 * n}+{2 * n + 1}" for n in range(5)}
    means = last[list(names)].rename(columns=names).groupby(["configuration", "training"]).mean()
    long = means.stack().rename("mean").reset_index()
    long.columns = ["configuration", "tasks learned", "task", "mean"]
    return long.set_index(["configuration", "task", "tasks learned"]).sort_index()["mean"]


@pytest.mark.parametrize("lambda_", [0.5, 16.0, 64.0])
@pytest.mark.parametrize("whole", [False, True], ids=["explorer alone", "published page"])
def test_the_chosen_lambda_has_the_curves_of_the_table(browser, url, lambda_, whole):
    browser.open((PUBLISHED.parent / "report.html").as_uri() if whole else url)
    show(browser, "curves")
    before = lines(browser)
    choose(browser, "lambda", f"{lambda_:g}")
    settle(browser, "curves")
    found = lines(browser)
    assert set(found["lambda"]) == {lambda_} != set(before["lambda"])
    expected = in_the_table("MNIST", "hebbian", lambda_)
    assert len(found) == 7 * 5 * 5
    pd.testing.assert_series_equal(
        found["mean"], expected, atol=5.1e-5, rtol=0, check_index_type=False, check_dtype=False
    )


def test_what_is_drawn_is_where_its_value_is(browser, url):
    browser.open(f"{url}#explore?configuration=linear-linear&lambda=16")
    show(browser, "curves")
    height = browser.run("return snapViews.curves.signal('child_height')")
    script = ITEMS + "return found.map((item) => [item.datum.mean, item.y])"
    for mean, y in browser.run(script, "curves", "line"):
        assert y == pytest.approx((1 - mean) * height, abs=0.01)


def test_the_other_charts_follow_the_choice(browser, url):
    query = "dataset=FashionMNIST&learner=sgd&configuration=linear-linear"
    browser.open(f"{url}#explore?{query}")
    table = pd.read_csv(PUBLISHED / "matrix.csv.gz")
    table = table[(table["dataset"] == "FashionMNIST") & (table["learner"] == "sgd")]
    table = table[(table["configuration"] == "linear-linear") & (table["after"] > 0)]
    means = table.groupby(["after", "classes"])["accuracy"].mean()
    show(browser, "matrix")
    cells = {(a, t): v for a, t, v in drawn(browser, "matrix", "rect", "after", "task", "accuracy")}
    assert cells == pytest.approx(dict(means), abs=5.1e-5)
    numbers = browser.run(ITEMS + "return found.map((item) => item.text)", "matrix", "text")
    assert numbers == [f"{cells[key]:.2f}" for key in sorted(cells)]
    show(browser, "retention")
    bars = dict(drawn(browser, "retention", "rect", "task", "accuracy"))
    assert bars == pytest.approx(dict(means[5]), abs=5.1e-5)
    seeds = table[table["after"] == 5]["accuracy"]
    ticks = [seed for (seed,) in drawn(browser, "retention", "rect", "seeds") if seed is not None]
    flat = [one for one in ticks if not isinstance(one, list)]
    assert sorted(flat) == pytest.approx(sorted(seeds), abs=5.1e-5)
    show(browser, "landscape")
    selected = pd.read_csv(PUBLISHED / "selected.csv")
    selected = selected[(selected["dataset"] == "FashionMNIST") & (selected["learner"] == "sgd")]
    (alpha,) = selected[selected["configuration"] == "linear-linear"]["alpha"]
    rings = drawn(browser, "landscape", "symbol", "alpha", "optimum")
    assert rings == [[alpha, True]] * 2


def hover(browser, element, text):
    ActionChains(browser.driver).move_to_element(element).perform()
    wait(browser, "document.querySelector('#explore-tooltip.visible') !== null")
    wait(
        browser, "document.getElementById('explore-tooltip').innerText.includes(arguments[0])", text
    )
    return browser.one("#explore-tooltip").text


def test_hovering_tells_numbers_and_seeds(browser, url):
    browser.open(f"{url}#explore?configuration=linear-linear&lambda=16&dataset=MNIST")
    show(browser, "curves")
    rule = browser.all("[data-chart=curves] .mark-rule.role-mark line")[40]
    mean = in_the_table("MNIST", "hebbian", 16.0)["linear-linear", "0+1", 5]
    text = hover(browser, rule, f"{mean:.3f} (")
    assert "tasks learned 5" in text
    assert text.count("3 seeds") == 5
    table = pd.read_csv(PUBLISHED / "matrix.csv.gz")
    where = (table["dataset"] == "MNIST") & (table["configuration"] == "linear-linear")
    where &= (table["lambda"] == 16) & (table["learner"] == "hebbian")
    where &= (table["after"] == 5) & (table["classes"] == "0+1")
    seeds = [f"{seed:.4f}".rstrip("0") for seed in table[where]["accuracy"]]
    show(browser, "matrix")
    cells = browser.all("[data-chart=matrix] .mark-rect.role-mark path")
    assert ", ".join(seeds) in hover(browser, cells[20], "seeds")
    show(browser, "retention")
    bars = browser.all("[data-chart=retention] .mark-rect.role-mark path")
    assert ", ".join(seeds) in hover(browser, bars[5], "seeds at the end")
    show(browser, "landscape")
    cells = browser.all("[data-chart=landscape] .mark-rect.role-mark path")
    assert "α" in hover(browser, cells[3], "i.i.d. accuracy")


def test_the_choice_is_in_the_fragment(browser, url):
    browser.open(url)
    assert browser.run("return location.hash") == ""
    choose(browser, "lambda", "8")
    browser.one("input[value=linear-linear]").click()
    shown = browser.run("return location.hash")
    boxes = browser.all("[name=configuration]:checked")
    others = [box.get_attribute("value") for box in boxes]
    start = "#explore?dataset=MNIST&learner=hebbian&lambda=8&configuration="
    assert shown == start + ",".join(others)
    assert "linear-linear" not in others
    names = "linear-linear,sigmoid-sigmoid-neuron"
    link = f"#explore?dataset=FashionMNIST&learner=hebbian&lambda=4&configuration={names}"
    browser.run("location.hash = arguments[0]", link)
    wait(browser, "document.getElementById('explore-lambda').value === '4'")
    show(browser, "curves")
    found = drawn(browser, "curves", "line", "dataset", "configuration", "lambda")
    assert {tuple(one) for one in found} == {
        ("FashionMNIST", "linear-linear", 4),
        ("FashionMNIST", "sigmoid-sigmoid-neuron", 4),
    }
    for address in ("about:blank", url + link):
        browser.driver.get(address)
    wait(browser, "document.getElementById('explore-lambda').value === '4'")
    top = browser.run("return document.getElementById('explore').getBoundingClientRect().top")
    assert abs(top) < 5
    show(browser, "curves")
    again = drawn(browser, "curves", "line", "dataset", "configuration", "lambda")
    assert {tuple(one) for one in again} == {tuple(one) for one in found}


def test_other_fragments_do_not_change_the_choice(browser, url):
    browser.open(f"{url}#explore?lambda=4&dataset=Atlantis&configuration=linear-linear&speed=7")
    wait(browser, "document.getElementById('explore-lambda').value === '4'")
    assert browser.one("#explore-dataset").get_property("value") == "MNIST"
    browser.run("location.hash = '#claim-first'")
    wait(browser, "scrollY < 50")
    assert browser.one("#explore-lambda").get_property("value") == "4"
    assert browser.run("return location.hash") == "#claim-first"
    assert browser.console_messages() == []


def test_choices_that_do_not_apply_cannot_be_made(browser, url):
    browser.open(url)
    assert browser.one("#explore-lambda").is_enabled()
    assert len([box for box in browser.all("[name=configuration]") if box.is_displayed()]) == 7
    choose(browser, "learner", "sgd")
    assert not browser.one("#explore-lambda").is_enabled()
    shown = [
        b.get_attribute("value") for b in browser.all("[name=configuration]") if b.is_displayed()
    ]
    assert len(shown) == 4
    show(browser, "curves")
    assert {name for (name,) in drawn(browser, "curves", "line", "configuration")} == set(shown)
    assert "lambda" not in browser.run("return location.hash")


def test_without_a_configuration_a_sentence_says_so(browser, url):
    browser.open(url)
    show(browser, "curves")
    browser.one("[data-check=none]").click()
    assert browser.one("#explore-notes").text == "Choose at least one configuration."
    assert not any(chart.is_displayed() for chart in browser.all("#explore .explore-chart"))
    assert all(text.is_displayed() for text in browser.all("#explore .explore-none"))
    browser.one("[data-check=all]").click()
    assert browser.one("#explore-notes").text == ""
    settle(browser, "curves")
    assert len(lines(browser)) == 7 * 25
    assert browser.console_messages() == []


def test_everything_can_be_done_with_the_keyboard(browser, url):
    browser.open(url)
    seen = []
    browser.run("document.body.tabIndex = -1; document.body.focus()")
    for _ in range(16):
        browser.press(Keys.TAB)
        seen.append(
            browser.run("const e = document.activeElement; return e.id || e.value || e.textContent")
        )
        if seen[-1] == "explore-lambda":
            browser.press("1")  # a list goes to the first choice that starts with what is typed
            assert browser.focused().get_property("value") == "1"
        if seen[-1] == "sigmoid-linear-neuron":
            browser.press(Keys.SPACE)
    assert seen[:3] == ["explore-dataset", "explore-learner", "explore-lambda"]
    assert seen[10:14] == ["All", "None", "develop-dataset", "develop-point"]
    assert "lambda=1&" in browser.run("return location.hash")
    assert "sigmoid-linear-neuron" not in browser.run("return location.hash")
    browser.one("#develop-point").send_keys(Keys.HOME)
    assert browser.one("#develop-now").text == "before the first task"
    browser.press(Keys.ARROW_RIGHT)
    assert browser.one("#develop-now").text == "25% of task 1"
    assert browser.one("#explore-choice").get_attribute("aria-live") == "polite"


CHARTS = ("curves", "matrix", "retention", "landscape", "tiles")


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_every_width_shows_everything_and_is_quiet(browser, url, width, theme):
    browser.open(url, (width, 900), theme)
    for chart in CHARTS:
        show(browser, chart)
        clipped = browser.run(
            """
            const svg = document.querySelector(`[data-chart=${arguments[0]}] svg`);
            const { left, right, width } = svg.getBoundingClientRect();
            const texts = [...svg.querySelectorAll("text")].filter((text) => text.textContent);
            const boxes = texts.map((text) => text.getBoundingClientRect());
            return {
              out: boxes.filter((box) => box.left < left - 1 || box.right > right + 1).length,
              scale: width / svg.viewBox.baseVal.width,
              right: right - document.documentElement.clientWidth,
              type: Math.min(...texts.map((text) => parseFloat(getComputedStyle(text).fontSize))),
              texts: texts.length,
            };
            """,
            chart,
        )
        assert clipped["texts"] > 10
        assert clipped["out"] == 0, chart
        assert clipped["scale"] == 1, chart
        assert clipped["right"] <= 0, chart
        assert clipped["type"] >= 11, chart
        assert overlaps(browser, chart) == [], chart
    assert browser.run("return document.documentElement.scrollWidth - innerWidth") <= 0
    assert browser.console_messages() == []
    assert [one for one in browser.requests() if not one.startswith(("file:", "data:"))] == []


def overlaps(browser, chart):
    """Pairs of texts of a chart that lie on each other."""
    return browser.run(
        """
        const texts = [...document.querySelectorAll(`[data-chart=${arguments[0]}] svg text`)];
        const filled = texts.filter((text) => text.textContent);
        const boxes = filled.map((text) => [text.textContent, text.getBoundingClientRect()]);
        const found = [];
        boxes.forEach(([a, one], n) => boxes.slice(n + 1).forEach(([b, other]) => {
          const wide = Math.min(one.right, other.right) - Math.max(one.left, other.left);
          const high = Math.min(one.bottom, other.bottom) - Math.max(one.top, other.top);
          if (wide > 1 && high > 2) found.push([a, b]);
        }));
        return found;
        """,
        chart,
    )


def least_contrasts(browser, chart):
    """The colours of the texts of a chart, each with the colour below it."""
    pairs = browser.run(
        """
        const ground = getComputedStyle(document.body).backgroundColor;
        const found = new Map();
        for (const text of document.querySelectorAll(`[data-chart=${arguments[0]}] svg text`)) {
          if (!text.textContent) continue;
          text.scrollIntoView({ block: "center" });
          const { left, top, width, height } = text.getBoundingClientRect();
          const below = document.elementsFromPoint(left + width / 2, top + height / 2);
          const cell = below.find((one) => one.parentNode.classList?.contains("mark-rect"));
          const pair = [getComputedStyle(text).fill, cell ? getComputedStyle(cell).fill : ground];
          found.set(pair.join(), pair);
        }
        return [...found.values()];
        """,
        chart,
    )
    return {tuple(pair): contrast(*map(color, pair)) for pair in pairs}


def color(text):
    """rgb(1, 2, 3) as numbers from 0 to 1."""
    return tuple(float(part) / 255 for part in text[text.index("(") + 1 : -1].split(",")[:3])


def test_text_in_charts_can_be_read_in_both_themes(browser, url):
    browser.open(url, WIDE, "light")
    seen = {}
    for theme in ("light", "dark"):
        # The theme is switched on the page, as its button does.
        browser.run("document.documentElement.dataset.theme = arguments[0]", theme)
        for chart in CHARTS:
            show(browser, chart)
            found = least_contrasts(browser, chart)
            assert min(found.values()) >= 4.5, (theme, chart, found)
            seen[theme, chart] = set(found)
    for chart in CHARTS:
        assert seen["light", chart] != seen["dark", chart]


def test_lines_can_be_seen_in_both_themes(browser, url):
    browser.open(url, WIDE, "light")
    show(browser, "curves")
    for theme in ("light", "dark"):
        browser.run("document.documentElement.dataset.theme = arguments[0]", theme)
        colors = browser.run(
            "return [getComputedStyle(document.body).backgroundColor, ...new Set([...document"
            ".querySelectorAll('.mark-line path')].map((line) => getComputedStyle(line).stroke))]"
        )
        assert len(colors) >= 6
        for stroke in colors[1:]:
            assert contrast(color(stroke), color(colors[0])) >= 3, (theme, stroke)


def test_panels_take_the_columns_that_fit(browser, url):
    columns = {}
    for width in (360, 768, 1440):
        browser.open(url, (width, 900))
        show(browser, "curves")
        tops = browser.run(
            "return [...document.querySelectorAll('[data-chart=curves] .mark-line')]"
            ".map((lines) => Math.round(lines.getBoundingClientRect().left / 20))"
        )
        columns[width] = len(set(tops))
    assert columns[360] == 1
    assert columns[1440] == 4
    assert 2 <= columns[768] <= 3


def test_a_page_that_changes_its_width_is_drawn_again(browser, url):
    browser.open(url, (1440, 900))
    show(browser, "curves")
    choose(browser, "lambda", "2")
    size = {"deviceScaleFactor": 1, "mobile": False, "width": 390, "height": 844}
    browser.command("Emulation.setDeviceMetricsOverride", **size)
    wait(browser, "document.querySelector('[data-chart=curves] svg')?.viewBox.baseVal.width <= 390")
    settle(browser, "curves")
    assert set(lines(browser)["lambda"]) == {2}
    assert len(browser.all("[data-chart=curves] svg")) == 1


# The development of the weights


def frames(browser):
    return browser.run(
        """
        return [...document.querySelectorAll("[data-chart=tiles] .mark-symbol.role-mark path")]
          .filter((frame) => getComputedStyle(frame).stroke !== "rgba(0, 0, 0, 0)").length
        """
    )


def test_the_slider_moves_tiles_frames_and_the_rule(browser, url):
    browser.open(url)
    show(browser, "tiles")
    choose(browser, "point", "0", "develop")
    settle(browser, "tiles")
    pictures = drawn(browser, "tiles", "image", "title", "sheet")
    assert len(pictures) == 3
    assert frames(browser) == 0
    places = []
    for point in (0, 3, 8):
        choose(browser, "point", str(point), "develop")
        settle(browser, "tiles")
        assert frames(browser) == 3 * point
        rule = drawn(browser, "tiles", "rule", "at", "count")
        assert rule == [[point / 4, point]] * 3
        script = ITEMS + "return found[0].x / snapViews.tiles.signal('child_width')"
        places.append(browser.run(script, "tiles", "rule"))
        fixed = drawn(browser, "tiles", "symbol", "point", "fixed")
        assert {at for at, _ in fixed} == {point}
        assert sum(share for _, share in fixed) == 3 * point
    assert places == pytest.approx([0, 3 / 8, 1], abs=0.01)
    steps = drawn(browser, "tiles", "line", "at", "count")
    assert {tuple(step) for step in steps} >= {(n / 4, n) for n in range(9)}
    assert browser.console_messages() == []


def test_the_images_of_the_tiles_change_and_are_shown(browser, tmp_path):
    first, second = freezing(), freezing()
    second.tiles[4] = 255 - second.tiles[4]
    path = tmp_path / "Synthetic.snapshots.npz"
    snapshots.write(path, {trial("linear-linear"): first, trial("sigmoid-linear-neuron"): second})
    developed = development.content({"Synthetic": path}, STYLE)
    browser.open(page(tmp_path / "page.html", developed=developed), WIDE)
    show(browser, "tiles")
    sheets = {(r["title"], r["point"]): r["sheet"] for r in developed["data"]["points"]}
    for point in (3, 4):
        choose(browser, "point", str(point), "develop")
        settle(browser, "tiles")
        wait(browser, "document.querySelectorAll('.mark-image image').length === 2")
        wanted = [sheets[title, point] for title, at in sheets if at == point]
        wait(
            browser,
            "JSON.stringify([...document.querySelectorAll('.mark-image image')]"
            ".map((image) => image.href.baseVal)) === JSON.stringify(arguments[0])",
            wanted,
        )
    image = browser.one(".mark-image image").rect
    assert image["width"] == image["height"] > 190
    assert sheets["linear-linear\nλ = 4", 4] != sheets["sigmoid-linear\nneuron, λ = 4", 4]


def test_hovering_over_a_neuron_tells_its_strength(browser, url):
    browser.open(f"{url}#develop?point=3")
    show(browser, "tiles")
    frame = browser.all("[data-chart=tiles] .mark-symbol.role-mark path")[2]
    text = hover(browser, frame, "strength")
    assert "1.000" in text
    assert "100%" in text
    assert "neuron" in text


def test_the_point_in_time_is_in_the_fragment(browser, url):
    browser.open(f"{url}#develop?dataset=FashionMNIST&point=5")
    wait(browser, "document.getElementById('develop-point').value === '5'")
    assert browser.one("#develop-dataset").get_property("value") == "FashionMNIST"
    assert browser.one("#develop-now").text == "25% of task 2"
    choose(browser, "point", "6", "develop")
    assert browser.run("return location.hash") == "#develop?dataset=FashionMNIST&point=6"


def test_play_goes_through_time_and_respects_reduced_motion(browser, url):
    browser.open(url)
    assert not browser.one("#develop-play").is_displayed()
    features = [{"name": "prefers-reduced-motion", "value": "no-preference"}]
    browser.command("Emulation.setEmulatedMedia", features=features)
    browser.driver.refresh()
    show(browser, "tiles")
    choose(browser, "point", "6", "develop")
    button = browser.one("#develop-play")
    assert button.text == "Play"
    button.send_keys(Keys.ENTER)
    wait(browser, "document.getElementById('develop-point').value === '8'")
    wait(browser, "document.getElementById('develop-play').textContent === 'Play'")
    assert "point=8" in browser.run("return location.hash")


# Other runs


@pytest.mark.parametrize("run", RUNS)
@pytest.mark.parametrize("size", [PHONE, WIDE])
def test_other_runs_can_be_explored(browser, tmp_path, run, size):
    content = explorer.content(made(tmp_path, RUNS[run]()), STYLE)
    browser.open(page(tmp_path / "page.html", content), size)
    for chart in ("curves", "matrix", "retention"):
        show(browser, chart)
        assert browser.run(
            "const [svg, place] = [`svg`, ``].map((part) => document.querySelector("
            "`[data-chart=${arguments[0]}] ${part}`));"
            "return svg.getBoundingClientRect().width === svg.viewBox.baseVal.width",
            chart,
        )
        assert overlaps(browser, chart) == [], chart
    cells = [
        c
        for c in content["data"]["cells"]
        if c["best"] and c["learner"] == content["choices"]["learner"][0][0]
    ]
    found = drawn(browser, "curves", "line", "configuration", "task")
    tasks = len({row["task"] for row in content["data"]["curves"]})
    assert len({tuple(one) for one in found}) == tasks * len(cells)
    assert not browser.one("[data-chart=landscape]").is_displayed()
    assert "no search" in browser.one("#explore").text
    assert browser.run("return document.documentElement.scrollWidth - innerWidth") <= 0
    assert browser.console_messages() == []


def test_a_configuration_that_diverged_is_named(browser, tmp_path):
    rows = rows_of(as_in_the_paper())
    name = "sigmoid-linear-neuron"
    lost = {"accuracy": None, "diverged": 9}
    changed(rows, "sequential", lost, configuration=name, learner="hebbian")
    for table in ("matrix", "curve"):
        rows[table] = [r for r in rows[table] if r["configuration"] != name]
    content = explorer.content(made(tmp_path, rows), STYLE)
    browser.open(page(tmp_path / "page.html", content))
    show(browser, "curves")
    assert (
        browser.one("#explore-notes").text == "sigmoid-linear, neuron: no result with this choice."
    )
    choose(browser, "lambda", "16")
    note = "sigmoid-linear, neuron, λ = 16: It diverged in sequence with every seed."
    assert browser.one("#explore-notes").text == note
    settle(browser, "curves")
    assert len({one for (one,) in drawn(browser, "curves", "line", "configuration")}) == 6
    assert browser.console_messages() == []
