"""The cases of `make fuzz`: each is a folder with hostile or valid input, and a command."""

from __future__ import annotations

import contextlib
import json
import os
import random
from collections.abc import Callable, Mapping
from pathlib import Path

import report_folder
import trained_run
from fuzz_commands import HOSTILE, command_line
from fuzz_place import CONFIG, Case, rewrite, spoil_part
from fuzz_values import NUMBERS, as_yaml, changed, damaged, idx_file, spoil
from snap.files import write_result
from snap.pipeline.shapes import SPECS
from test_hostile_publications import HOSTILE as PUBLICATIONS  # changes of a publication
from workspace import ROOT

SNAKEMAKE = ("--snakefile", str(ROOT / "Snakefile"), "--cores", "1", "--dry-run")
RAW = "data/Synthetic/raw"


# The kinds of cases. Each changes the folder, which is the working directory, and gives a command.


def snap_command(rng: random.Random, folder: Path) -> Case:
    return Case("snap", command_line(rng), own_process=rng.random() < 0.03)


def configuration(rng: random.Random, folder: Path) -> Case:
    """Another value somewhere in the configuration, or in a file that is laid over it."""
    overlaid = rng.random() < 0.5
    content = CONFIG
    if overlaid:
        key = rng.choice(list(CONFIG))
        content = {key: CONFIG[key]}
    (folder / ("mine.yaml" if overlaid else "config.yaml")).write_bytes(
        as_yaml(changed(content, rng))
    )
    options = ["--configfile", "mine.yaml"] if overlaid else []
    return Case("snakemake", [*SNAKEMAKE, *options])


def file_of_configuration(rng: random.Random, folder: Path) -> Case:
    """A configuration file of which anything may be wrong, as make is given it."""
    which = rng.choice(("config.yaml", "mine.yaml"))
    for _ in range(rng.choice((1, 1, 3))):
        if (folder / which).is_file():
            spoil(folder / which, rng)
    if rng.random() < 0.5:
        files = rng.choice(("mine.yaml", "./mine.yaml", "mine.yaml mine.yaml"))
        return Case("run.py", ["--configs", "FILES", *SNAKEMAKE], {"FILES": files})
    return Case("run.py", [*SNAKEMAKE, "--configfile", "mine.yaml"])


def named_files(rng: random.Random, folder: Path) -> Case:
    """Anything in place of the names of configuration files."""
    name = rng.choice((*HOSTILE, "data", "mine.yaml '", '"mine.yaml"', "  ", "mine.yaml\\"))
    if rng.random() < 0.5:
        return Case("run.py", ["--configs", "FILES", *SNAKEMAKE], {"FILES": name})
    return Case("run.py", [*SNAKEMAKE, "--configfile", name, "mine.yaml"])


def items_of_configuration(rng: random.Random, folder: Path) -> Case:
    """`--config KEY=VALUE`, as make and Snakemake are given it."""
    values = (*HOSTILE, "[1, 2]", "{a: 1}", "[[[", "{train: 10}", "!!python/none", "&a [*a]")
    items = [
        rng.choice(list(CONFIG)) + rng.choice(("=", "=", "=", "", "==", "\n=")) + rng.choice(values)
        for _ in range(rng.choice((1, 1, 2)))
    ]
    options = [*SNAKEMAKE, "--config", *items]
    return Case("run.py", options, own_process=rng.random() < 0.2)


def specification(rng: random.Random, folder: Path) -> Case:
    """A job's specification with other values, or a file of an earlier step that is damaged."""
    step = rng.choice(list(SPECS))
    spec = json.loads((folder / f"{step}.json").read_bytes())
    if rng.random() < 0.2:
        step = rng.choice(list(SPECS))
    text = json.dumps(changed(spec, rng), default=str)
    if rng.random() < 0.2:
        text = damaged(text.encode(), rng).decode("utf-8", "surrogateescape")
    made = folder / "results/smoke"
    earlier = {"search": "none", "select": "search", "portrait": "sequential"}.get(step, "select")
    inputs = sorted(made.glob(f"{earlier}/**/lambda=1*.csv")) or sorted(
        made.glob(f"{earlier}/**/seed=*")
    )
    for path in inputs:
        if rng.random() < 0.3:
            content = damaged(path.read_bytes(), rng)
            write_result(path, content) if rng.random() < 0.7 else path.write_bytes(content)
    given = text.replace("\0", "") if len(text) < 100_000 and rng.random() < 0.5 else "@spec.json"
    (folder / "spec.json").write_bytes(text.encode("utf-8", "surrogateescape"))
    options = [
        "--spec",
        given,
        "--output",
        "made/x.csv",
        *(str(path.relative_to(folder)) for path in inputs),
    ]
    if step != "select":
        options += ["--store", "kept", "--dir", "data"]
    return Case("snap", ["job", step, *options])


