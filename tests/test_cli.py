"""The command line, as people and scripts use it."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from little_run import as_in_the_paper, run_of
from snap.cli import train
from snap.cli.main import main
from snap.data.datasets import PAPER_DATASETS, checksum

TRAIN = ["train", "--dataset", "Synthetic", "--configuration", "sigmoid-sigmoid-neuron"]
PAIR = ["--lambda", "4", "--eta", "0.1", "--alpha", "0.3", "--hidden", "16"]


def snap(*arguments, capsys):
    code = main(list(arguments))
    out, err = capsys.readouterr()
    return code, out, err


@pytest.fixture
def folder(synthetic_root):
    return ["--dir", str(synthetic_root)]


@pytest.mark.parametrize("engine", ["auto", "cpu", "torch", "reference"])
def test_train_iid_json(folder, capsys, engine):
    limits = ["--epochs", "2", "--train-limit", "100", "--test-limit", "50", "--engine", engine]
    code, out, _ = snap(*TRAIN, *PAIR, *folder, *limits, "--json", capsys=capsys)
    result = json.loads(out)
    assert code == 0
    assert result["accuracy"] == result["history"][-1]["accuracy"]
    assert [point["epoch"] for point in result["history"]] == [1, 2]
    assert result["diverged"] is None
    assert len(result["fingerprint"]) == 64
    assert result["trial"].startswith("dataset=Synthetic,learner=hebbian")


def test_train_sequential_json(folder, capsys):
    options = ["--experiment", "sequential", "--max-epochs", "2", "--seed", "1", "--json"]
    code, out, _ = snap(*TRAIN, *PAIR, *folder, *options, capsys=capsys)
    result = json.loads(out)
    assert code == 0
    assert len(result["matrix"]) == 6
    assert len(result["epochs_per_task"]) == 5
    assert result["accuracy"] == result["history"][-1]["accuracy"]
    assert set(result["metrics"]) == {
        "average_accuracy",
        "forgetting",
        "backward_transfer",
        "forward_transfer",
        "forgetting_known",
        "forgetting_own",
    }


def test_train_for_people(folder, capsys):
    code, out, _ = snap(*TRAIN, *PAIR, *folder, "--epochs", "1", capsys=capsys)
    assert code == 0
    assert "accuracy over all classes: 0." in out
    sequence = ["--experiment", "sequential", "--max-epochs", "1"]
    code, out, _ = snap(*TRAIN, *PAIR, *folder, *sequence, capsys=capsys)
    assert code == 0
    assert "untrained" in out
    assert "forgetting" in out


@pytest.mark.parametrize("name", train.SEQUENCE)
def test_an_option_without_its_experiment_is_an_error(folder, capsys, monkeypatch, name):
    """Nothing is trained, although i.i.d. is the default."""
    monkeypatch.setattr("snap.experiments.run", None)
    option = [train._flag(name), train.DEFAULTS.items()[name]]
    for experiment in ([], ["--experiment", "iid"]):
        code, out, err = snap(*TRAIN, *PAIR, *folder, *option, *experiment, capsys=capsys)
        assert (code, out) == (2, "")
        assert err == f"snap: error: {option[0]} can only be used with --experiment sequential\n"


def test_epochs_are_for_iid_data_only(folder, capsys, monkeypatch):
    monkeypatch.setattr("snap.experiments.run", None)
    options = ["--experiment", "sequential", "--epochs", "9"]
    code, out, err = snap(*TRAIN, *PAIR, *folder, *options, capsys=capsys)
    assert (code, out) == (2, "")
    assert err == "snap: error: --epochs is for --experiment iid: a task's limit is --max-epochs\n"


def test_divergence_is_reported_not_raised(folder, capsys):
    wild = ["--lambda", "2", "--eta", "0.1", "--alpha", "50", "--protocol", "text"]
    arguments = ["train", "--dataset", "Synthetic", "--configuration", "exponential-linear-neuron"]
    code, out, _ = snap(*arguments, *wild, *folder, capsys=capsys)
    assert code == 0
    assert "diverged" in out
    code, out, _ = snap(*arguments, *wild, *folder, "--json", capsys=capsys)
    assert json.loads(out)["diverged"] > 0
    assert json.loads(out)["accuracy"] is None


def test_a_sequence_that_diverges_in_its_first_task(folder, capsys):
    wild = ["--lambda", "1", "--eta", "1", "--alpha", "1e30", "--protocol", "text", "--hidden", "4"]
    options = ["--experiment", "sequential", "--train-limit", "300", "--engine", "torch"]
    arguments = ["train", "--dataset", "Synthetic", "--configuration"]
    code, out, _ = snap(
        *arguments, "exponential-exponential-neuron", *wild, *options, *folder, capsys=capsys
    )
    assert code == 0
    head, *rows = out.split("after each task:\n")[1].split("tasks took")[0].splitlines()
    assert head.split() == ["0+1", "2+3", "4+5", "6+7", "8+9"]
    assert [row.split()[0] for row in rows] == ["untrained"]
    assert "diverged: weights stopped being finite at sample" in out


def test_sgd(folder, capsys):
    arguments = ["train", "--dataset", "Synthetic", "--configuration", "linear-linear"]
    options = ["--learner", "sgd", "--alpha", "0.1", "--epochs", "1", "--json"]
    code, out, _ = snap(*arguments, *options, *folder, capsys=capsys)
    assert code == 0
    assert json.loads(out)["accuracy"] > 0.5


def test_data_commands(tmp_path, capsys):
    here = ["--dataset", "Synthetic", "--dir", str(tmp_path)]
    code, _, err = snap("data", "verify", *here, capsys=capsys)
    assert code == 2
    assert "is missing" in err
    assert snap("data", "fetch", *here, capsys=capsys)[0] == 0
    code, out, _ = snap("data", "verify", *here, capsys=capsys)
    assert (code, out) == (0, "Synthetic: verified\n")


def test_a_stamp_has_every_dataset_that_was_fetched(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr("snap.data.store.fetch", lambda dataset, *_: f"{dataset}: fetched")
    stamp = tmp_path / "verified.txt"
    code, out, _ = snap(
        "data", "fetch", "--stamp", str(stamp), "--dir", str(tmp_path), capsys=capsys
    )
    assert code == 0
    names = [line.split(":")[0] for line in out.splitlines()]
    assert names == list(PAPER_DATASETS)
    assert stamp.read_text() == "".join(f"{checksum(name)}  {name}\n" for name in names)


def test_lists(capsys):
    code, out, _ = snap("configurations", capsys=capsys)
    assert code == 0
    assert out.count("\n") == 9
    code, out, _ = snap("configurations", "--json", capsys=capsys)
    assert len(json.loads(out)) == 7
    code, out, _ = snap("protocol", "text", capsys=capsys)
    assert "output_rule = error-softmax" in out
    code, out, _ = snap("protocol", "--json", capsys=capsys)
    assert json.loads(out)["name"] == "reference"


def test_bench_rows(capsys):
    code, out, _ = snap("bench", "--quick", "--hidden", "8", "--json", capsys=capsys)
    report = json.loads(out)
    assert code == 0
    columns = {
        "engine",
        "learner",
        "configuration",
        "hidden",
        "us_per_sample",
        "speedup_over_reference",
        "times_roofline",
    }
    assert all(columns <= set(row) for row in report["rows"])
    assert {row["engine"] for row in report["rows"]} == {"cpu", "torch", "reference"}
    assert {row["learner"] for row in report["rows"]} == {"hebbian", "sgd"}
    assert report["shared_layer_over_two"] > 0


@pytest.fixture
def run_folder(tmp_path, monkeypatch):
    """A folder in which the run quick was started last."""
    monkeypatch.chdir(tmp_path)
    run_of(Path("results/quick/tables"), as_in_the_paper())
    Path("results/quick/plan.json").write_text("{}", encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("form", "begins"),
    [
        ("png", b"\x89PNG"),
        ("pdf", b"%PDF"),
        ("svg", b"<?xml"),
        ("csv", b"learner,"),
        ("PNG", b"\x89"),
    ],
)
def test_a_figure_is_one_file(run_folder, capsys, form, begins):
    """Of the run that was started last; style and numbers of the paper are the project's."""
    code, _, err = snap("report", "figure", "iid", "--output", f"out/mine.{form}", capsys=capsys)
    assert (code, err) == (0, "")
    (made,) = Path("out").iterdir()
    assert made.name == f"mine.{form}"
    assert made.read_bytes().startswith(begins)


