"""`snap restore` refuses what no run can have published, with one sentence, and writes nothing."""

from __future__ import annotations

import csv
import gzip
import json
import os
import shutil
from pathlib import Path

import pytest

import trained_run
from snap.cli.main import main
from snap.files import packed
from trained_run import write_record


@pytest.fixture(scope="module")
def publication(tmp_path_factory, synthetic_root) -> Path:
    """A small publication that is valid."""
    folder = tmp_path_factory.mktemp("run")
    trained_run.train(folder, synthetic_root)
    return folder / "published"


def restore(folder: Path, results: Path) -> int:
    return main(["restore", str(folder), "--results", str(results)])


# Changes of a publication


def value(table, column, text, row=0):
    """Another value in a row of a table."""

    def change(folder):
        path = folder / f"tables/{table}.csv"
        lines = list(csv.DictReader(path.open(newline="")))
        lines[row][column] = text
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(lines[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(lines)

    return change


def lines(table, of):
    """Other lines of a table."""

    def change(folder):
        path = folder / f"tables/{table}.csv"
        path.write_text("".join(of(path.read_text().splitlines(keepends=True))))

    return change


def without(table, column):
    def change(folder):
        path = folder / f"tables/{table}.csv"
        found = list(csv.reader(path.open(newline="")))
        place = found[0].index(column)
        with path.open("w", newline="") as file:
            csv.writer(file).writerows([*row[:place], *row[place + 1 :]] for row in found)

    return change


def content(name, written):
    def change(folder):
        path = folder / name
        path.write_bytes(written if isinstance(written, bytes) else written.encode())

    return change


def account(**values):
    """Other values of the provenance; a key a__b is b in a."""

    def change(folder):
        path = folder / "provenance.json"
        found = json.loads(path.read_text())
        for key, new in values.items():
            *above, last = key.split("__")
            place = found
            for name in above:
                place = place[name]
            if new is KeyError:
                del place[last]
            else:
                place[last] = new
        path.write_text(json.dumps(found))

    return change


def replaced(name, by):
    """A folder, a link or a pipe in place of a file."""

    def change(folder):
        path = folder / name
        path.unlink()
        by(path)

    return change


def after_the_record(change):
    change.last = True
    return change


def bomb(folder):
    path = folder / "tables/iid.csv"
    packed(path).write_bytes(gzip.compress(path.read_bytes() + b"," * 100_000_000))
    path.unlink()


def half_packed(folder):
    path = folder / "tables/iid.csv"
    packed(path).write_bytes(gzip.compress(path.read_bytes())[:-30])
    path.unlink()


NESTED = "[" * 100_000
NUMBERS = {"nan": "nan", "infinite": "inf", "huge": "1e400", "text": "much", "none": ""}
HOSTILE = {
    "accuracy 99": value("search", "accuracy", "99"),
    "accuracy below 0": value("iid", "accuracy", "-0.1"),
    **{
        f"{table}: {column} is {what}": value(table, column, text)
        for table, columns in {
            "search": ("accuracy", "alpha", "seed"),
            "iid": ("accuracy", "epoch", "samples"),
            "sequential": ("accuracy", "eta"),
            "matrix": ("accuracy", "after"),
            "curve": ("accuracy", "task2", "samples"),
        }.items()
        for column in columns
        for what, text in NUMBERS.items()
    },
    "very long number": value("search", "seed", "9" * 5000),
    "negative samples": value("sequential", "samples", "-1"),
    "too many samples": value("sequential", "samples", "99999999999"),
    "diverged and accurate": value("sequential", "diverged", "5"),
    "diverged at 0": value("search", "diverged", "0"),
    "unknown learner": value("search", "learner", "magic"),
    "unknown dataset": value("search", "dataset", "../MNIST"),
    "unknown configuration": value("iid", "configuration", "cubic-linear"),
    "unknown fingerprint": value("search", "trial", "../../../etc/passwd"),
    "another λ": value("sequential", "lambda", "2"),
    "reached maybe": value("matrix", "reached", "maybe", 5),
    "too many epochs": value("matrix", "epochs", "99", 5),
    "matrix of an unknown seed": value("matrix", "seed", "77"),
    "matrix without a row": lines("matrix", lambda all: all[:-1]),
    "matrix in another order": lines("matrix", lambda all: [all[0], all[2], all[1], *all[3:]]),
    "curve without its points": lines("curve", lambda all: all[:1]),
    "curve in another order": lines("curve", lambda all: [all[0], *all[:0:-1]]),
    "trial twice": lines("search", lambda all: [*all, all[-1]]),
    "epoch missing": lines("iid", lambda all: [*all[:1], *all[2:]]),
    "short line": lines("search", lambda all: [*all, "smoke,hebbian\n"]),
    "long line": lines("search", lambda all: [*all, "," * 50 + "\n"]),
    "column twice": lines("search", lambda all: [line[:-1] + ",run\n" for line in all]),
    "large field": lines("search", lambda all: [*all, "x" * 200_000 + "\n"]),
    **{f"no {column}": without(table, column) for table, column in {
        "search": "accuracy", "iid": "epoch", "sequential": "trial", "matrix": "task",
        "curve": "training"}.items()},
    "no task column": without("curve", "task3"),
    "empty table": content("tables/search.csv", ""),
    "not UTF-8": content("tables/search.csv", b"run,\xff\xfe\n"),
    "zeros": content("tables/iid.csv", b"\0" * 500),
    "open quote": content("tables/iid.csv", 'run,"learner'),
    "bomb": bomb,
    "half a gzip file": half_packed,
    "no table": replaced("tables/curve.csv", lambda path: None),
    "folder as table": replaced("tables/curve.csv", Path.mkdir),
    "folder as provenance": replaced("provenance.json", Path.mkdir),
    "link": replaced("tables/curve.csv", lambda path: path.symlink_to("/etc/passwd")),
    "pipe": replaced("tables/curve.csv", os.mkfifo),
    "no provenance": replaced("provenance.json", lambda path: None),
    **{f"provenance {text[:9]!r}": content("provenance.json", text) for text in (
        "", "{", "[]", "5", "null", '"run"', "{}", NESTED, '{"run": NaN}', b"\xff", '{"a": 1e999}',
    )},
    "run that leads up": account(config__run="../../evil"),
    "absolute run": account(config__run="/tmp/evil"),
    "run with a line end": account(config__run="evil\n"),
    "empty run": account(config__run=""),
    "run that is a list": account(config__run=["smoke"]),
    "run that is trials": account(config__run="trials"),
    "no config": account(config=KeyError),
    "config that is a list": account(config=[]),
    "config with an unknown key": account(config__shell="rm"),
    "no seeds": account(config__search__seeds=[]),
    "unknown configuration in the plan": account(config__configurations=["cubic-linear"]),
    "unknown protocol": account(config__protocol="secret"),
    "dataset with a path": account(config__datasets=[{"name": "../x", "hidden": 12}]),
    "reading with a path": account(config__readings={"../../evil": {}}),
    "reading that is text": account(config__readings={"other": "text"}),
    "reading with a wrong part": account(config__readings={"other": {"search": 5}}),
    "reading without tables": account(config__readings={"other": {"beta": 0.02}}),
    "immense config": account(config__lambdas=list(range(1, 20_000))),
    "semantics as text": account(semantics="3"),
    "no semantics": account(semantics=KeyError),
    "no date": account(date=KeyError),
    "date as a list": account(date=[1]),
    "hardware as text": account(hardware="fast"),
    "git as text": account(git="main"),
    "costs as a list": account(costs=[1]),
    "costs without stages": account(costs={"wall_seconds": 1}),
    "stage without counts": account(costs={"wall_seconds": 1, "stages": {"iid": {}}}),
    "restored as text": account(restored="yes"),
    "restored of nothing": account(restored=[{}]),
    "huge whole number": account(hardware={"cpu": None, "cores": 10**40}),
    **{f"record {text[:12]!r}": after_the_record(content("record.json", text)) for text in (
        "", "[]", "{}", '{"files": []}', '{"files": {"../x": "0"}}', NESTED, b"\xff",
        '{"files": {"tables/iid.csv": 5}}',
    )},
    "no record": after_the_record(replaced("record.json", lambda path: None)),
    "folder as record": after_the_record(replaced("record.json", Path.mkdir)),
    "more than the record": after_the_record(content("tables/more.csv", "a\n")),
    "less than the record": after_the_record(replaced("tables/iid.csv", lambda path: None)),
    "other than the record": after_the_record(content("tables/iid.csv", "a\n")),
}  # fmt: skip


def test_the_publication_is_restored(publication, tmp_path, capsys):
    assert restore(publication, tmp_path / "results") == 0
    assert capsys.readouterr().out.startswith("5 trials of ")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_publication_is_refused(publication, tmp_path, capsys, name):
    place, change = tmp_path / "deep/down", HOSTILE[name]
    folder, results = place / "published", place / "work/results"
    shutil.copytree(publication, folder)
    change(folder)
    if not hasattr(change, "last"):
        write_record(folder)
    before = set(tmp_path.rglob("*"))
    code = restore(folder, results)
    said = capsys.readouterr()
    assert (code, said.out) == (2, ""), said
    assert said.err.startswith("snap: error: ")
    assert said.err.count("\n") == 1
    assert len(said.err) < 900
    assert set(tmp_path.rglob("*")) == before
