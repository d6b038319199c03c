"""The layers of the package: imports go down, from the command line to the training module."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src/snap"
# From top to bottom. A module may import from its own layer and from the layers below it. The layer
# "training" consists of the modules directly in the package, its engines and its data. The package
# itself imports what notebooks use, on first use: tests/test_door.py.
LAYERS = ("cli", "notebook", "publishing", "report", "pipeline", "training")


def layer(module: str) -> str:
    if module == "snap.__init__":
        return "notebook"
    name = module.split(".")[1] if "." in module else ""
    return name if name in LAYERS else "training"


def imports(path: Path) -> set[str]:
    """The modules of this package that a file imports, including imports inside functions."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
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
    own = LAYERS.index(layer(module_of(path)))
    upward = [name for name in imports(path) if LAYERS.index(layer(name)) < own]
    assert upward == []


def test_every_layer_has_modules():
    assert {layer(module_of(path)) for path in MODULES} == set(LAYERS)


def test_the_package_does_not_import_snakemake():
    for path in MODULES:
        assert "import snakemake" not in path.read_text()
