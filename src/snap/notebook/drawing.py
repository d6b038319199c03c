"""What figures need in a notebook."""

from __future__ import annotations

from importlib import import_module

import matplotlib

INLINE = "matplotlib_inline.backend_inline"


def show_figures() -> None:
    """Let a notebook show a figure that pyplot does not know.

    Only when the inline backend is loaded does it tell IPython how to show figures. Matplotlib
    loads it with the first figure of pyplot. Another backend is left alone, and none is chosen.
    """
    if matplotlib.get_backend(auto_select=False) in ("inline", f"module://{INLINE}"):
        import_module(INLINE)
