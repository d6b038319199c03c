"""The version of a module: a hash of its code and of all code of this package that it imports.

Figures and tables are made again when the version of their module changes, so there is no version
number to maintain. Comments and docstrings do not count. No code is executed to find a version.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterator
from functools import cache
from pathlib import Path

PACKAGE = Path(__file__).parents[1]  # src/snap
PAGE = "snap.report.page"  # its version covers the templates too


@cache
def of(module: str) -> str:
    """The version of a module, such as snap.report.claims."""
    digest = hashlib.sha256()
    for name in sorted(closure(module)):
        digest.update(_code(name).encode())
    if module == PAGE:
        for template in sorted((PACKAGE / "report/template").glob("*")):
            digest.update(template.read_bytes())
    return digest.hexdigest()[:16]


def closure(module: str) -> set[str]:
    """A module and all modules of this package that it imports, directly or not.

    An import inside a function counts; one under `if TYPE_CHECKING` does not. Nor do the parent
    packages of an imported module: their code draws nothing.
    """
    reached: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in reached:
            reached.add(name)
            waiting += _imports(name)
    return reached


def _path(module: str) -> Path | None:
    """The file of a module of this package; None if there is no such module."""
    place = PACKAGE.parent.joinpath(*module.split("."))
    for path in (place.with_suffix(".py"), place / "__init__.py"):
        if path.is_file():
            return path
    return None


@cache
def _tree(module: str) -> ast.Module:
    path = _path(module)
    assert path is not None, module
    return ast.parse(path.read_text(encoding="utf-8"))


@cache
def _imports(module: str) -> tuple[str, ...]:
    """The modules of this package that a module imports directly."""
    return tuple(
        name
        for node in _nodes(_tree(module))
        for name in _named(node)
        if name.partition(".")[0] == "snap" and _path(name) is not None
    )


def _nodes(tree: ast.AST) -> Iterator[ast.AST]:
    """Every node except those under `if TYPE_CHECKING`."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.If) and getattr(node.test, "id", None) == "TYPE_CHECKING":
            continue
        yield node
        yield from _nodes(node)


def _named(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module is not None:
        inner = [f"{node.module}.{alias.name}" for alias in node.names]
        modules = [name for name in inner if _path(name) is not None]
        return [*modules, *([node.module] if len(modules) < len(inner) else [])]
    return []


@cache
def _code(module: str) -> str:
    """The syntax tree of a module, without docstrings."""
    tree = ast.parse(ast.unparse(_tree(module)))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and (
            ast.get_docstring(node) is not None
        ):
            node.body = node.body[1:]
    return ast.dump(tree)
