"""The figures. Each is a function from a Drawing (tables, style) to a Drawn (figure, data)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from snap.report.catalog import Kind
from snap.report.figures.base import Drawing, Drawn


def draw(kind: Kind, drawing: Drawing) -> Drawn:
    """Draw a kind of figure. Imports its module only now, as some are slow to import."""
    function: Callable[[Drawing], Drawn]
    function = getattr(import_module(kind.module), kind.name.replace("-", "_"))
    return function(drawing)
