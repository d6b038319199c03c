"""Damaged data, trials and results are detected."""

from __future__ import annotations

import json
import shutil

import pytest

from snap import Iid, SnapError, Trial
from snap.cli.main import main
from snap.data import datasets
from snap.files import fault, read_result, write_result
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
