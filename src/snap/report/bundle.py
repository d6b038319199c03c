"""The script of the explorer: Vega, Vega-Lite and vega-embed, in one text that loads nothing."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

import vl_convert

from snap.errors import SnapError


@cache
def script() -> str:
    """The libraries and explorer.js, for a <script> element."""
    own = files("snap.report").joinpath("template", "explorer.js").read_text(encoding="utf-8")
    made: str = vl_convert.javascript_bundle(own)
    if "</script" in made.lower() or "<!--" in made:
        raise SnapError("the explorer's script would end the <script> element that it is in")
    return made
