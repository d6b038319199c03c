"""The tree is the architecture: imports go down, from the command line to the training module."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src/snap"
# The rooms from the top down. A module may import from its own room and from those below it; the
# training module is what lies directly in the package, with its engines and data.
ROOMS = ("cli", "publishing", "report", "pipeline", "training")


def room(module: str) -> str:
    name = module.split(".")[1] if "." in module else ""
    return name if name in ROOMS else "training"


def imports(path: Path) -> set[str]:
    """The modules of this package that a file imports, inside functions too."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] == "snap"}


def module_of(path: Path) -> str:
    return ".".join(("snap", *path.relative_to(PACKAGE).with_suffix("").parts))


MODULES = sorted(path for path in PACKAGE.rglob("*.py") if path.name != "__main__.py")


@pytest.mark.parametrize("path", MODULES, ids=module_of)
def test_imports_go_down(path):
    own = ROOMS.index(room(module_of(path)))
    upward = [name for name in imports(path) if ROOMS.index(room(name)) < own]
    assert upward == []


def test_every_room_is_used():
    assert {room(module_of(path)) for path in MODULES} == set(ROOMS)


def test_nothing_but_the_workflow_knows_snakemake():
    for path in MODULES:
        assert "import snakemake" not in path.read_text()
