"""What people write: whatever is in a file, it gives a value or one sentence, and soon."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from snap import SnapError
from snap.data.datasets import DATASETS
from snap.data.samples import Samples
from snap.numbers import parse_number, parse_whole
from snap.pipeline.config import merge, read
from snap.pipeline.plan import Plan
from snap.reading import MOST_BYTES, parse_json, read_mapping, read_yaml

ROOT = Path(__file__).parents[1]
SMOKE = read([ROOT / "config.yaml", ROOT / "workflow/presets/smoke.yaml"])
BOMB = "a0: &a0 [1, 1]\n" + "".join(
    f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12)
)
WRONG = {
    "not UTF-8": (b"run: a\nlambdas: [\xff]\n", "line 2 is not UTF-8 text"),
    "UTF-16": ("run: a".encode("utf-16"), "line 1 is not UTF-8 text"),
    "not YAML": (b"a: [", "cannot be read: while parsing a flow node"),
    "a list": (b"- a", "must be a mapping of keys to values"),
    "a number of hundreds of digits": (b"a: " + b"9" * 5000, "Exceeds the limit"),
    "no such day": (b"a: 2024-02-31", "cannot be read: day is out of range"),
    "a tag that does not fit": (b"a: !!int x", "cannot be read: invalid literal"),
    "a tag of Python": (b"a: !!python/object/apply:os.system [id]", "could not determine"),
    "nested in lines": ("\n".join(" " * n + "a:" for n in range(100)).encode(), "levels of nest"),
    "nested in a line": (b"a: " + b"[" * 20_000, "levels of nesting"),
    "contains itself": (b"run: a\nb: &x [1, *x]", "what begins in line 2 contains itself"),
    "an alias bomb": (BOMB.encode(), "has more than 100,000 values"),
    "a merge bomb": (BOMB.replace("[1, 1]", "{b: 1}").replace("[", "{<<: [").replace("]", "]}")
                     .encode(), "has more than 100,000 values"),
    "too large": (b"#" * (MOST_BYTES + 1), "larger than 250 kB"),
    "a key twice": (b"run: a\nlimits: {train: 99}\nlimits: {test: 20}\n",
                    "has the key limits twice, in lines 2 and 3"),
    "a key twice, below another": (b"a:\n  b: 1\n  c: 2\n  'b': 3\n",
                                   "the key b twice, in lines 2 and 4"),
    "a number twice": (b"a: {1: x, 0x1: y}", "the key 0x1 twice, in lines 1 and 1"),
}  # fmt: skip


@pytest.mark.parametrize("case", WRONG)
def test_an_unreadable_file_is_one_sentence(tmp_path, case):
    content, said = WRONG[case]
    file = tmp_path / "mine.yaml"
    file.write_bytes(content)
    with pytest.raises(SnapError) as caught:
        read_mapping(file)
    sentence = str(caught.value)
    assert said in sentence
    assert str(file) in sentence
    assert sentence.isprintable()
    assert len(sentence) < 500


def test_what_is_no_file_is_named_and_not_waited_for(tmp_path):
    (tmp_path / "link").symlink_to("nowhere")
    (tmp_path / "loop").symlink_to("loop")
    os.mkfifo(tmp_path / "pipe")
    for name in ("missing", "link", "loop", "pipe", ".", "pipe/below", "x" * 300):
        with pytest.raises(SnapError, match="cannot be read: "):
            read_yaml(tmp_path / name)


def test_what_is_right_is_read(tmp_path):
    file = tmp_path / "mine.yaml"
    file.write_text("a: &a {x: 1, λ: 2}\nb: {<<: *a, x: 3}\nc: [*a, *a]\n", encoding="utf-8")
    a = {"x": 1, "λ": 2}
    assert read_mapping(file) == {"a": a, "b": {"x": 3, "λ": 2}, "c": [a, a]}
    file.write_text("# nothing")
    assert read_mapping(file) == {}
    for path in [ROOT / "config.yaml", *sorted((ROOT / "workflow").rglob("*.yaml"))]:
        assert read_yaml(path) == yaml.safe_load(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    "text", ["{", "NaN", "[1, Infinity]", "9" * 5000, "[" * 100_000, '{"a": 1, "a": 2}', "\udcff"]
)
def test_wrong_json_is_one_sentence(text):
    with pytest.raises(SnapError, match="the argument") as caught:
        parse_json(text, "the argument")
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "value", [10**5000, "9" * 5000, -(10**400), "1e999", None, [], "x\ny"], ids=range(7)
)
def test_a_number_that_is_none_is_one_sentence(value):
    for parse in (parse_number, lambda value, name: parse_whole(value, name, least=1)):
        with pytest.raises(SnapError, match="η must be a") as caught:
            parse(value, "η")
        assert str(caught.value).isprintable()


# What the schema and the checks after it refuse


def load(config) -> Plan:
    return Plan.load(
        config, ROOT / "workflow/schemas/config.schema.yaml", ROOT / "workflow/paper.yaml"
    )


def hidden(number):
    return {"datasets": [{"name": "Synthetic", "hidden": number}]}


REFUSED = {
    "a newline after a name": ({"run": "paper\n"}, "run must start with a letter"),
    "a newline after the name of a reading": ({"readings": {"a\n": {}}}, "must start with a lett"),
    "a newline after an image": ({"container": "docker://image\n"}, "must be one line of text"),
    "a long name": ({"run": "x" * 300}, "run must have at most 60 letters"),
    "a billion neurons": (hidden(10**9), "datasets.0.hidden must be at most 1000000"),
    "2⁶³ neurons": (hidden(2**63), "datasets.0.hidden must be from -"),
    "a seed of 10²³": ({"iid": {"seeds": [10**23]}}, "iid.seeds.0 must be from -"),
    "the same as text": ({"iid": {"seeds": [str(10**23)]}}, "iid.seeds.0 must be from -"),
    "hundreds of digits": ({"lambdas": [10**400]}, "lambdas.0 must be from -"),
    "a number as a key": ({"grids": {1: {}, "a": {}}}, "grids.1 must be text"),
    "a grid without end": (
        {"grids": {"text": {"eta": [n / 7 for n in range(301)]}}},
        "grids.text.eta must have at most 300 entries",
    ),
    "more than can be planned": (
        {"grids": {"text": {name: list(range(1, 301)) for name in ("eta", "alpha")}},
         "search": {"seeds": list(range(300))}},
        "are more than 10,000,000 trials",
    ),
    "no sample of a class": (
        {"datasets": [{"name": "MNIST", "hidden": 8}], "limits": {"train": 10, "test": 300},
         "sequential": {"tasks": [[0, 1], [8]]}},
        "limits.train: the first 10 samples of MNIST hold none of the task with classes 8: it"
        " takes 18",
    ),
    "no test sample of a class": (
        {"limits": {"train": 100, "test": 27}, "sequential": {"tasks": [[6]]}},
        "limits.test: the first 27 samples of Synthetic hold none of the task with classes 6",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_what_cannot_be_run_is_refused(case):
    change, said = REFUSED[case]
    with pytest.raises(SnapError, match=r"^config key ") as caught:
        load(merge(SMOKE, change))
    assert said in str(caught.value)


def first(samples: Samples) -> tuple[int, ...]:
    return tuple(samples.labels.tolist().index(label) + 1 for label in range(10))


@pytest.mark.parametrize("name", ["mnist", "small"])
def test_where_each_class_occurs_first(name, request):
    data = request.getfixturevalue(name)
    assert DATASETS[data.name].first == (first(data.train), first(data.test))


# The command line


def snap(*arguments: str, shell: str = "", cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = 'shift 0; "$@" ' + shell
    return subprocess.run(
        ["bash", "-c", command, "bash", sys.executable, "-m", "snap", *arguments],
        capture_output=True, text=True, timeout=60, cwd=cwd,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("shell", "code", "said"),
    [
        (">&-", 0, ""),
        (">&- 2>&- <&-", 0, ""),
        ("> /dev/full", 2, "snap: error: No space left on device\n"),
        ("2> /dev/full", 0, ""),
        ("| true; exit ${PIPESTATUS[0]}", 141, ""),
        ("2>&1 | true; exit ${PIPESTATUS[0]}", 141, ""),
    ],
)
def test_output_that_goes_nowhere(shell, code, said):
    done = snap("protocol", shell=f"{shell}")
    assert (done.returncode, done.stderr) == (code, said)
