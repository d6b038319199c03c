"""`make run` and the script behind it: which configuration is run, and what is said at the end."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from snap.files import write_result
from workspace import ROOT, Make

HOSTILE = [
    "$(touch pwned)",
    "$(shell touch pwned)",
    "$$(touch pwned)",
    "`touch pwned`",
    "; touch pwned",
    "' ; touch pwned ; '",
    '" ; touch pwned ; "',
    "${CONFIG} $(CONFIG) #",
    "$(error stop)",
    'it\'s my "own" \\ file.yaml',
]
SNAKEMAKE = """
import json, os, sys
with open("calls", "a") as file:
    file.write(json.dumps(sys.argv[1:]) + "\\n")
sys.exit(int(os.environ["CODE"]))
"""
# On SIGINT it starts a job, and waits until it ends.
LATE = """
import signal, subprocess, sys
signal.signal(signal.SIGINT, lambda *_: sys.exit(subprocess.run(["sleep", "600"]).returncode != 0))
print("ready", flush=True)
signal.pause()
"""


class Run:
    """A folder in which workflow/run.py starts a Snakemake that only notes how it is called."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        package = folder / "stub/snakemake"
        package.mkdir(parents=True)
        (package / "__init__.py").touch()
        (package / "__main__.py").write_text(SNAKEMAKE)
        shutil.copy(ROOT / "config.yaml", folder)
        (folder / "workflow").symlink_to(ROOT / "workflow")

    def write(self, name: str, text: str = "lambdas: [4]") -> str:
        (self.folder / name).parent.mkdir(parents=True, exist_ok=True)
        (self.folder / name).write_text(text)
        return name

    def reported(self, name: str) -> Path:
        """The report of a run, which is there, with its record."""
        report = self.folder / f"results/{name}/report.html"
        write_result(report, b"report")
        return report

    def __call__(
        self, *options: str, code: int = 0, **variables: str
    ) -> subprocess.CompletedProcess:
        process = self.start(*options, CODE=str(code), **variables)
        said = process.communicate(timeout=60)
        return subprocess.CompletedProcess(process.args, process.returncode, *said)

    def start(self, *options: str, **variables: str) -> subprocess.Popen[str]:
        environment = {key: value for key, value in os.environ.items() if key != "CONFIG"}
        paths = f"{self.folder / 'stub'}{os.pathsep}{ROOT / 'src'}"
        return subprocess.Popen(
            [sys.executable, "workflow/run.py", *options],
            cwd=self.folder,
            env=environment | {"PYTHONPATH": paths, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )

    @property
    def calls(self) -> list[list[str]]:
        calls = self.folder / "calls"
        return (
            [json.loads(line) for line in calls.read_text().splitlines()] if calls.exists() else []
        )


@pytest.fixture
def run(tmp_path) -> Run:
    return Run(tmp_path)


@pytest.mark.parametrize("value", HOSTILE)
@pytest.mark.parametrize("given", ["argument", "environment"])
def test_neither_a_shell_nor_make_expands_config(tmp_path, value, given):
    (tmp_path / "Makefile").symlink_to(ROOT / "Makefile")
    python = tmp_path / "venv/bin/python"
    python.parent.mkdir(parents=True)
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$CONFIG" "$@"\n')
    python.chmod(0o755)
    command = ["make", "--no-print-directory", "--assume-old", "venv/installed", "VENV=venv", "run"]
    command += [f"CONFIG={value}"] if given == "argument" else []
    done = subprocess.run(
        command,
        cwd=tmp_path,
        env=os.environ | ({"CONFIG": value} if given == "environment" else {}),
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{value}\nworkflow/run.py\n--configs\nCONFIG\n"
    assert not (tmp_path / "pwned").exists()


@pytest.mark.parametrize("name", [*(h for h in HOSTILE if "/" not in h), "-n", "a b.yaml"])
def test_a_file_of_any_name_can_be_used(run, name):
    """As a single path, and quoted as in a shell."""
    run.write(name, "run: mine")
    report = run.reported("mine")
    path = f"./{name}" if name.startswith("-") else name
    preset = "workflow/presets/quick.yaml"
    for given, files in ((name, [path]), (f"{preset} {shlex.quote(name)}", [preset, path])):
        done = run("--configs", "CONFIG", CONFIG=given)
        assert done.returncode == 0, done.stderr
        assert done.stdout == f"Done: open {report}\n"
        assert run.calls[-2:] == [
            ["pairs", "--configfile", *files],
            ["all", "--configfile", *files],
        ]
    assert not (run.folder / "pwned").exists()


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("mine.yaml", "mine"),
        ("workflow/presets/quick.yaml", None),
        ("workflow/presets/quick.yaml mine.yaml", "mine"),
        ("config.yaml", None),
        ("deep/er/other.yml", "other"),
    ],
)
def test_a_file_without_run_gives_the_run_its_name(run, given, name):
    """So it replaces neither the results of the paper nor those of the preset below it."""
    for file in ("mine.yaml", "deep/er/other.yml"):
        run.write(file)
    own = yaml.safe_load((run.folder / given.split()[-1]).read_text()).get("run")
    report = run.reported(name or own)
    done = run("--configs", "CONFIG", "--workflow-profile", "none", CONFIG=given)
    assert done.returncode == 0, done.stderr
    named = ["--config", f"run={name}"] if name else []
    options = ["--configfile", *given.split(), *named, "--workflow-profile", "none"]
    assert run.calls == [["pairs", *options], ["all", *options]]
    assert done.stdout == f"Done: open {report}\n"


