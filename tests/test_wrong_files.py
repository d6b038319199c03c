"""Commands that are given the wrong file of an earlier step: one sentence, and nothing written."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest
import yaml

import little_run
import report_folder
import trained_run
from snap.cli.main import main
from snap.files import write_atomically, write_result
from workspace import ROOT

SELECTED = "results/smoke/select/hebbian/Synthetic/linear-linear/lambda=1.csv"
SEARCHED = "results/smoke/search/hebbian/Synthetic/linear/lambda=1/seed=0.csv"
PAPER = ["--paper", str(ROOT / "workflow/paper.yaml")]
STYLE = ["--style", str(ROOT / "workflow/style.yaml")]
STORE = ["--store", "kept", "--dir", "data", "--output", "made/x.csv"]
CLAIMS = ["--claims", str(ROOT / "workflow/claims.yaml"), "--output", "made/x.json"]


@pytest.fixture(scope="module")
def finished(tmp_path_factory, synthetic_root) -> Path:
    """A run, its specifications, and the made-up tables and report of another one."""
    folder = tmp_path_factory.mktemp("finished")
    shutil.copytree(synthetic_root, folder / "data")
    for name, text in trained_run.train(folder, folder / "data").items():
        (folder / f"{name}.json").write_text(text)
    plan = json.loads((folder / "results/smoke/plan.json").read_text())
    (folder / "config.json").write_text(json.dumps(plan["plans"]["smoke"]))
    little_run.run_of(folder / "tables", little_run.as_in_the_paper())
    report_folder.build(folder / "report")
    return folder


@pytest.fixture
def here(finished, tmp_path, monkeypatch) -> Path:
    folder = tmp_path / "here"
    shutil.copytree(finished, folder)
    monkeypatch.chdir(folder)
    return folder


def contents(folder: Path) -> dict[Path, bytes | None]:
    return {path: path.read_bytes() if path.is_file() else None for path in folder.rglob("*")}


def refused(arguments: list[str], said: str, capsys) -> None:
    before = contents(Path())
    assert main(arguments) == 2
    *_, sentence = capsys.readouterr().err.splitlines()
    assert sentence.startswith("snap: error: ")
    assert sentence.isprintable()
    assert said in sentence
    assert contents(Path()) == before


def job(step: str, *inputs: str, spec: str = "") -> list[str]:
    return ["job", step, "--spec", f"@{spec or step}.json", *STORE, *inputs]


JOBS = {
    "two selections in a file": (job("iid", SEARCHED), "seed=0.csv lacks the columns runner_up_"),
    "no file for a cell": (job("iid"), "a job of 1 cells needs a selection for each, got 0"),
    "a file too many": (job("iid", SELECTED, SELECTED), "needs a selection for each, got 2"),
    "trials of the other experiment": (
        job("sequential", SELECTED, spec="iid"),
        "it is of another experiment",
    ),
    "the same the other way round": (
        job("iid", SELECTED, spec="sequential"),
        "it is of another experiment",
    ),
    "no cell for a ladder": (job("ladder"), "a ladder needs the selection of one cell, got 0"),
    "selections for a portrait": (job("portrait", SELECTED), "lacks the columns protocol, seed,"),
    "a table of no kind": (
        ["job", "table", SEARCHED, "--run", "x", "--output", "made/none.csv"],
        "there is no table 'none.csv': --output must be one of search, selected",
    ),
    "no table at all": (
        ["job", "table", "iid.json", "--run", "x", "--output", "made/iid.csv"],
        "iid.json is not a table of comma-separated values",
    ),
    "no name of a file": (job("iid", ""), "'.' is a folder, not the name of a file"),
    "no name to write to": (
        ["job", "table", "--run", "x", "--output", ""],
        "there is no table ''",
    ),
    "an unknown argument in two lines": (
        ["report", "tables", "x\ny", "--config", "@config.json", "--tables", "tables", *PAPER,
         "--output", "made"],
        r"there is no table 'x\ny'",
    ),
    "tables of another kind": (
        ["job", "check", "--tables", "data", "--config", "@config.json", *PAPER, "--output", "x"],
        "data/search.csv is missing",
    ),
    "a report without verdicts": (
        ["report", "page", "--folder", "results/smoke", "--config", "@config.json", *STYLE,
         "--output", "x.html"],
        "the report needs results/smoke/claims.json, which is missing",
    ),
    "a table that does not exist after one that does": (
        ["report", "tables", "growth-equations", "magic", "--tables", "tables", "--config",
         "@config.json", *PAPER, "--output", "made"],
        "there is no table 'magic'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", JOBS)
def test_a_wrong_file_is_one_sentence(case, here, capsys):
    refused(*JOBS[case], capsys)


def head(line: str) -> str:
    return line.splitlines()[0] + "\n"


ROWS = {
    "no rows": (head, "must have one row, which is the selection of a cell"),
    "two rows": (lambda text: text + text.splitlines()[1] + "\n", "must have one row"),
    "a short row": (lambda text: text + "hebbian,\n", "has 2 values instead of 14 in line 3"),
    "a column twice": (
        lambda text: text.replace("runner_up_eta", "eta"),
        "lacks the columns runner_up_eta",
    ),
    "no number": (lambda text: text.replace(",0.3,", ",much,", 1), "eta must be a number, got "),
    "not finite": (lambda text: text.replace(",0.3,", ",nan,", 1), "eta must be a finite number"),
    "not UTF-8": (lambda text: text + "\udcff", "is not a table of comma-separated values"),
    "empty": (lambda text: "", "lacks the columns learner"),
}


@pytest.mark.parametrize("case", ROWS)
def test_a_damaged_selection_is_one_sentence(case, here, capsys):
    change, said = ROWS[case]
    path = here / SELECTED
    write_result(path, change(path.read_text()).encode("utf-8", "surrogateescape"))
    refused(job("iid", SELECTED), said, capsys)


def test_a_search_without_accuracies_is_one_sentence(here, capsys):
    path = here / SEARCHED
    first, *others = path.read_text().splitlines()
    place = first.split(",").index("accuracy")
    cut = [[*row[:place], "", *row[place + 1 :]] for row in (line.split(",") for line in others)]
    write_result(path, "\n".join([first, *map(",".join, cut)]).encode())
    arguments = ["job", "select", "--spec", "@select.json", "--output", "made/x.csv", SEARCHED]
    refused(arguments, "accuracy must be a number, got ''", capsys)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda text: text.replace("learner", "teacher", 1), "lacks the columns learner"),
        (lambda text: text.replace("0.7", "much"), "that is not a number"),
        (lambda text: text.replace("0.7", "inf"), "that is not a number"),
        (lambda text: text.replace("0.7", "1,2"), "cannot be read as a table"),
        (lambda text: "", "cannot be read as a table"),
    ],
)
def test_a_damaged_table_is_one_sentence(change, said, here, capsys):
    path = here / "tables/iid.csv"
    write_result(path, change(path.read_text()).encode())
    arguments = ["report", "claims", "--tables", "tables", *PAPER, "--config", "@config.json"]
    refused([*arguments, *CLAIMS], said, capsys)


def test_a_trial_with_a_strange_key_is_one_sentence(here, capsys):
    spec = json.loads((here / "iid.json").read_text())
    (text, *_) = spec["cells"][0]["trials"]
    spec["cells"][0]["trials"] = [text.replace("epochs=", "epo\0chs=")]
    (here / "iid.json").write_text(json.dumps(spec))
    refused(job("iid", SELECTED), "is not a trial: ", capsys)


def test_an_unknown_argument_is_one_printable_line(capsys):
    with pytest.raises(SystemExit) as caught:
        main(["data", "verify", "\t\x1b[31m"])
    assert caught.value.code == 2
    *_, sentence = capsys.readouterr().err.splitlines()
    assert sentence == r"snap: error: unrecognized arguments: \t\x1b[31m"


def test_a_strange_key_of_a_claim_is_one_printable_line(here, capsys):
    claims = yaml.safe_load((ROOT / "workflow/claims.yaml").read_text())
    claims[0]["\t"] = 1
    (here / "claims.yaml").write_text(yaml.safe_dump(claims))
    arguments = ["report", "claims", "--tables", "tables", *PAPER, "--config", "@config.json"]
    refused([*arguments, "--claims", "claims.yaml", "--output", "x.json"], r"\t", capsys)


def test_a_wrong_colour_of_a_learner_is_one_sentence(here, capsys):
    style = yaml.safe_load((ROOT / "workflow/style.yaml").read_text())
    style["learners"]["sgd"] = {"growths": {"linear": {"color": ["#f5=87c3", "#000"]}}}
    (here / "style.yaml").write_text(yaml.safe_dump(style))
    arguments = ["report", "figure", "iid", "--tables", "tables", "--style", "style.yaml", *PAPER]
    refused([*arguments, "--output", "x.csv"], "style.yaml cannot be used as a style: ", capsys)


def test_data_that_cannot_be_had_leave_no_folder(here, capsys):
    arguments = ["data", "fetch", "--dataset", "MNIST", "--from", "data", "--dir", "new/data"]
    refused(arguments, "no source could serve MNIST", capsys)


def test_a_file_that_cannot_be_written_leaves_no_folder(tmp_path):
    with pytest.raises(OSError, match="File name too long"):
        write_atomically(tmp_path / "new/deep" / ("x" * 300), b"content")
    assert [*tmp_path.iterdir()] == []


# What is given as an argument

CONFIGS = {
    "no JSON": ("{", "the configuration must be JSON"),
    "a list": ("[]", "the configuration: it must be a mapping"),
    "empty": ("{}", "the configuration: run must be there"),
    "nested": ("[" * 10_000, "more than 40 levels of nesting"),
    "a key twice": ('{"run": "a", "run": "b"}', "the key run is there twice"),
    "no file": ("@nowhere.json", "nowhere.json cannot be read: No such file"),
    "a folder": ("@data", "data cannot be read: it is not a file"),
}


@pytest.mark.parametrize("case", CONFIGS)
def test_a_wrong_configuration_of_the_report_is_one_sentence(case, here, capsys):
    text, said = CONFIGS[case]
    given = ["--config", text, "--output", "made.html"]
    refused(["report", "page", "--folder", "report", *STYLE, *given], said, capsys)
    refused(["report", "tables", "metrics", "--tables", "tables", *PAPER, *given], said, capsys)
    claims = ["--claims", str(ROOT / "workflow/claims.yaml")]
    refused(["report", "claims", "--tables", "tables", *claims, *PAPER, *given], said, capsys)


@pytest.mark.parametrize("cores", ["0", "-1", "many", "1.5", "9" * 5000])
def test_a_wrong_number_of_cores_is_one_sentence(cores, here, capsys):
    refused(["costs", f"--cores={cores}"], "--cores must be a ", capsys)


def test_a_home_that_cannot_be_written_to_is_not_needed(here):
    """Nor a folder for caches. A file cannot be written into, even by root."""
    (here / "file").write_text("")
    names = ("HOME", "XDG_CACHE_HOME", "XDG_CONFIG_HOME", "MPLCONFIGDIR", "NUMBA_CACHE_DIR")
    environment = os.environ | dict.fromkeys(names, str(here / "file"))
    train = ["train", "--dataset", "Synthetic", "--configuration", "linear-linear", "--lambda", "1"]
    train += ["--eta", "0.1", "--alpha", "0.1", "--train-limit", "20", "--test-limit", "20"]
    for arguments in (train, ["report", "figure", "iid", "--tables", "tables", *PAPER, *STYLE]):
        output = ["--output", "made.png"] if arguments[0] == "report" else []
        done = subprocess.run(
            [sys.executable, "-m", "snap", *arguments, *output],
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, done.stderr
        assert "Traceback" not in done.stderr
    assert (here / "made.png").exists()


# What a run notes about itself

PLANS = {
    "no jobs": {"jobs": None},
    "a job without an output": {"jobs": [{"stage": "iid"}]},
    "a path with a zero byte": {"run": "smo\0ke"},
    "cores as text": {"cores": "two"},
    "a time as text": {"ended": "now"},
}


@pytest.mark.parametrize("case", PLANS)
def test_a_wrong_plan_is_one_sentence(case, here, capsys):
    path = here / "results/smoke/plan.json"
    content = json.loads(path.read_text()) | PLANS[case]
    write_result(path, json.dumps(content).encode())
    for command in ("status", "costs"):
        refused([command], "plan.json is not the plan of a run: remove it, then run again", capsys)


@pytest.mark.parametrize("text", ["[]", '{"seconds": "1", "cores": 2}', '{"seconds": 1}', "NaN"])
def test_a_wrong_account_of_time_is_one_sentence(text, here, capsys):
    write_result(here / "results/smoke/invocations/1.json", text.encode())
    refused(["costs"], "1.json is not an account of a run's time: remove it", capsys)


LEDGERS = ["[]", "5", '{"trained": "all"}', '{"trained": NaN}', "[" * 10_000, "\udcff", "9" * 5000]


@pytest.mark.parametrize("text", LEDGERS, ids=range(len(LEDGERS)))
def test_a_wrong_ledger_and_a_wrong_heartbeat_are_none(text, here, capsys):
    """They are only notes. A heartbeat may be half written."""
    beats = here / "results/smoke/heartbeats"
    beats.mkdir()
    beat = {"job": "x", "trials": 1, "done": 0, "share": 0, "pid": -1, "host": "", "threads": 1}
    (beats / "more.json").write_text(json.dumps(beat | {"at": "now"}))
    beat |= {"host": socket.gethostname(), "at": time.time()}
    for pid in (-1, 0.0, 4e9, 10**300):
        (beats / f"{pid}.json"[-40:]).write_text(json.dumps(beat | {"pid": pid}))
    for path in (here / "logs/iid.json", beats / "one.json"):
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    assert [main([command]) for command in ("status", "costs")] == [0, 0]
    assert "iid 2/2" in capsys.readouterr().out


@pytest.mark.parametrize("text", ["{}", '[{"date": 1}]', "[[]]"])
def test_a_wrong_account_of_restored_runs_is_one_sentence(text, here, capsys):
    write_result(here / "results/smoke/restored.json", text.encode())
    arguments = ["report", "page", "--folder", "results/smoke", "--config", "@config.json", *STYLE]
    refused([*arguments, "--output", "x.html"], "is not the account of restored runs", capsys)


def test_another_configuration_in_the_plan_counts_no_trials(here, capsys):
    path = here / "results/smoke/plan.json"
    content = json.loads(path.read_text())
    content["plans"]["smoke"]["lambdas"] = "many"
    write_result(path, json.dumps(content).encode())
    for output in (here / "results/smoke/iid").rglob("*.csv"):
        output.unlink()
    assert main(["status"]) == 0
    assert "iid 0/2" in capsys.readouterr().out
