"""The figures of every kind of run: complete, in one order, and readable."""

from __future__ import annotations

import re
from typing import Any

import pytest
from matplotlib.colors import to_hex
from matplotlib.legend import Legend
from matplotlib.text import Text

from figure_runs import (
    DATASETS,
    DRAWN,
    METHODS,
    RUNS,
    STYLE,
    TASKS,
    drawing,
    drawn_of,
    rows,
    tables_of,
)
from little_run import write
from snap.growth import GROWTHS
from snap.learners import LEARNERS
from snap.report import catalog
from snap.report.figures import base, draw

BOTH = (
    "headline iid sequential retention matrix forgetting landscape consolidation features".split()
)
every_figure = pytest.mark.parametrize(("run", "name"), DRAWN)


def compact(text: str) -> str:
    """A label without line breaks, commas and the value of λ."""
    return re.sub(r"λ=[\d.]+$", "", re.sub(r"[\s,·]+", "", text)).removeprefix("SNAP:")


def labels(figure) -> list[str]:
    """What the figure names: titles, ticks, annotations and legends, as they are read."""
    texts: list[str] = []
    for axis in figure.axes:
        texts += [axis.get_title(), *(label.get_text() for label in axis.get_yticklabels())]
        texts += [text.get_text() for text in axis.texts]
    for legend in figure.findobj(Legend):
        places = [(text.get_window_extent(), text) for text in legend.get_texts()]
        places.sort(key=lambda at: (-round(at[0].y0), at[0].x0))
        texts += [text.get_text() for _, text in places]
    for text in figure.texts:
        texts += text.get_text().replace("\n", " ").removeprefix("In grey: ").rstrip(".").split(";")
    return [compact(text) for text in texts]


def families_of(run: str, name: str, shown: set[str]) -> list[tuple[str, str]]:
    """The configurations that a figure of a run must show: all of every learner that it shows."""
    kind = catalog.find(name)[0].name
    found = tables_of(run).families
    if kind in ("growth", "network", "curves-paper", "ladder", "ladder-sgd", "controls"):
        return []  # they show a part, growths, or methods
    if kind == "features":  # trials are of growths that this version has
        known = {*GROWTHS, "neuron", "synapse"}
        found = [family for family in found if set(family[1].split("-")) <= known]
    if kind in BOTH:
        return found
    learners = {learner for learner, name in found if compact(base.named(name, learner)) in shown}
    assert learners
    return [family for family in found if family[0] in learners]


@every_figure
def test_every_configuration_is_shown_in_one_order(run, name):
    drawn = drawn_of(run, name)
    if drawn.left_out:
        return
    found = labels(drawn.figure)
    families = families_of(run, name, set(found))
    wanted = [compact(base.named(name, learner)) for learner, name in families]
    shown = [label for label in found if label in wanted]
    assert not set(wanted) - set(shown)
    in_grey = any(text.get_text().startswith("In grey") for text in drawn.figure.texts)
    if not in_grey:
        assert list(dict.fromkeys(shown)) == wanted


@every_figure
def test_a_figure_has_no_empty_panel(run, name):
    drawn = drawn_of(run, name)
    if drawn.left_out:
        assert not drawn.figure.axes
        return
    for axis in drawn.figure.axes:
        if axis.axison:
            assert axis.lines or axis.patches or axis.images or axis.collections, axis.get_title()


@pytest.mark.parametrize(
    ("run", "absent"),
    [
        ("of the paper", []),
        ("two configurations", ["ladder-sgd", "sgd"]),
        ("one lambda", []),
        ("sgd", ["curves", "curves-paper", "ladder"]),
        ("hebbian", ["ladder-sgd", "sgd"]),
    ],
)
def test_a_figure_whose_subject_was_not_run_is_left_out(run, absent):
    names = catalog.names(RUNS[run][0])
    found = {catalog.find(name)[0].name for name in names if drawn_of(run, name).left_out}
    # λ = 32 is the paper's, and was not run.
    assert sorted(found - {"curves-paper"}) == sorted(set(absent) - {"curves-paper"})
    for name in names:
        sentence = drawn_of(run, name).left_out
        if sentence:
            assert sentence.endswith("."), name
            assert not len(drawn_of(run, name).data)


