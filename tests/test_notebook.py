"""The notebook, and the example in README.md, run on real MNIST and show what they say."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

ROOT = Path(__file__).parents[1]
NOTEBOOK = ROOT / "docs/notebook.ipynb"
SECTION = (ROOT / "README.md").read_text().split("\n## In Python\n")[1].split("\n## ")[0]


def test_the_notebook_is_committed_without_outputs():
    cells = nbformat.read(NOTEBOOK, as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    assert len(code) > 10
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)


@pytest.fixture(scope="module")
def executed(mnist_root) -> dict[str, list[nbformat.NotebookNode]]:
    """The outputs of every cell of the notebook, by the cell's last line."""
    notebook = nbformat.read(NOTEBOOK, as_version=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SNAP_DATA", str(mnist_root))
        patch.delenv("MPLBACKEND", raising=False)
        here = {"metadata": {"path": str(NOTEBOOK.parent)}}
        NotebookClient(notebook, timeout=300, kernel_name="python3", resources=here).execute()
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    return {cell.source.strip().splitlines()[-1]: cell.outputs for cell in code}


def text(outputs: list[nbformat.NotebookNode]) -> str:
    return "".join(o.get("text", "") or o.get("data", {}).get("text/plain", "") for o in outputs)


@pytest.mark.data
def test_the_notebook_trains(executed):
    accuracy = re.search(r"λ = 16: accuracy (0\.\d+)>", text(executed["sigmoid"]))
    assert float(accuracy[1]) == pytest.approx(0.79, abs=0.03)


@pytest.mark.data
@pytest.mark.parametrize("last", ["sigmoid.plot()", "linear.plot()", "figure"])
def test_the_notebook_shows_every_figure_once(executed, last):
    assert [len(o.data["image/png"]) > 10_000 for o in pictures(executed[last])] == [True]


@pytest.mark.data
def test_the_notebook_draws_from_the_published_results(executed):
    assert "sequential" in text(executed["paper"])
    assert len(pictures(executed['snap.figure("headline", paper)'])) == 1


def pictures(outputs: list[nbformat.NotebookNode]) -> list[nbformat.NotebookNode]:
    return [output for output in outputs if "image/png" in output.get("data", {})]


@pytest.mark.data
def test_no_cell_of_the_notebook_warns(executed):
    """On standard error there is only the line that shows how far training is."""
    said = [o.text for outputs in executed.values() for o in outputs if o.get("name") == "stderr"]
    lines = [part for part in re.split(r"[\r\n]", "".join(said)) if part.strip()]
    assert [line for line in lines if "samples" not in line] == []


@pytest.mark.data
def test_the_example_of_the_readme_prints_what_it_says(mnist_root, tmp_path, monkeypatch):
    monkeypatch.setenv("SNAP_DATA", str(mnist_root))
    code, stated = re.findall(r"^```(?:python|text)\n(.*?)^```$", SECTION, re.MULTILINE | re.DOTALL)
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    number = re.compile(r"0\.\d\d")
    assert number.sub("#", done.stdout) == number.sub("#", stated)
    # Another processor may round differently.
    printed, promised = (float(number.findall(t)[0]) for t in (done.stdout, stated))
    assert printed == pytest.approx(promised, abs=0.011)
    assert list(tmp_path.iterdir()) == []
