"""The colours of figures, and the files that they are written to."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from functools import cache
from xml.etree import ElementTree

import matplotlib
import numpy as np
import pytest
from matplotlib.patches import Rectangle
from PIL import Image

from figure_runs import (
    NAMES,
    PAPER,
    ROOT,
    STYLE,
    TASKS,
    drawing,
    drawn_of,
    request_of,
    rows,
    tables_of,
)
from little_run import write
from snap.errors import SnapError
from snap.report import catalog, figures
from snap.report.figures import base, draw
from snap.report.figures.style import contrast, readable_on, task_pairs
from snap.report.figures.svg import path

SVG = "{http://www.w3.org/2000/svg}"


@cache
def svg_of(run: str, name: str) -> str:
    kind, request = request_of(run, name)
    folder = tables_of(run).folder / "figures"
    with base.looks(STYLE):
        base.save(draw(kind, request), kind, name, request, "c", folder)
    return (folder / f"{name}.svg").read_text()


def pairs() -> dict[str, tuple[list[str], float]]:
    """Every pair of colours of the style, and the contrast that it must have."""
    text = {role: (STYLE[role], 4.5) for role in ("ink", "soft", "gap", "paper")}
    lines = {"muted": (STYLE["muted"], 3.0)}
    looks = {**STYLE["growths"], **dict(enumerate(STYLE["others"]))}
    for learner in STYLE["learners"].values():
        looks |= {f"sgd {name}": look for name, look in learner.get("growths", {}).items()}
    lines |= {f"growth {name}": (look["color"], 3.0) for name, look in looks.items()}
    for count in (2, 3, 5, 10):
        for n, pair in enumerate(task_pairs(STYLE, count), start=1):
            lines[f"task {n} of {count}"] = (list(pair), 3.0)
    return text | lines


@pytest.mark.parametrize("role", pairs())
def test_every_colour_stands_out_on_its_ground(role):
    colors, least = pairs()[role]
    for color, ground in zip(colors, STYLE["ground"], strict=True):
        assert contrast(color, ground) >= least


def test_text_can_be_read_on_every_cell_of_a_heat_map():
    heat = matplotlib.colormaps[STYLE["heat"]]
    for value in np.linspace(0, 1, 257):
        assert contrast(readable_on(STYLE, heat(value)), heat(value)) >= 4.5
    axis = drawn_of("of the paper", "matrix-MNIST").figure.axes[0]
    cells = {patch.get_xy(): patch for patch in axis.patches if isinstance(patch, Rectangle)}
    assert len(axis.texts) == TASKS**2
    for text in axis.texts:
        x, y = (at - 0.5 for at in text.get_position())
        assert contrast(text.get_color(), cells[x, y].get_facecolor()) >= 4.5


def test_the_contrast_is_that_of_wcag():
    assert contrast("white", "black") == pytest.approx(21)
    assert contrast("#777777", "white") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("name", NAMES)
def test_the_svg_can_stand_in_a_page(name):
    """Well-formed, transparent, with text as text and every colour for both grounds."""
    text = svg_of("of the paper", name)
    root = ElementTree.fromstring(text)
    assert root.find(f".//{SVG}text") is not None
    assert root.find(f".//{SVG}style") is None
    first = root.find(f".//{SVG}path")
    assert first is None or "fill:#" not in first.get("style", "")
    grounds = [STYLE["ground"][0], "#ffffff"]
    own = ["matrix", "landscape"]  # heat maps have the same cells on both grounds
    for element in root.iter():
        style = element.get("style", "")
        plain = re.findall(r"#[0-9a-f]{6}", re.sub(r"light-dark\([^)]*\)", "", style))
        if catalog.find(name)[0].name not in own:
            assert plain == []
        if plain and element.tag == f"{SVG}path":
            assert "fill" in style
        covers = [f"light-dark({ground}" in style for ground in grounds]
        if any(covers) and element.tag == f"{SVG}path":
            assert len(element.get("d", "")) < 500  # a marker or a circle, not a background
    assert "rgb(" not in text
    assert "DejaVuSans-" not in text  # glyphs drawn as paths


def test_no_two_figures_share_an_id():
    seen: set[str] = set()
    for name in NAMES:
        root = ElementTree.fromstring(svg_of("of the paper", name))
        ids = [element.attrib["id"] for element in root.iter() if "id" in element.attrib]
        assert len(set(ids)) == len(ids)
        assert not seen & set(ids)
        seen |= set(ids)
        used = re.findall(r'(?:href="|url\()#([^")]+)', svg_of("of the paper", name))
        assert set(used) == set(ids), name


def test_a_path_keeps_its_shape_in_fewer_letters():
    assert path("M 1 2 L 3 2 L 5 2 L 5 4 z") == "M1 2l4 0 0 2z"
    assert path("M 0 0 L 1 1 L 0 0") == "M0 0l1 1-1-1"
    assert path("M 0.51 1e-05 L 0.04 -20.26") == "M.5 0l-.5-20.3"
    assert path("M 0 0 L 1 1 M 2 2 L 3 4") == "M0 0l1 1M2 2l1 2"
    assert path("M 0 0 Q 1 2 3 4.25") == "M 0 0 Q 1 2 3 4.2"
    assert path("") == ""


def test_the_same_tables_give_the_same_files(tmp_path):
    for folder in ("one", "two"):
        kind, request = request_of("of the paper", "sequential")
        with base.looks(STYLE):
            base.save(draw(kind, request), kind, "sequential", request, "c", tmp_path / folder)
    for suffix in ("png", "pdf", "svg", "csv", "json"):
        one, two = (tmp_path / f / f"sequential.{suffix}" for f in ("one", "two"))
        assert one.read_bytes() == two.read_bytes(), suffix


def test_a_diagram_has_no_data(tmp_path):
    kind, request = request_of("of the paper", "network")
    base.save(draw(kind, request), kind, "network", request, "c", tmp_path)
    assert json.loads((tmp_path / "network.json").read_text())["data"] is False
    assert not (tmp_path / "network.csv").exists()


def test_the_description_says_what_the_page_must_know(tmp_path):
    kind, request = request_of("hebbian", "sgd-MNIST")
    base.save(draw(kind, request), kind, "sgd-MNIST", request, "c", tmp_path)
    about = json.loads((tmp_path / "sgd-MNIST.json").read_text())
    assert about["left_out"] == "SGD was not part of this run."
    assert about["data"] is False
    assert about["paper"] == [
        {
            "number": "Figure 6",
            "label": "fig:mnist_sgd_model_performance",
            "about": "MNIST: SGD through the sequence",
        }
    ]


def test_a_figure_of_a_reduced_run_says_so_and_stays_as_wide(tmp_path):
    for named in ("paper", f"quick (reduced: five samples, {'and less of everything, ' * 9})"):
        tables = write(tmp_path / named[:5], rows(), named)
        kind, request = drawing(tables, "iid")
        drawn = draw(kind, request)
        base.save(drawn, kind, "iid", request, "", tmp_path / named[:5])
        texts = [text.get_text().replace("\n", " ") for text in drawn.figure.texts]
        assert any("five samples" in text for text in texts) == ("reduced" in named)
    widths = [Image.open(tmp_path / f / "iid.png").width for f in ("paper", "quick")]
    assert max(widths) <= 10.2 * 150
    assert abs(widths[0] - widths[1]) < 30


def test_text_of_the_configuration_is_not_typeset_as_mathematics(tmp_path):
    named = r"quick (reduced: grid $\frac{1$ more)"
    kind, request = drawing(write(tmp_path, rows(), named), "network")
    base.save(draw(kind, request), kind, "network", request, "", tmp_path)
    assert (tmp_path / "network.png").stat().st_size


@pytest.mark.parametrize(
    "text", ["", "rc: 5", "rc: {no.such: 1}", "a: [", "rc: {}\ntasks: nope\nheat: x"]
)
def test_an_unusable_style_is_named(tmp_path, text):
    file = tmp_path / "style.yaml"
    file.write_text(text)
    with pytest.raises(SnapError, match=r"style\.yaml cannot be used as a style"):
        base.read_style(file)


# Without files


def test_a_figure_for_a_notebook_is_the_figure_of_the_report():
    tables = tables_of("of the paper")
    drawn = figures.figure("iid", tables, PAPER, STYLE)
    report = drawn_of("of the paper", "iid").figure
    assert [axis.get_title() for axis in drawn.axes] == [axis.get_title() for axis in report.axes]
    assert drawn.axes[0].spines["top"].get_visible() is False  # the style holds after drawing
    with pytest.raises(SnapError, match="nothing to show: SGD was not part of this run"):
        figures.figure("sgd-MNIST", tables_of("hebbian"), PAPER, STYLE)


SCRIPT = """
import sys
from pathlib import Path
import matplotlib
from snap.report.figures import figure
from snap.report.frames import Tables
before = matplotlib.rcParams.copy()
made = figure("iid", Tables(Path(sys.argv[1])))
made.savefig(sys.argv[2])
assert "matplotlib.pyplot" not in sys.modules
assert matplotlib.rcParams._get_backend_or_none() is None
assert matplotlib.rcParams.copy() == before
"""


def test_drawing_chooses_no_backend_and_leaves_no_settings(tmp_path):
    folder, output = tables_of("of the paper").folder, tmp_path / "iid.png"
    subprocess.run([sys.executable, "-c", SCRIPT, folder, output], check=True, cwd=ROOT, timeout=60)
    assert Image.open(output).width > 500
    uses = [file for file in (ROOT / "src").rglob("*.py") if "matplotlib.use" in file.read_text()]
    assert uses == []
