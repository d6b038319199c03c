"""Damaged data, trials and results are detected."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from snap import Iid, SnapError, Trial
from snap.cli.main import main
from snap.data import datasets
from snap.files import fault, read_result, record_of, write_result
from snap.pipeline.rows import COLUMNS, read_rows, table, write_rows
from snap.pipeline.training import Workplace, train

TRIAL = Trial(
    "linear-linear", 0.1, 4, 0.1, "Synthetic", experiment=Iid(1), hidden=4, train_limit=200
)


@pytest.fixture
def folder(tmp_path, synthetic_root):
    """A folder with data, one finished trial and one result."""
    shutil.copytree(synthetic_root / "Synthetic", tmp_path / "data/Synthetic")
    train([TRIAL], "cpu", Workplace(tmp_path / "results/trials", tmp_path / "data"))
    write_rows(tmp_path / "results/run/search/point.csv", COLUMNS["search"], [{"eta": 0.1}])
    return tmp_path


def verify(folder, capsys, *options):
    code = main(
        ["verify", "--results", str(folder / "results"), "--dir", str(folder / "data"), *options]
    )
    return code, capsys.readouterr().out.splitlines()


def test_intact_files_pass(folder, capsys):
    code, lines = verify(folder, capsys)
    assert (code, lines) == (0, ["6 files checked, 0 missing or damaged"])


def flip(path, at=-3):
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(content)


def test_every_kind_of_damage_is_reported(folder, capsys):
    image = folder / "data/Synthetic/raw/t10k-images-idx3-ubyte"
    (trial,) = (folder / "results/trials").glob("*/*.json")
    result = folder / "results/run/search/point.csv"
    flip(image)
    content = json.loads(trial.read_text())
    content["result"]["accuracy"] = 0.999
    trial.write_text(json.dumps(content))
    result.write_bytes(result.read_bytes()[:-4])
    code, lines = verify(folder, capsys)
    assert code == 1
    assert [line.split(" ")[0] for line in lines[:-1]] == [str(image), str(trial), str(result)]
    assert "altered" in lines[0]
    assert lines[1].endswith("does not match its checksum")
    assert lines[-1] == "6 files checked, 3 missing or damaged"


def test_a_damaged_trial_is_removed_and_trained_again(folder, capsys):
    (trial,) = (folder / "results/trials").glob("*/*.json")
    before = trial.read_bytes()
    flip(trial, 100)
    assert verify(folder, capsys, "--remove")[0] == 0
    assert not trial.exists()
    train([TRIAL], "cpu", Workplace(folder / "results/trials", folder / "data"))
    again, kept = json.loads(trial.read_text())["result"], json.loads(before)["result"]
    assert again["accuracy"] == kept["accuracy"]
    assert verify(folder, capsys)[0] == 0


@pytest.mark.parametrize("content", ["", "{", "[]", "5", '{"sha256": "0", "result": {}}'])
def test_an_invalid_trial_file_is_reported_and_trained_again(folder, capsys, content):
    (trial,) = (folder / "results/trials").glob("*/*.json")
    trial.write_text(content)
    ledger = folder / "ledger.json"
    train([TRIAL], "cpu", Workplace(folder / "results/trials", folder / "data", ledger=ledger))
    assert json.loads(ledger.read_text())["trained"] == 1
    said = capsys.readouterr().err
    assert str(trial) in said
    assert "trained again" in said


def test_a_trial_file_with_the_wrong_name_is_not_used(folder, capsys):
    (trial,) = (folder / "results/trials").glob("*/*.json")
    other = Trial(
        "linear-linear", 0.3, 4, 0.1, "Synthetic", experiment=Iid(1), hidden=4, train_limit=200
    )
    name = other.fingerprint(datasets.checksum("Synthetic"), "cpu")
    place = folder / f"results/trials/{name[:2]}/{name}.json"
    place.parent.mkdir(exist_ok=True)
    shutil.copy(trial, place)
    (result,) = train([other], "cpu", Workplace(folder / "results/trials", folder / "data"))
    assert result["trial"] == other.text
    assert "contains another trial" in capsys.readouterr().err


@pytest.mark.parametrize(
    "change",
    [
        lambda record: bytes([record[0] | 0x80]) + record[1:],
        lambda record: record[:-1] + b"\xff",
        lambda record: bytes(len(record)),
        lambda record: b"",
        lambda record: record[:40],
        lambda record: record.replace(b"point", b"other"),
    ],
    ids=["first byte", "last byte", "zeros", "empty", "cut", "name"],
)
def test_a_damaged_record_is_reported_and_the_result_is_not_used(folder, capsys, change):
    """A record that was not on disk before a power cut is empty, or full of zeros."""
    result = folder / "results/run/search/point.csv"
    record = record_of(result)
    record.write_bytes(change(record.read_bytes()))
    code, lines = verify(folder, capsys)
    assert (code, lines[0]) == (1, f"{result} has a damaged record")
    with pytest.raises(SnapError, match="has a damaged record: run snap verify --remove"):
        read_rows(result)
    assert verify(folder, capsys, "--remove")[0] == 0
    assert not result.exists()
    assert not record.exists()


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (Path.mkdir, "cannot be read (not a file)"),
        (os.mkfifo, "cannot be read (not a file)"),
        (lambda path: path.symlink_to(path), "cannot be read (Too many levels"),
        (lambda path: path.symlink_to("nowhere"), "is missing"),
    ],
    ids=["folder", "pipe", "loop", "broken link"],
)
@pytest.mark.parametrize(
    "pattern", ["results/run/search/point.csv", "results/trials/*/*.json", "data/*/raw/t10k-l*"]
)
def test_something_else_in_place_of_a_file(folder, capsys, make, says, pattern):
    (path,) = folder.glob(pattern)
    path.unlink()
    make(path)
    code, lines = verify(folder, capsys)
    assert code == 1
    assert lines[0].startswith(f"{path} ")
    if "trials" not in pattern:
        assert says in lines[0]
    assert verify(folder, capsys, "--remove")[0] == 0
    assert not os.path.lexists(path)


def test_a_folder_with_files_is_not_removed(folder, capsys):
    result = folder / "results/run/search/point.csv"
    result.unlink()
    result.mkdir()
    (result / "mine.txt").write_text("keep")
    assert main(["verify", "--results", str(folder / "results"), "--remove"]) == 2
    assert "is a folder where a file belongs: move it away" in capsys.readouterr().err
    assert (result / "mine.txt").exists()


def test_results_without_a_record_are_reported_and_files_of_the_user_are_not(folder, capsys):
    run = folder / "results/run"
    own = ("tables/sequential.csv", "plan.json", "select/sgd/MNIST/linear-linear/lambda=none.csv")
    own += ("control/MNIST/mask.matrix.csv", "ladder/sgd/MNIST/linear-linear.csv")
    others = ("notes.txt", "tables/mine.csv", "figures/mine.png", "invocations/1.json")
    for name in (*own, *others):
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text("{}")
    write_result(run / "figures/iid.png", b"png")
    (run / "figures/iid.csv").write_text("")
    code, lines = verify(folder, capsys)
    wanted = [f"{run / name} has no record of its checksum" for name in (*own, "figures/iid.csv")]
    assert (code, sorted(lines[:-1])) == (1, sorted(wanted))


def test_damaged_data_take_their_stamp_along(folder, capsys):
    """The workflow takes a stamp for a verified dataset, and would not look at the data again."""
    stamp = folder / "data/Synthetic/verified.txt"
    fetch = ["data", "fetch", "--dataset", "Synthetic", "--dir", str(folder / "data")]
    assert main([*fetch, "--stamp", str(stamp)]) == 0
    capsys.readouterr()
    assert verify(folder, capsys)[0] == 0
    flip(folder / "data/Synthetic/raw/t10k-labels-idx1-ubyte")
    assert verify(folder, capsys, "--remove")[0] == 0
    assert not stamp.exists()
    assert main([*fetch, "--stamp", str(stamp)]) == 0
    stamp.write_text(stamp.read_text().replace("a", "b"))
    capsys.readouterr()
    code, lines = verify(folder, capsys)
    assert (code, lines[0]) == (1, f"{stamp} is not the stamp of a verified dataset")


@pytest.mark.parametrize("name", ["plan.json", "provenance.json", "invocations/1.json"])
def test_what_a_run_says_about_itself_is_checked(folder, capsys, name):
    path = folder / "results/run" / name
    write_result(path, b'{"run": "run", "seconds": 5}')
    flip(path)
    assert verify(folder, capsys)[1][0] == f"{path} does not match its checksum"


def test_a_deeply_nested_trial_is_reported(folder, capsys):
    (trial,) = (folder / "results/trials").glob("*/*.json")
    trial.write_text("[" * 100_000)
    assert verify(folder, capsys)[1][0] == f"{trial} is not a trial's result"


def test_a_flipped_bit_in_the_key_of_a_trials_name_is_reported(folder, capsys):
    (trial,) = (folder / "results/trials").glob("*/*.json")
    trial.write_text(trial.read_text().replace('"name"', '"naoe"'))
    assert verify(folder, capsys)[1][0] == f"{trial} does not match its checksum"


def test_a_trial_in_the_file_of_another_is_reported(folder, capsys):
    (trial,) = (folder / "results/trials").glob("*/*.json")
    other = trial.with_name("0" * 64 + ".json")
    shutil.copy(trial, other)
    assert verify(folder, capsys)[1][0] == f"{other} contains another trial"


def test_a_step_rejects_a_modified_result(tmp_path):
    part = tmp_path / "part.csv"
    write_rows(part, COLUMNS["search"], [{"eta": 0.1, "accuracy": 0.5}])
    part.write_text(part.read_text().replace("0.5", "0.9"))
    for use in (lambda: read_rows(part), lambda: table([part], tmp_path / "search.csv", "r", "")):
        with pytest.raises(SnapError, match=r"part\.csv does not match its checksum: run snap"):
            use()


def test_a_result_without_a_record_is_accepted(tmp_path):
    """A run was killed between writing a file and its record, or the file was made by hand."""
    path = tmp_path / "part.csv"
    path.write_text("eta\n0.1\n")
    assert read_rows(path) == [{"eta": "0.1"}]
    assert fault(path) is None
    write_result(path, b"eta\n0.2\n")
    path.unlink()
    assert fault(path) == "is missing"
    with pytest.raises(SnapError, match="is missing"):
        read_result(path)


def test_a_damaged_dataset_is_rejected(folder):
    flip(folder / "data/Synthetic/raw/train-images-idx3-ubyte")
    shutil.rmtree(folder / "results/trials")
    with pytest.raises(SnapError, match="altered"):
        train([TRIAL], "cpu", Workplace(folder / "results/trials", folder / "data"))
