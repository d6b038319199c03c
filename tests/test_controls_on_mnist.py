"""The controls on the whole of MNIST, beside what another code has published about them.

REPRODUCIBILITY.md quotes what this file measures.
"""

from __future__ import annotations

import re

import pytest

from snap import Sequential, Trial
from snap.experiments import run
from workspace import ROOT

DOCUMENT = (ROOT / "REPRODUCIBILITY.md").read_text()
TABLE = DOCUMENT.partition("### A check against another code")[2].partition("\n#")[0]
ROW = re.compile(r"^\| (\S+) \| (\d) \| (\d+) % \| (?:near )?(\d+) % \|$", re.MULTILINE)
QUOTED = [(control, *map(int, numbers)) for control, *numbers in ROW.findall(TABLE)]
NEAR = 0.06  # as near as the differences between the two set-ups allow
ROUNDING = 0.02  # processors round differently, and training amplifies it


def test_every_row_is_read():
    assert {control for control, *_ in QUOTED} == {
        "none",
        "`ewc-1000`",
        "`si-0.1`",
        "`replay-1000`",
    }
    assert len(QUOTED) == TABLE.count("\n|") - 2


@pytest.mark.data
@pytest.mark.parametrize(("control", "passes", "here", "published"), QUOTED)
def test_the_controls_end_where_another_code_does(mnist, control, passes, here, published):
    trial = Trial(
        "linear-linear",
        alpha=0.01,
        learner="sgd",
        hidden=400,
        experiment=Sequential(threshold=1, max_epochs=passes, curve_every=60_000),
        control=control.strip("`").replace("none", ""),
    )
    (result,) = run([trial], mnist, "cpu", "cpu")
    assert result.epochs_per_task == [passes] * 5
    assert result.accuracy == pytest.approx(here / 100, abs=ROUNDING)
    assert result.accuracy == pytest.approx(published / 100, abs=NEAR)