def test_of_a_run_that_diverged_only_the_drawings_are_left():
    names = catalog.names(DATASETS)
    left = [name for name in names if not drawn_of("diverged", name).left_out]
    assert left == ["growth", "network"]
    assert drawn_of("diverged", "iid").left_out == "Every run diverged."
    assert drawn_of("diverged", "controls").left_out == "Every control diverged."
    assert drawn_of("diverged", "sgd-MNIST").left_out == "Every SGD run on MNIST diverged."


@every_figure
def test_a_figure_is_in_bounds_and_can_be_read(run, name):
    """At most ten inches wide, no text below 8.5 points, nothing outside or on another."""
    figure = drawn_of(run, name).figure
    if drawn_of(run, name).left_out:
        return
    width, height = figure.get_size_inches()
    box = figure.get_tightbbox()
    assert width <= 10
    assert box.x0 > -0.1
    assert box.y0 > -0.1
    assert box.x1 < width + 0.1
    assert box.y1 < height + 0.1
    texts = [text for text in figure.findobj(Text) if text.get_visible() and text.get_text()]
    assert min(text.get_fontsize() for text in texts) >= 8.5
    titles = [axis.title for axis in figure.axes if axis.get_title()]
    boxes = [title.get_window_extent() for title in titles]
    for n, one in enumerate(boxes):
        for other in boxes[n + 1 :]:
            assert not one.overlaps(other), (titles[n].get_text(), name)
    for legend in figure.legends:
        place = legend.get_window_extent()
        assert not any(place.overlaps(axis.get_tightbbox()) for axis in figure.axes if axis.axison)


@pytest.mark.parametrize("run", RUNS)
def test_no_two_configurations_look_alike(run):
    _, request = drawing(tables_of(run), "iid")
    kept = ("color", "marker", "markerfacecolor", "fillstyle")  # without a line, as dots
    looks = [
        (learner, *(request.look(name, learner).get(key) for key in kept))
        for learner, name in tables_of(run).families
        if not LEARNERS[learner].inhibits
    ]
    lines = [repr(request.look(name, learner)) for learner, name in tables_of(run).families]
    assert len(set(looks)) == len(looks)
    assert len(set(lines)) == len(lines)


@every_figure
def test_the_entries_of_a_legend_look_different(run, name):
    for legend in drawn_of(run, name).figure.findobj(Legend):
        looks = [
            f"{to_hex(handle.get_color())} {handle.get_marker()} {handle.get_linestyle()}"
            f" {to_hex(handle.get_markerfacecolor())} {handle.get_fillstyle()}"
            for handle in legend.legend_handles
        ]
        assert len(set(looks)) == len(looks)


def test_a_new_growth_is_in_colour_where_the_others_of_the_paper_are_grey():
    shown = labels(drawn_of("ten configurations", "headline").figure)
    legend = drawn_of("ten configurations", "headline").figure.legends[0]
    colored = [compact(text.get_text()) for text in legend.get_texts()]
    assert {"tanh-tanhneuron", "cubic-cubicneuron", "sigmoid-sigmoidneuron"} <= set(colored)
    assert "exponential-linearneuron" in shown
    assert "exponential-linearneuron" not in colored


def test_the_growth_figure_follows_the_growths_of_the_run():
    titles = [axis.get_title() for axis in drawn_of("hebbian", "growth").figure.axes]
    assert [title for title in titles if "idea" in title] == [f"{g}: the idea" for g in GROWTHS]
    two = drawn_of("two configurations", "growth")
    assert [axis.get_title() for axis in two.figure.axes] == [
        "linear: the idea",
        "linear: measured",
    ]
    assert two.gaps == ["tanh: this version has no such growth"]


def test_the_headline_is_the_accuracy_over_all_classes_of_the_claims(tmp_path):
    made = rows()
    for point in made["curve"]:
        point["accuracy"] = 0.55 if point["samples"] == TASKS * 400 else 0.3
    drawn = draw(*drawing(write(tmp_path, made), "headline"))
    last = drawn.data[(drawn.data["of"] == "all") & (drawn.data["after"] == TASKS)]
    assert set(last["mean"]) == {0.55}
    assert drawn.figure.axes[0].get_ylabel() == "accuracy, all classes"


