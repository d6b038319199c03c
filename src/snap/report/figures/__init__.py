"""Every figure: a function from the tables of a run to what is drawn, its data and its finding."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module

from snap.report.figures.base import Drawing, Drawn

MODULES = {
    "headline": "overview",
    "iid": "overview",
    "sequential": "overview",
    "retention": "overview",
    "curves": "sequence",
    "curves-paper": "sequence",
    "sgd": "sequence",
    "matrix": "sequence",
    "consolidation": "weights",
    "features": "weights",
    "growth": "weights",
    "network": "network",
    "landscape": "search",
    "ladder": "search",
}


def draw(kind: str, drawing: Drawing) -> Drawn:
    """Draw a kind of figure. Its module is imported here, for some are slow to import."""
    module = import_module(f"snap.report.figures.{MODULES[kind]}")
    function: Callable[[Drawing], Drawn] = getattr(module, kind.replace("-", "_"))
    return function(drawing)
