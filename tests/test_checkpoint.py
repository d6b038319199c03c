"""Checkpoints: an interrupted population ends with the result of an undisturbed one."""

from __future__ import annotations

import dataclasses
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

from snap import Iid, Sequential, SnapError, Trial, checkpoint
from snap.checkpoint import Checkpoint, Snapshot
from snap.engines import population_class
from snap.engines.population import Population
from snap.engines.torch_population import TorchPopulation
from snap.experiments import run
from snap.learners import HEBBIAN, LEARNERS
from snap.pipeline import jobs
from snap.pipeline.rows import read_rows
from snap.pipeline.status import Heartbeat
from snap.pipeline.training import Workplace
from snap.pipeline.verify import check
from snap.requests import Learned, Measured

SEQUENCE = Sequential(tasks=((0, 1), (7,), (2, 3)), threshold=0.5, max_epochs=3, curve_every=17)
EXPERIMENTS = {"iid": Iid(3), "sequential": SEQUENCE}


def trials(experiment, names, alphas, **values) -> list[Trial]:
    given = {"lateral_inhibition": 4, "eta": 0.1, "hidden": 5, "protocol": "text"} | values
    given |= {"train_limit": 150, "test_limit": 60, "dataset": "Synthetic"}
    return [
        Trial(name, alpha, experiment=EXPERIMENTS[experiment], **given)
        for name in names
        for alpha in alphas
    ]


SGD = {"learner": "sgd", "lateral_inhibition": None, "eta": None}
SHARED = ("linear-linear", "linear-exponential-neuron", "linear-exponential-synapse")
# Each is one population. In those with several networks, one diverges.
POPULATIONS = {
    "cpu iid hebbian": trials("iid", SHARED, [4.0]),
    "cpu sequential hebbian": trials("sequential", SHARED, [8.0], seed=5),
    "cpu iid sgd": trials("iid", ["linear-linear"], [0.1], **SGD),
    "cpu sequential sgd": trials("sequential", ["sigmoid-sigmoid-neuron"], [0.1], **SGD),
    "torch iid hebbian": trials("iid", ["exponential-linear-neuron"], [0.01, 50, 0.001]),
    "torch sequential hebbian": trials(
        "sequential", ["exponential-linear-neuron"], [0.01, 50, 0.1]
    ),
    "torch iid sgd": trials("iid", ["linear-linear"], [0.1, 1e30], **SGD),
    "torch sequential sgd": trials("sequential", ["linear-linear"], [0.1, 1e30], **SGD),
}