def report(rng: random.Random, folder: Path) -> Case:
    """A step of the report with a configuration, the paper, claims, a style or tables changed."""
    import yaml

    step = rng.choice(("tables", "claims", "page", "figure", "check"))
    which = rng.choice(("config", "paper", "claims", "style", "tables"))
    if which == "config":
        config = json.loads((folder / "config.json").read_bytes())
        (folder / "config.json").write_text(json.dumps(changed(config, rng), default=str))
    elif which == "tables":
        path = rng.choice(sorted((folder / "tables").glob("*.csv")))
        write_result(path, damaged(path.read_bytes(), rng))
    else:
        path = folder / f"workflow/{which}.yaml"
        path.write_bytes(as_yaml(changed(yaml.safe_load(path.read_bytes()), rng)))
    paper = ["--paper", "workflow/paper.yaml"]
    if step == "figure":
        name = rng.choice(("iid", "headline", "landscape-MNIST", "curves-MNIST"))
        options = [name, "--tables", "tables", *paper, "--style", "workflow/style.yaml"]
        return Case("snap", ["report", "figure", *options, "--output", "made/figure.csv"])
    if step == "check":
        options = ["--tables", "results/smoke/tables", "--config", "@config.json", *paper]
        return Case("snap", ["job", "check", *options, "--output", "made.json"])
    if step == "page":
        report_folder.build(folder / "report")
        if rng.random() < 0.7:
            spoil_part(folder / "report", rng)
        options = ["--folder", "report", "--figures", "headline", "iid", "--tables", "metrics"]
        options += ["--style", "workflow/style.yaml", "--config", "@config.json"]
        options += ["--output", "made.html"]
        return Case("snap", ["report", "page", *options])
    options = ["--tables", "tables", *paper, "--config", "@config.json"]
    if step == "claims":
        options += ["--claims", "workflow/claims.yaml", "--output", "made.json"]
        return Case("snap", ["report", "claims", *options])
    return Case(
        "snap",
        ["report", "tables", "metrics-Synthetic", "growth-equations", *options, "--output", "made"],
    )


def data_folder(rng: random.Random, folder: Path) -> Case:
    """Files of a dataset that are damaged, immense or none."""
    for path in rng.sample(sorted((folder / RAW).iterdir()), rng.choice((1, 1, 2))):
        if rng.random() < 0.5:
            content = idx_file(rng)
            if content[:2] == b"\x1f\x8b" and rng.random() < 0.5:
                path.unlink()
                path = path.with_name(f"{path.name}.gz")
            path.write_bytes(content)
        else:
            spoil(path, rng)
    name = rng.choice(("MNIST", "Synthetic", "FashionMNIST"))
    (folder / "given").mkdir()
    (folder / "data/Synthetic").rename(folder / "given" / name)
    fetch = ["data", "fetch", "--dataset", name, "--from", "given", "--dir", "fetched"]
    commands = (
        fetch,
        ["data", "verify", "--dataset", name, "--dir", "given"],
        ["verify", "--dir", "given"],
        ["verify", "--dir", "given", "--remove"],
        ["train", "--dataset", name, "--dir", "given", "--configuration", "linear-linear",
         "--alpha", "0.1", "--lambda", "1", "--eta", "0", "--train-limit", "20"],
    )  # fmt: skip
    return Case("snap", rng.choice((fetch, *commands)))


