"""The version of a figure changes with the code that draws it, and with nothing else."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from snap.report import catalog, versions

FIGURES = {kind.name: kind.module for kind in catalog.KINDS}
STEPS = {name: f"snap.report.{name}" for name in ("paper_tables", "claims", "page")}
MADE = FIGURES | STEPS


def read() -> dict[str, str]:
    """The version of everything, computed again."""
    for cached in (versions.of, versions._tree, versions._imports, versions._code):
        cached.cache_clear()
    return {name: versions.of(module) for name, module in MADE.items()}


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A copy of the package to edit."""
    copy = tmp_path / "snap"
    shutil.copytree(versions.PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__"))
    monkeypatch.setattr(versions, "PACKAGE", copy)
    yield copy
    monkeypatch.undo()
    read()


def changed_by(package: Path, file: str, old: str, new: str) -> set[str]:
    """What has another version after an edit."""
    before = read()
    path = package / file
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new, 1))
    after = read()
    return {name for name in MADE if before[name] != after[name]}


def test_comments_and_docstrings_change_nothing(package):
    assert changed_by(package, "numbers.py", '"""', '"""Now: ') == set()
    assert changed_by(package, "report/figures/base.py", "WIDTH =", "# a comment\nWIDTH =") == set()


def test_the_number_format_changes_every_figure_that_prints_numbers(package):
    changed = changed_by(package, "numbers.py", "-5 <= decimal", "-4 <= decimal")
    assert set(FIGURES) <= changed
    assert "paper_tables" in changed


def test_one_module_of_figures_changes_its_own_figures(package):
    changed = changed_by(
        package, "report/figures/search.py", "def landscape(", "X = 1\n\n\ndef landscape("
    )
    assert changed == {"landscape"}


@pytest.mark.parametrize("file", ["report/claims.py", "report/paper_tables.py", "report/page.py"])
def test_other_steps_of_the_report_change_no_figure(package, file):
    changed = changed_by(package, file, "from __future__", "X = 1\nfrom __future__")
    assert Path(file).stem in changed
    assert not changed & set(FIGURES)


def test_a_template_changes_the_page_only(package):
    assert changed_by(package, "report/template/page.css", "{", "{ ") == {"page"}


@pytest.mark.parametrize("module", sorted(set(MADE.values())))
def test_a_version_covers_all_that_the_module_imports(module):
    """As the interpreter sees it; packages that are only passed through do not count."""
    code = f"import sys, {module}; print(*(m for m in sys.modules if m.startswith('snap.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    imported = {
        name
        for name in done.stdout.split()
        if not (versions._path(name) or Path()).match("__init__.py")
    }
    through_packages = {
        name
        for package in ("snap", "snap.report.figures", "snap.engines", "snap.data")
        for name in versions.closure(package)
    }
    assert imported - through_packages <= versions.closure(module)
