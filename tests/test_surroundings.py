"""The same results whatever surrounds the project: Matplotlib's settings, a locale, a folder."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from figure_runs import rows
from little_run import write
from workspace import PAPER, PRESET, ROOT, Workspace

SETTINGS = """
font.size: 19
lines.linewidth: 7
axes.prop_cycle: cycler(color=["red"])
axes.facecolor: yellow
figure.dpi: 31
savefig.dpi: 37
savefig.pad_inches: 1
savefig.transparent: True
pdf.compression: 0
pdf.fonttype: 42
svg.fonttype: path
path.simplify: False
axes.formatter.use_locale: True
"""
STEPS = """
import sys
from snap.cli.main import main
tables, workflow, config = sys.argv[1:]
paper = ["--paper", f"{workflow}/paper.yaml"]
draw = [*paper, "--style", f"{workflow}/style.yaml", "--tables", tables, "--all", "figures"]
for name in ("iid", "growth", "matrix-MNIST"):
    kind = name.partition("-")[0]
    caption = f"{workflow}/../reports/captions/{kind}.rst"
    assert main(["report", "figure", name, *draw, "--caption", caption]) == 0
given = [*paper, "--tables", tables, "--config", config, "--output", "paper_tables"]
assert main(["report", "tables", "metrics-MNIST", "notation", *given]) == 0
"""
NO_UTF8 = {"PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
ODD_NAMES = ["$(touch OWNED)", "`touch OWNED`", "a{b}", "{", 'a"b', "a\\b", "a:b"]


@pytest.fixture(scope="module")
def tables(tmp_path_factory) -> Path:
    return write(tmp_path_factory.mktemp("tables"), rows()).folder


@pytest.fixture(scope="module")
def expected(tables, tmp_path_factory) -> dict[str, bytes]:
    """What the steps write in an empty folder, in UTF-8."""
    return made(tables, tmp_path_factory.mktemp("plain"), PYTHONUTF8="1")


def made(tables: Path, folder: Path, **variables: str) -> dict[str, bytes]:
    """What some steps of the report write in a folder."""
    command = [sys.executable, "-c", STEPS, tables, ROOT / "workflow", json.dumps(PAPER)]
    done = subprocess.run(
        command, cwd=folder, env=os.environ | variables, capture_output=True, timeout=300
    )
    assert done.returncode == 0, done.stderr.decode(errors="replace")
    paths = sorted(path for path in folder.glob("*/*") if path.is_file())
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in paths}


@pytest.fixture(scope="session")
def latin(tmp_path_factory) -> dict[str, str]:
    """A locale that cannot write λ."""
    folder = tmp_path_factory.mktemp("locales")
    command = ["localedef", "-i", "en_US", "-f", "ISO-8859-1", folder / "en_US.ISO-8859-1"]
    if shutil.which(command[0]) is None or subprocess.run(command, check=False).returncode:
        pytest.skip("localedef cannot make a locale here")
    return {"LOCPATH": str(folder), "LC_ALL": "en_US.ISO-8859-1", **NO_UTF8}


@pytest.mark.parametrize("place", ["folder", "variable", "home"])
def test_settings_of_matplotlib_change_no_figure(tables, expected, tmp_path, place):
    variables = {}
    if place == "folder":
        (tmp_path / "matplotlibrc").write_text(SETTINGS, encoding="utf-8")
    elif place == "variable":
        (tmp_path / "mine").write_text(SETTINGS, encoding="utf-8")
        variables["MATPLOTLIBRC"] = str(tmp_path / "mine")
    else:
        (tmp_path / ".config/matplotlib").mkdir(parents=True)
        (tmp_path / ".config/matplotlib/matplotlibrc").write_text(SETTINGS, encoding="utf-8")
        variables["MPLCONFIGDIR"] = str(tmp_path / ".config/matplotlib")
    assert made(tables, tmp_path, **variables) == expected


def test_the_locale_changes_no_file(tables, expected, latin, tmp_path):
    assert "λ".encode() in expected["figures/iid.json"] + expected["paper_tables/notation.md"]
    for name, variables in (("latin", latin), ("ascii", {"LC_ALL": "POSIX", **NO_UTF8})):
        (tmp_path / name).mkdir()
        assert made(tables, tmp_path / name, **variables) == expected


def test_make_chooses_utf8(latin):
    shown = "shown: ; @$(BIN)/python -c 'import sys; print(sys.flags.utf8_mode)'"
    done = subprocess.run(
        ["make", "--eval", shown, f"VENV={sys.prefix}", "shown"],
        cwd=ROOT,
        env=os.environ | latin,
        capture_output=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == b"1\n"


def test_snakemake_without_make_refuses_another_locale(latin, tmp_path):
    """Its own report would be written without Greek letters, or with others in their place."""
    workspace = Workspace(tmp_path)
    workspace.configure(PRESET)
    workspace.environment |= latin
    done = workspace.snakemake("data/Synthetic/verified.txt")
    assert done.returncode == 1
    assert "snap: error: the locale's encoding is ISO-8859-1: set PYTHONUTF8=1" in done.stderr
    assert not (tmp_path / "data").exists()


def test_snakemake_without_make_refuses_braces(tmp_path):
    workspace = Workspace(tmp_path / "{mine}")
    workspace.folder.mkdir()
    workspace.configure(PRESET)
    done = workspace.snakemake("data/Synthetic/verified.txt")
    assert done.returncode == 1
    wanted = f"snap: error: a path with a brace cannot be used: rename {workspace.folder}\n"
    assert done.stderr.endswith(wanted)
    assert not (workspace.folder / "data").exists()


@pytest.mark.parametrize("name", ODD_NAMES)
def test_make_refuses_a_folder_whose_name_would_be_misread(tmp_path, name):
    folder = tmp_path / name
    folder.mkdir()
    shutil.copy(ROOT / "Makefile", folder)
    done = subprocess.run(
        ["make", "run", "CONFIG=mine.yaml"], cwd=folder, capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert f"cannot be used: rename {folder}" in done.stderr
    assert [path.name for path in folder.iterdir()] == ["Makefile"]


def test_a_folder_may_have_almost_any_name(tmp_path):
    folder = tmp_path / "it's [a] *;&#%~=λ?"
    shutil.copytree(ROOT / "workflow", folder / "workflow")
    shutil.copytree(ROOT / "reports/captions", folder / "reports/captions")
    for name in ("Snakefile", "Makefile"):
        shutil.copy(ROOT / name, folder)
    shutil.copytree(ROOT / "envs", folder / "envs")
    (folder / ".venv").symlink_to(sys.prefix)
    (folder / "config.yaml").write_text(yaml.safe_dump(PRESET), encoding="utf-8")
    shown = "shown: ; @$(SNAKEMAKE) --cores 1 data/Synthetic/verified.txt"
    done = subprocess.run(
        ["make", "--eval", shown, "shown"], cwd=folder, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    assert (folder / "data/Synthetic/verified.txt").is_file()