class Interrupted(BaseException):
    """As KeyboardInterrupt, which pytest would take for its own."""


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    """These networks are so small that torch's threads would only wait for each other."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.fixture(autouse=True)
def often(monkeypatch):
    """A checkpoint at the end of every chunk. A request has several chunks, the last one short."""
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    monkeypatch.setattr(TorchPopulation, "chunk", 12)


@pytest.fixture
def written(monkeypatch):
    """The snapshots that are written. After `left` of them, training is interrupted."""
    log = Log()
    write = Checkpoint.write

    def watched(self, snapshot):
        write(self, snapshot)
        log.snapshots.append(snapshot)
        log.left -= 1
        if not log.left:
            raise Interrupted

    monkeypatch.setattr(Checkpoint, "write", watched)
    return log


class Log:
    def __init__(self):
        self.snapshots, self.left = [], 0


def train(name, data, folder=None, said=None):
    results = run(
        POPULATIONS[name],
        data,
        engine=name.split()[0],
        checkpoints=folder,
        say=(said if said is not None else []).append,
    )
    return [result.to_dict() | {"seconds": 0} for result in results]


def interrupted(name, data, folder, written, after=1) -> Snapshot:
    written.left = after
    with pytest.raises(Interrupted):
        train(name, data, folder)
    return written.snapshots[-1]


def assert_equal(one: Snapshot, other: Snapshot):
    for field in ("answers", "position", "seen", "diverged"):
        assert getattr(one, field) == getattr(other, field)
    for a, b in zip(one.weights, other.weights, strict=True):
        assert [w.tobytes() for w in a] == [w.tobytes() for w in b]


@pytest.mark.parametrize("name", POPULATIONS)
def test_the_populations_are_what_the_tests_need(small, name):
    population = POPULATIONS[name]
    assert len(population_class(name.split()[0]).groups(population)) == 1
    results = train(name, small)
    if len(population) > 1:
        diverged = [result["diverged"] for result in results]
        assert 0 < sum(at is not None for at in diverged) < len(diverged)
    if name in ("cpu sequential hebbian", "torch sequential hebbian"):
        one, other = (r["epochs_per_task"] for r in results if r["diverged"] is None)
        assert one[:-1] != other[:-1], "the networks must be at different tasks"


@pytest.mark.parametrize("name", POPULATIONS)
def test_interrupted_at_every_chunk(tmp_path, small, name, written, monkeypatch):
    """Bit for bit the same weights after every chunk and the same results; no sample twice."""
    learned = []
    inner = Population.train

    def watched(self, orders):
        before = sum(self.seen)
        inner(self, orders)
        learned.append(sum(self.seen) - before)

    monkeypatch.setattr(Population, "train", watched)
    expected = train(name, small)
    once = sum(learned)
    assert train(name, small, tmp_path / "undisturbed") == expected
    undisturbed, written.snapshots = written.snapshots, []
    assert len(undisturbed) >= 3
    learned.clear()
    for _ in undisturbed:
        interrupted(name, small, tmp_path, written)
    said = []
    assert train(name, small, tmp_path, said) == expected
    assert len(said) == 1
    assert f"{sum(undisturbed[-1].seen)} samples" in said[0]
    assert sum(learned) == once
    for one, other in zip(undisturbed, written.snapshots, strict=True):
        assert_equal(one, other)
    assert list(tmp_path.rglob("*.npz*")) == [], "a finished population has no checkpoint"


@pytest.mark.parametrize("name", ["cpu sequential hebbian", "torch sequential hebbian"])
def test_interrupted_once(tmp_path, small, name, written):
    expected = train(name, small, tmp_path)
    last = len(written.snapshots)
    for after in (2, last // 2, last):
        interrupted(name, small, tmp_path, written, after)
        assert train(name, small, tmp_path) == expected


def test_a_checkpoint_is_used(tmp_path, small, written):
    """A run that ignored it would pass the tests above only by training everything again."""
    name = "cpu iid sgd"
    snapshot = interrupted(name, small, tmp_path, written, after=2)
    (path,) = tmp_path.iterdir()
    W, V = snapshot.weights[0]
    changed = dataclasses.replace(snapshot, weights=[(np.zeros_like(W), V)])
    same = Checkpoint(tmp_path, fingerprints(name, small), None)
    assert same.path == path
    same.write(changed)
    assert train(name, small, tmp_path) != train(name, small)


def fingerprints(name, data):
    return [trial.fingerprint(data.checksum, name.split()[0]) for trial in POPULATIONS[name]]


# Files that are not used


def rewritten(path, **changes):
    """Change arrays of a checkpoint, but not its checksum."""
    with np.load(path) as archive:
        arrays = dict(archive) | changes
    np.savez(path, **arrays)


def flip(path):
    """Change one bit of a weight."""
    content = bytearray(path.read_bytes())
    with np.load(path) as archive:
        content[content.index(archive["W0"].tobytes()) + 5] ^= 1
    path.write_bytes(content)


FAULTS = {
    "empty": (lambda path: path.write_bytes(b""), "is not a checkpoint"),
    "cut": (lambda path: path.write_bytes(path.read_bytes()[:-100]), "is not a checkpoint"),
    "half": (lambda path: path.write_bytes(path.read_bytes()[:900]), "is not a checkpoint"),
    "text": (lambda path: path.write_text("a checkpoint"), "is not a checkpoint"),
    "another archive": (lambda path: np.savez(path, W=np.ones(3)), "is not a checkpoint"),
    "an array": (lambda path: np.save(path.open("wb"), np.ones(3)), "is not a checkpoint"),
    "a flipped bit": (flip, "is not a checkpoint"),
    "pickled objects": (lambda p: rewritten(p, W0=np.array([{}])), "is not a checkpoint"),
    "changed weights": (lambda p: rewritten(p, V0=np.ones((10, 5))), "does not match its checksum"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_damaged_file_is_named_and_ignored(tmp_path, small, written, fault):
    name = "cpu iid sgd"
    interrupted(name, small, tmp_path, written, after=2)
    (path,) = tmp_path.iterdir()
    damage, reason = FAULTS[fault]
    assert checkpoint.damage(path) is None
    damage(path)
    assert checkpoint.damage(path) == reason
    said = []
    assert train(name, small, tmp_path, said) == train(name, small)
    assert said == [f"{path} {reason}: training starts from the beginning"]
    assert not path.exists()


def test_the_file_of_another_population_is_named_and_ignored(tmp_path, small, written):
    for name in ("cpu iid hebbian", "cpu iid sgd"):
        interrupted(name, small, tmp_path / name, written)
    (path,), (other,) = ((tmp_path / name).iterdir() for name in ("cpu iid sgd", "cpu iid hebbian"))
    path.write_bytes(other.read_bytes())
    said = []
    assert train("cpu iid sgd", small, path.parent, said) == train("cpu iid sgd", small)
    assert said == [f"{path} belongs to another population: training starts from the beginning"]


STALE = {
    "an answer less": lambda s: {"answers": [s.answers[0][:-1]]},
    "an answer more": lambda s: {"answers": [[*s.answers[0], *s.answers[0]]]},
    "other answers": lambda s: {"answers": [[s.answers[0][1], *s.answers[0][1:]]]},
    "more samples": lambda s: {"seen": [s.seen[0] + 1]},
    "another position": lambda s: {"position": s.position - 1},
}


@pytest.mark.parametrize("change", STALE)
def test_a_file_that_does_not_fit_the_experiment_is_ignored(tmp_path, small, written, change):
    """As after a change of the code: the file is intact, but its answers are those of others."""
    name = "cpu sequential sgd"
    snapshot = interrupted(name, small, tmp_path, written, after=2)
    assert len(snapshot.answers[0]) > 2
    same = Checkpoint(tmp_path, fingerprints(name, small), None)
    same.write(dataclasses.replace(snapshot, **STALE[change](snapshot)))
    said = []
    assert train(name, small, tmp_path, said) == train(name, small)
    why = "does not fit its experiments: training starts from the beginning"
    assert said == [f"{same.path} {why}"]


def test_a_changed_population_does_not_find_it(tmp_path, small, written):
    trial = POPULATIONS["cpu iid sgd"][0]
    interrupted("cpu iid sgd", small, tmp_path, written)
    said = []
    for other in (
        dataclasses.replace(trial, seed=1),
        dataclasses.replace(trial, experiment=Iid(4)),
    ):
        run([other], small, engine="cpu", checkpoints=tmp_path, say=said.append)
    other_data = dataclasses.replace(small, checksum="other data")
    run([trial], other_data, engine="cpu", checkpoints=tmp_path, say=said.append)
    run([trial], small, engine="reference", checkpoints=tmp_path, say=said.append)
    assert said == []
    assert len(list(tmp_path.iterdir())) == 1
    names = {Checkpoint(tmp_path, order, chunk).name for order in ("ab", "ba") for chunk in (1, 2)}
    assert len(names) == 4, "the order of the trials and the chunk count"


# Writing


def test_short_runs_write_none(tmp_path, small, monkeypatch):
    monkeypatch.setattr(checkpoint, "SECONDS", 60.0)
    for name in ("cpu iid hebbian", "torch iid sgd"):
        train(name, small, tmp_path / "unfinished")
    assert list(tmp_path.iterdir()) == []


def test_recorded_weights_and_hooks_have_none(tmp_path, small, written, monkeypatch):
    run(POPULATIONS["cpu iid sgd"], small, engine="cpu", record=True, checkpoints=tmp_path)
    hook = dataclasses.replace(HEBBIAN, end_task=lambda network, samples: None)
    monkeypatch.setitem(LEARNERS, "hebbian", hook)
    train("cpu sequential hebbian", small, tmp_path)
    assert written.snapshots == []


@pytest.mark.parametrize("moment", ["os.fsync", "pathlib.Path.replace"])
def test_interrupted_while_writing(tmp_path, small, written, moment, monkeypatch):
    """The old checkpoint stays, and training goes on from there."""
    name = "cpu iid sgd"
    first = interrupted(name, small, tmp_path, written)
    (path,) = tmp_path.iterdir()
    content = path.read_bytes()
    with monkeypatch.context() as patch:

        def stop(*_):
            raise Interrupted

        patch.setattr(moment, stop)
        with pytest.raises(Interrupted):
            train(name, small, tmp_path)
    assert [p.read_bytes() for p in tmp_path.iterdir()] == [content]
    said = []
    assert train(name, small, tmp_path, said) == train(name, small)
    assert f"{first.seen[0]} samples" in said[0]


def test_a_disk_without_room_does_not_stop_training(tmp_path, small):
    (tmp_path / "file").touch()
    said = []
    assert train("cpu iid sgd", small, tmp_path / "file/folder", said) == train(
        "cpu iid sgd", small
    )
    assert len(said) == 3
    assert all("cannot be written" in line for line in said)


def test_answers_survive_json_exactly():
    for answer in (
        Learned(12345, True),
        Measured(1 / 3, [0.1 + 0.2, 2 / 7], [1e-17, 1.0], [0.0, 977 / 60000]),
    ):
        text = json.dumps(dataclasses.asdict(answer))
        assert type(answer)(**json.loads(text)) == answer


# Progress, jobs and the store


def test_progress_counts_what_was_learned_before(tmp_path, small, written):
    name = "torch iid hebbian"
    snapshot = interrupted(name, small, tmp_path, written, after=5)
    beat, shares = Heartbeat(None, "job", 3, 0), []
    total = 450

    def progress(trial, learned, rest):
        beat.progress(trial, learned, rest)
        if trial == POPULATIONS[name][0]:
            shares.append(beat.state["share"])
            assert beat.learned[trial] + rest == total

    run(POPULATIONS[name], small, engine="torch", checkpoints=tmp_path, progress=progress)
    assert shares[0] == snapshot.seen[0] / total
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_time_before_the_interruption_counts(tmp_path, small, written):
    name = "cpu iid sgd"
    snapshot = interrupted(name, small, tmp_path, written)
    same = Checkpoint(tmp_path, fingerprints(name, small), None)
    same.write(dataclasses.replace(snapshot, seconds=1000.0))
    (result,) = run(POPULATIONS[name], small, engine="cpu", checkpoints=tmp_path)
    assert 1000 < result.seconds < 1100


def test_a_job_goes_on(tmp_path, synthetic_root, written, capsys):
    trial = POPULATIONS["torch iid hebbian"][0]
    cell = {"trials": [trial.text], "pairs": [(0.1, 0.01), (0.1, 0.001)], "then": []}
    spec = {"engine": "torch", "cells": [cell]}
    place = Workplace(tmp_path / "results/trials", synthetic_root)
    jobs.search(spec, [], tmp_path / "out.csv", Workplace(tmp_path / "other", synthetic_root))
    written.left = 2
    with pytest.raises(Interrupted):
        jobs.search(spec, [], tmp_path / "again.csv", place)
    (path,) = (tmp_path / "results").rglob("*.*")
    assert path.parent == place.store / "unfinished"
    (checked,) = check(tmp_path / "results", tmp_path / "no data")
    assert (checked.path, checked.fault) == (path, None)
    capsys.readouterr()
    jobs.search(spec, [], tmp_path / "again.csv", place)
    assert "a population of 2 networks goes on from a checkpoint: 48 samples are learned" in (
        capsys.readouterr().err
    )
    assert read_rows(tmp_path / "again.csv") == read_rows(tmp_path / "out.csv")
    assert not path.exists()


def test_verify_finds_a_damaged_checkpoint(tmp_path, small, written):
    interrupted("cpu iid sgd", small, tmp_path / "trials/unfinished", written)
    (path,) = tmp_path.rglob("*.npz")
    path.write_bytes(path.read_bytes()[:-10])
    (checked,) = check(tmp_path, tmp_path / "no data")
    assert checked.fault == "is not a checkpoint"
    checked.remove()
    assert not path.exists()


KILLED = """
import sys
import snap.checkpoint
snap.checkpoint.SECONDS = 0.0
from snap.cli.main import main
sys.exit(main(sys.argv[1:]))
"""


def test_a_killed_job_goes_on(tmp_path, synthetic_root):
    """SIGKILL, at any moment: it writes a checkpoint after every epoch."""
    trial = Trial(
        "sigmoid-sigmoid-neuron", 1, 4, 0, "Synthetic", experiment=Iid(40), hidden=32, test_limit=50
    )
    spec = json.dumps(
        {"engine": "cpu", "cells": [{"trials": [trial.text], "pairs": [(0.1, 0.1)], "then": []}]}
    )
    tables = []
    for kills in (0, 2):
        folder = tmp_path / str(kills)
        command = [sys.executable, "-c", KILLED, "job", "search", "--spec", spec]
        command += ["--output", str(folder / "out.csv"), "--store", str(folder / "trials")]
        command += ["--dir", str(synthetic_root)]
        said = ""
        for _ in range(kills):
            process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
            deadline = time.time() + 120
            before = {p: p.stat().st_mtime_ns for p in folder.rglob("*.npz")}
            while {p: p.stat().st_mtime_ns for p in folder.rglob("*.npz")} == before:
                assert time.time() < deadline
                assert process.poll() is None
                time.sleep(0.001)
            process.send_signal(signal.SIGKILL)
            process.communicate()
        done = subprocess.run(command, stderr=subprocess.PIPE, text=True, timeout=300)
        said = done.stderr
        assert done.returncode == 0, said
        assert ("goes on from a checkpoint" in said) == bool(kills)
        tables.append(read_rows(folder / "out.csv"))
        assert not [p for p in folder.rglob("*") if ".npz" in p.name]
    assert tables[0] == tables[1]


def test_the_environment_sets_the_time_between_checkpoints(monkeypatch):
    assert checkpoint.interval() == checkpoint.SECONDS
    monkeypatch.setenv("SNAP_CHECKPOINT_SECONDS", "0.5")
    assert checkpoint.interval() == 0.5
    for wrong in ("soon", "-1", "nan"):
        monkeypatch.setenv("SNAP_CHECKPOINT_SECONDS", wrong)
        with pytest.raises(SnapError, match="SNAP_CHECKPOINT_SECONDS"):
            checkpoint.interval()