@pytest.mark.parametrize(
    "source",
    [["--run", "quick"], ["--tables", "results/quick"], ["--tables", "results/quick/tables"]],
)
def test_the_run_of_a_figure_can_be_named(run_folder, capsys, source):
    other = Path("results/other/plan.json")
    other.parent.mkdir()
    other.write_text("{}", encoding="utf-8")
    where = ["report", "figure", "iid", "--output", "mine.csv"]
    code, _, err = snap(*where, capsys=capsys)
    assert (code, "results/other lacks" in err) == (2, True)
    assert snap(*where, *source, capsys=capsys)[0] == 0
    assert Path("mine.csv").is_file()


def test_all_files_of_a_figure(run_folder, capsys):
    for name, forms in {"iid": "csv json pdf png svg", "network": "json pdf png svg"}.items():
        assert snap("report", "figure", name, "--all", name, capsys=capsys)[0] == 0
        made = sorted(path.name for path in Path(name).iterdir() if path.name[0] != ".")
        assert made == [f"{name}.{form}" for form in forms.split()]
        caption = Path(__file__).parents[1] / f"reports/captions/{name}.rst"
        about = json.loads(Path(name, f"{name}.json").read_bytes())
        assert about["caption"] == caption.read_text()


BAD_FIGURES = {
    "unknown figure": (["pie", "--output", "mine.png"], "there is no figure 'pie'"),
    "unknown form": (["iid", "--output", "mine.jpg"], "must end in one of .png, .pdf, .svg, .csv"),
    "no form": (["iid", "--output", "mine"], "must end in one of .png"),
    "no data": (["network", "--output", "mine.csv"], "network is a diagram, which has no data"),
    "no run": (["iid", "--run", "nope", "--output", "mine.png"], "no run 'nope'"),
    "no tables": (["iid", "--tables", ".", "--output", "mine.png"], ". lacks what iid is drawn"),
    "no dataset": (
        ["curves-CIFAR", "--output", "mine.png"],
        "has no dataset CIFAR: choose from MNIST",
    ),
    "nothing to draw": (["features-MNIST", "--output", "mine.png"], "no figure features-MNIST"),
    "no style": (["iid", "--style", "x.yaml", "--output", "mine.png"], "x.yaml cannot be used"),
    "no numbers": (["iid", "--paper", "x.yaml", "--output", "mine.png"], "x.yaml cannot be read"),
}


