"""The times of the controls, as `snap bench --controls` prints them."""

from __future__ import annotations

from snap import control_bench
from snap.cli.main import main
from snap.controls import KINDS
from snap.learners import LEARNERS


def test_every_control_is_measured_beside_its_learner():
    report = control_bench.measure([4], quick=True)
    rows = {(row["learner"], row["control"]): row for row in report["rows"]}
    expected = {(learner, kind.name) for kind in KINDS.values() for learner in kind.learners}
    assert rows.keys() == expected | {(learner, "") for learner in LEARNERS} | {("", "class-means")}
    for (learner, control), row in rows.items():
        assert row["us_per_sample"] > 0
        if learner:
            ratio = row["us_per_sample"] / rows[learner, ""]["us_per_sample"]
            assert abs(row["times_learner"] - ratio) < 1e-9, control
    lines = control_bench.table(report).splitlines()
    assert len(lines) == 1 + len(rows)
    assert "replay" in lines[3]


def test_only_the_cpu_engine_has_them(capsys):
    assert main(["bench", "--controls", "--engine", "triton"]) == 2
    assert "--controls measures the cpu engine" in capsys.readouterr().err