def test_consolidation_is_a_count_over_time():
    drawn = drawn_of("of the paper", "consolidation-MNIST")
    first = drawn.figure.axes[0]
    assert first.get_ylabel() == "neurons consolidated"
    assert list(first.lines[0].get_ydata()) == [0, 3, 3]
    assert "3 of 5 neurons consolidated" in drawn.finding


def test_nothing_is_said_to_have_diverged_when_nothing_has(tmp_path):
    def entries(drawn):
        return [text.get_text() for legend in drawn.figure.legends for text in legend.get_texts()]

    assert "diverged" not in entries(drawn_of("of the paper", "landscape-MNIST"))
    made = rows()
    made["search"][0] |= {"accuracy": None, "diverged": 3}
    drawn = draw(*drawing(write(tmp_path, made), "landscape-MNIST"))
    assert "diverged" in entries(drawn)
    assert "linear-linear, λ = 1: 1 of 4 pairs diverged" in drawn.gaps


def seen(drawn) -> list[tuple[str, Any]]:
    """The labels of the methods, with their places."""
    texts = [text for axis in drawn.figure.axes for text in axis.texts]
    return [(text.get_text(), Text.get_window_extent(text)) for text in texts]  # without its line


@pytest.mark.parametrize("level", [None, 0.1, 1.0], ids=["as made up", "all low", "all high"])
def test_every_control_has_a_label_that_covers_nothing(tmp_path, level):
    made = rows()
    for row in made["controls"] if level is not None else ():
        row["accuracy"] = level
    with base.looks(STYLE):
        drawn = draw(*drawing(write(tmp_path, made), "controls"))
        drawn.figure.draw_without_rendering()
        found = seen(drawn)
        panels = [axis.patch.get_window_extent() for axis in drawn.figure.axes]
    assert len(found) == len(panels) * len(METHODS)
    for n, (words, one) in enumerate(found):
        panel = panels[n // len(METHODS)]
        assert one.x0 > panel.x1, words
        assert panel.y0 - 8 < one.y0, words
        assert one.y1 < panel.y1 + 8, words
        for other_words, other in found[n + 1 :]:
            assert not one.overlaps(other), (words, other_words)


def test_snap_and_plain_sgd_are_marked_among_the_controls():
    bold = [
        text.get_text()[5:]
        for axis in drawn_of("of the paper", "controls").figure.axes
        for text in axis.texts
        if text.get_fontweight() == "bold"
    ]
    assert bold == ["SGD", "SNAP"] * len(DATASETS)


def test_the_legend_of_the_controls_names_only_what_is_kept():
    def entries(run):
        return [text.get_text() for text in drawn_of(run, "controls").figure.legends[0].get_texts()]

    assert "how important each weight is" in entries("of the paper")
    assert entries("hebbian") == ["nothing", "the mean of each class", "samples"]


def test_a_control_that_diverged_is_named(tmp_path):
    made = rows(datasets=("MNIST",))
    lost = {"accuracy": None, "forgetting": None, "diverged": 7}
    made["controls"] = [row for row in made["controls"] if row["control"] != "ewc"]
    tried = {"control": "ewc", "learner": "sgd", "dataset": "MNIST", "seed": 0, "amount": 10}
    made["controls_search"] = [tried | {"configuration": "linear-linear", "chosen": "iid"} | lost]
    for row in made["controls"]:
        if row["control"] == "si" and row["chosen"] == "iid" and row["seed"] == 1:
            row |= lost
    drawn = draw(*drawing(write(tmp_path, made), "controls"))
    assert drawn.gaps == ["MNIST, SGD + EWC: diverged", "MNIST, SGD + SI: 1 of 2 seeds diverged"]


@pytest.mark.parametrize("kind", ["iid", "sequential", "retention-MNIST", "landscape-MNIST"])
def test_the_caption_of_a_single_lambda_describes_what_is_drawn(kind):
    assert drawn_of("of the paper", kind).caption == ""
    caption = drawn_of("one lambda", kind).caption
    assert caption
    assert "a dot for every task" in caption or "large mark" in caption or "panel for" in caption
    assert "line for every task" not in caption
    assert "column for each λ" not in caption