@pytest.mark.parametrize("case", BAD_FIGURES)
def test_a_figure_that_cannot_be_drawn(run_folder, capsys, case):
    arguments, said = BAD_FIGURES[case]
    code, out, err = snap("report", "figure", *arguments, capsys=capsys)
    assert (code, out) == (2, "")
    assert err.startswith("snap: error: ")
    assert err.count("\n") == 1
    assert said in err
    assert not list(Path().glob("mine*"))


BAD = {
    "unknown dataset": (["--dataset", "CIFAR"], "dataset"),
    "dataset with a path": (["--dataset", "../MNIST"], "dataset"),
    "unknown configuration": (["--configuration", "cubic"], "configuration"),
    "negative lambda": (["--lambda", "-1"], "lambda"),
    "lambda of zero": (["--lambda", "0"], "lambda"),
    "alpha is NaN": (["--alpha", "nan"], "alpha"),
    "alpha is a word": (["--alpha", "fast"], "alpha"),
    "no hidden neuron": (["--hidden", "0"], "hidden"),
    "no epoch": (["--epochs", "0"], "epochs"),
    "an empty class list": (["--experiment", "sequential", "--tasks", ""], "tasks"),
    "an empty task": (["--experiment", "sequential", "--tasks", "0.1--2.3"], "tasks"),
    "a class twice": (["--experiment", "sequential", "--tasks", "0.1-1.2"], "tasks"),
    "a threshold of 80": (["--experiment", "sequential", "--threshold", "80"], "threshold"),
    "unknown protocol": (["--protocol", "draft"], "protocol"),
    "unknown switch": (["--protocol", "text+speed=high"], "switch"),
    "a negative seed": (["--seed", "-4"], "seed"),
    "no such device": (["--engine", "torch", "--device", "abacus"], "device"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_sentence(case, folder, capsys):
    arguments, word = BAD[case]
    code, out, err = snap(*TRAIN, *PAIR, *folder, *arguments, capsys=capsys)
    assert code == 2
    assert out == ""
    assert err.startswith("snap: error: ")
    assert err.count("\n") == 1
    assert word in err


@pytest.mark.parametrize(
    "arguments",
    [
        ["train"],
        ["train", "--configuration", "linear-linear", "--alpha", "1", "--engine", "tpu"],
        ["dance"],
        ["data"],
    ],
)
def test_bad_usage_exits_with_2(arguments, capsys):
    with pytest.raises(SystemExit) as caught:
        main(arguments)
    assert caught.value.code == 2
    assert "error" in capsys.readouterr().err


def test_a_corrupted_file_is_named(synthetic_root, tmp_path, capsys):
    raw = tmp_path / "Synthetic" / "raw"
    raw.mkdir(parents=True)
    for path in (synthetic_root / "Synthetic" / "raw").iterdir():
        (raw / path.name).write_bytes(path.read_bytes())
    broken = raw / "train-labels-idx1-ubyte"
    broken.write_bytes(broken.read_bytes()[:-5])
    code, _, err = snap(*TRAIN, *PAIR, "--dir", str(tmp_path), capsys=capsys)
    assert code == 2
    assert str(broken) in err


def test_the_installed_command():
    done = subprocess.run(
        [sys.executable, "-m", "snap", "--help"], capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0
    assert "snap data fetch" in done.stdout


def test_importing_snap_is_fast():
    """A workflow that only names trials must not spend time on importing torch or numba."""
    heavy = "{'torch', 'numba', 'numpy', 'pandas'}"
    code = "import sys, snap, snap.cli.main, snap.pipeline.specs;"
    code += f"print(sorted({heavy} & set(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.strip() == "[]"