def trial_store(rng: random.Random, folder: Path) -> Case:
    """Results whose files are damaged, or intact with other values in them."""
    for _ in range(rng.choice((1, 1, 3))):
        spoil_part(folder / rng.choice(("results", "results/smoke", "logs")), rng)
    if rng.random() < 0.3 and (folder / "results/smoke/plan.json").is_file():
        with contextlib.suppress(ValueError, RecursionError, OSError):  # it was spoiled before
            plan = json.loads((folder / "results/smoke/plan.json").read_bytes())
            rewrite(folder / "results/smoke/plan.json", changed(plan, rng))
    if rng.random() < 0.2:
        beat = {"job": "x", "trials": 1, "done": 0, "share": 0.0, "pid": 1, "threads": 1}
        (folder / "results/smoke/heartbeats").mkdir()
        beat |= {"host": os.uname().nodename, "at": 4e9}
        rewrite(folder / "results/smoke/heartbeats/x.json", changed(beat, rng))
    iid = ["job", "iid", "--spec", "@iid.json", "--store", "results/trials", "--dir", "data"]
    select = folder / "results/smoke/select/hebbian/Synthetic/linear-linear/lambda=1.csv"
    iid += ["--output", "made.csv", str(select.relative_to(folder))]
    commands = (
        *(["status"], ["status", "--json"], ["costs"], ["costs", "--project", "config.yaml"]),
        *(["verify"], ["verify", "--remove"], ["restore", "published"], iid),
        ["report", "figure", "iid", "--output", "made.png"],
    )
    return Case("snap", rng.choice(commands))


def published_folder(rng: random.Random, folder: Path) -> Case:
    """A publication with hostile content, whose record fits it or not."""
    published = folder / "published"
    if rng.random() < 0.3:
        change = rng.choice(list(PUBLICATIONS.values()))
        change(published)
    else:
        path = rng.choice(sorted(path for path in published.rglob("*") if path.is_file()))
        if path.suffix == ".json" and rng.random() < 0.6:
            rewrite(path, changed(json.loads(path.read_bytes()), rng))
        else:
            spoil(path, rng)
    if rng.random() < 0.7:
        regular = [path for path in published.rglob("*") if path.is_file()]
        if not any(path.is_symlink() for path in regular):
            with contextlib.suppress(OSError):  # a folder is in the place of the record
                trained_run.write_record(published)
    return Case("snap", ["restore", "published", "--results", rng.choice(("results", "new/one"))])


def surroundings(rng: random.Random, folder: Path) -> Case:
    """A valid command where outputs, folders and variables are not as usual."""
    (folder / "file").write_text("")
    commands = (
        *(["protocol"], ["configurations", "--json"], ["status"], ["verify"], ["--help"]),
        ["train", "--dataset", "Synthetic", "--configuration", "linear-linear", "--alpha", "0.1",
         "--lambda", "1", "--eta", "0", "--train-limit", "20", "--test-limit", "20"],
        ["report", "figure", "iid", "--tables", "tables", "--output", "made.png"],
    )  # fmt: skip
    variables = (
        {"HOME": "/proc/none"},
        {"HOME": "file", "XDG_CACHE_HOME": "/proc/none", "NUMBA_CACHE_DIR": "file"},
        {"HOME": None, "XDG_CACHE_HOME": None, "XDG_CONFIG_HOME": None},
        {"MPLCONFIGDIR": "/proc/none", "MPLBACKEND": "nonsense"},
        {"LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii"},
        {"TMPDIR": "/proc/none", "TMP": "/proc/none", "TEMP": "/proc/none"},
        {"COLUMNS": rng.choice(NUMBERS), "TERM": "nonsense", "NO_COLOR": "x"},
        {"SNAP_DATA": rng.choice(("file", "/proc/none", "\n", "../.."))},
        {"SNAP_CHECKPOINT_SECONDS": rng.choice(NUMBERS)},
        {"SNAP_PARENTS": rng.choice(NUMBERS[:9])},
        {"OMP_NUM_THREADS": rng.choice(NUMBERS), "NUMBA_NUM_THREADS": rng.choice(NUMBERS)},
    )
    outputs = ("", ">&-", ">&- 2>&- <&-", "> /dev/full", "2> /dev/full", "2>&-", "<&-", "< file")
    shell = rng.choice(outputs)
    chosen = rng.choice(variables) if not shell or rng.random() < 0.3 else {}
    return Case("snap", rng.choice(commands), chosen, shell, own_process=True)


Kind = Callable[[random.Random, Path], Case]
# How often each kind is tried, of a hundred.
KINDS: Mapping[Kind, int] = {
    snap_command: 34,
    specification: 14,
    report: 12,
    data_folder: 9,
    trial_store: 10,
    published_folder: 8,
    configuration: 4,
    file_of_configuration: 3,
    named_files: 2,
    items_of_configuration: 2,
    surroundings: 2,
}


def make(seed: int, number: int, folder: Path) -> tuple[str, Case]:
    """Prepare a case in a folder; return its kind and the case. It depends on nothing else."""
    rng = random.Random(f"{seed}/{number}")
    (kind,) = rng.choices([*KINDS], [*KINDS.values()])
    return kind.__name__, kind(rng, folder)