WRONG = {
    "nothing": ("", "", "make run CONFIG=mine.yaml"),
    "spaces": ("  ", "", "make run CONFIG=mine.yaml"),
    "missing": ("nope.yaml", "", "CONFIG names nope.yaml, which is not a file"),
    "a folder": ("workflow", "", "CONFIG names workflow, which is not a file"),
    "one is missing": ("mine.yaml nope.yaml", "run: mine", "CONFIG names nope.yaml"),
    "unquoted": ("my file.yaml", "run: mine", "CONFIG names my, which is not a file"),
    "half a quote": ("mine.yaml 'x", "run: mine", "CONFIG cannot be read as a list of files"),
    "too long": ("x" * 5000, "", "which is not a file"),
    "empty": ("mine.yaml", "# nothing", "mine.yaml is empty"),
    "a list": ("mine.yaml", "- run", "mine.yaml must be a mapping"),
    "not YAML": ("mine.yaml", "a: [", "mine.yaml cannot be read"),
    "not text": ("mine.yaml", "\udcff", "mine.yaml cannot be read"),
    "a name for no run": ("2nd.yaml", "lambdas: [4]", "2nd.yaml sets no `run`"),
    "the paper's name": ("paper.yaml", "lambdas: [4]", "paper.yaml sets no `run`"),
    "the store's name": ("trials.yaml", "lambdas: [4]", "add `run: NAME`"),
}


@pytest.mark.parametrize("case", WRONG)
def test_a_wrong_config_is_one_sentence(run, case):
    given, text, said = WRONG[case]
    name = given if given.endswith(".yaml") and " " not in given else "mine.yaml"
    if text:
        (run.folder / name).write_bytes(text.encode(errors="surrogateescape"))
    done = run("--configs", "CONFIG", CONFIG=given)
    assert (done.returncode, done.stdout) == (2, "")
    (sentence,) = done.stderr.splitlines()
    assert sentence.startswith("snap: error: ")
    assert said in sentence
    assert run.calls == []


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ([], "paper"),
        (["--configfile", "workflow/presets/quick.yaml"], "quick"),
        (["--configfile", "workflow/presets/quick.yaml", "--config", "run=my"], "my"),
        (["tables", "--configfile", "workflow/variations/union.yaml"], None),
    ],
)
def test_a_run_of_everything_ends_with_its_report(run, options, name):
    report = run.reported(name or "union")
    done = run(*options)
    assert done.returncode == 0, done.stderr
    assert done.stdout == (f"Done: open {report}\n" if name else "")
    failed = run(*options, code=1)
    assert (failed.returncode, failed.stdout) == (1, "")
    report.unlink()
    assert run(*options).stdout == ""


def test_a_job_that_starts_while_a_run_is_stopped_is_stopped_too(run):
    """Snakemake would wait for it, which may take hours."""
    (run.folder / "stub/snakemake/__main__.py").write_text(LATE)
    process = run.start()
    try:
        assert process.stdout.readline() == "ready\n"
        process.terminate()
        assert process.wait(timeout=60) == 128 + signal.SIGTERM
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def test_make_run_makes_a_report(tmp_path):
    """A whole run, over a preset, with the least that the report needs."""
    make = Make(tmp_path, yaml.safe_load((ROOT / "config.yaml").read_text()))
    less = {
        "configurations": ["linear-linear"],
        "lambdas": [4],
        "sgd": {"configurations": ["linear-linear"], "alpha": [0.1]},
        "readings": None,
        "ladder": {"configurations": [], "sgd_alpha": None},
    }
    (tmp_path / "my 'own'.yaml").write_text(yaml.safe_dump({"run": "mine", **less}))
    process = make.start("run", "CONFIG=workflow/presets/smoke.yaml \"my 'own'.yaml\"")
    try:
        assert process.wait(timeout=400) == 0, make.said()
    finally:
        process.kill()
    report = tmp_path / "results/mine/report.html"
    assert make.said().splitlines()[-1] == f"Done: open {report}"
    assert report.is_file()
