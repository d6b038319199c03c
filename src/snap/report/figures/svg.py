"""From Matplotlib's SVG to one that stands inside a page, on light and on dark ground."""

from __future__ import annotations

import base64
import io
import re
from collections.abc import Mapping
from itertools import pairwise
from xml.etree import ElementTree

from PIL import Image

SVG, LINK = "{http://www.w3.org/2000/svg}", "{http://www.w3.org/1999/xlink}href"
FONTS = "DejaVu Sans, Verdana, sans-serif"
PIXELS = 4 / 3  # per point
GREYS = 12  # shades of embedded images: weights as images need no more
ElementTree.register_namespace("", SVG.strip("{}"))

_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_WORD = re.compile(r"[A-Za-z]|-?[\d.]+(?:e-?\d+)?")
_COLOR = re.compile(r"#[0-9a-f]{6}\b")
_TARGET = re.compile(r"url\(#([^)]+)\)")
_FONT = re.compile(r"(font-family|font):\s*([^;]*)")


def for_page(raw: bytes, name: str, dark: Mapping[str, str]) -> bytes:
    """Small, transparent, with text as text; `dark` gives the other colour of every colour.

    Ids start with the name, so that no two figures on a page share one.
    """
    root = ElementTree.fromstring(raw)
    width, height = (float(number) for number in root.attrib["viewBox"].split()[2:])
    for element in root.iter():
        for child in [c for c in element if c.tag in (f"{SVG}metadata", f"{SVG}style")]:
            element.remove(child)  # Matplotlib's style rule would hold for the whole page
    _name_ids(root, name)
    for element in root.iter():
        smaller = {key: _smaller(key, value, dark) for key, value in element.attrib.items()}
        element.attrib.clear()
        element.attrib |= {key: value for key, value in smaller.items() if value}
        if element.tag == f"{SVG}image":
            element.attrib["href"] = _few_greys(element.attrib["href"])
    _flatten(root)
    root.attrib.clear()
    root.attrib |= {
        "viewBox": f"0 0 {width:.0f} {height:.0f}",
        "width": f"{width * PIXELS:.0f}",
        "height": f"{height * PIXELS:.0f}",
        "role": "img",
        "font-family": FONTS,
        "stroke-linejoin": "round",
        "stroke-linecap": "butt",
    }
    return ElementTree.tostring(root, encoding="unicode").encode() + b"\n"


def _name_ids(root: ElementTree.Element, name: str) -> None:
    """Keep only the ids that something refers to, under new names."""
    used: dict[str, str] = {}
    for element in root.iter():
        targets = [value for text in element.attrib.values() for value in _TARGET.findall(text)]
        if element.get(LINK, "").startswith("#"):
            targets.append(element.attrib[LINK][1:])
        for target in targets:
            used.setdefault(target, f"{name}-{len(used)}")
    for element in root.iter():
        own = element.attrib.pop("id", None)
        if own in used:
            element.attrib["id"] = used[own]
        link = element.attrib.pop(LINK, None)
        if link is not None:
            element.attrib["href"] = f"#{used[link[1:]]}" if link.startswith("#") else link
        for key, value in element.attrib.items():
            element.attrib[key] = _TARGET.sub(lambda m: f"url(#{used[m[1]]})", value)


def _smaller(key: str, value: str, dark: Mapping[str, str]) -> str:
    """An attribute with rounded numbers and, in a style, a colour for either ground."""
    if key in ("href", "id", "clip-path"):
        return value
    if key == "d":
        return path(value)
    value = _NUMBER.sub(lambda number: f"{round(float(number[0]), 2):g}", value)
    if key == "transform":
        return "" if value.startswith("rotate(-0 ") else value
    if key == "style":
        value = _FONT.sub(_without_family, value)
        value = _COLOR.sub(lambda color: _both(color[0], dark), value)
        value = re.sub(r"\s*([:;])\s*", r"\1", value).strip("; ")
    return value


def path(data: str) -> str:
    """A path in tenths of a point, which are finer than a screen.

    Lines are written from point to point, without those that lie on the way to the next.
    """
    words = _WORD.findall(data)
    if not {word for word in words if word.isalpha()} <= set("MLz"):
        return " ".join(_tenths(word) for word in words)
    pieces: list[str] = []
    points: list[tuple[int, int]] = []
    numbers = iter(words)
    for word in numbers:
        if word == "M":
            pieces.append(_lines(points))
            points = []
        elif word == "z":
            pieces.append(_lines(points) + "z")
            points = []
        if word not in ("M", "L", "z"):
            points.append((round(10 * float(word)), round(10 * float(next(numbers)))))
    return "".join([*pieces, _lines(points)])


def _lines(points: list[tuple[int, int]]) -> str:
    kept: list[tuple[int, int]] = []
    for point in points:
        if len(kept) > 1 and _on_the_way(kept[-2], kept[-1], point):
            kept.pop()
        kept.append(point)
    if not kept:
        return ""
    steps = [b - a for one, two in pairwise(kept) for a, b in zip(one, two, strict=True)]
    words = [_decimal(step) for step in steps]
    start = " ".join(_decimal(number) for number in kept[0])
    return f"M{start}" + (f"l{' '.join(words)}" if words else "").replace(" -", "-")


def _on_the_way(one: tuple[int, int], two: tuple[int, int], three: tuple[int, int]) -> bool:
    (ax, ay), (bx, by) = (two[0] - one[0], two[1] - one[1]), (three[0] - two[0], three[1] - two[1])
    return ax * by == ay * bx and ax * bx + ay * by >= 0


def _tenths(word: str) -> str:
    return word if word.isalpha() else _decimal(round(10 * float(word)))


def _decimal(tenths: int) -> str:
    return re.sub(r"^(-?)0\.", r"\1.", f"{tenths / 10:g}")


def _without_family(font: re.Match[str]) -> str:
    """The family is given once for all texts; size, weight and slant stay."""
    if font[1] == "font-family":
        return "font-family:inherit"
    return f"font:{font[2].split(chr(39))[0].strip()} {FONTS}"


def _both(light: str, dark: Mapping[str, str]) -> str:
    return f"light-dark({light}, {dark[light]})" if light in dark else light


def _few_greys(uri: str) -> str:
    """An embedded image in grey with few shades; a coloured one is left as it is."""
    kind, _, data = uri.partition(",")
    image = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGBA")
    red, green, blue, opacity = (band.tobytes() for band in image.split())
    if not (red == green == blue and min(opacity) == 255):
        return uri
    levels = [round(round(v / 255 * (GREYS - 1)) * 255 / (GREYS - 1)) for v in range(256)]
    few = image.convert("L").point(levels).quantize(GREYS, dither=Image.Dither.NONE)
    buffer = io.BytesIO()
    few.save(buffer, "PNG", optimize=True)
    return f"{kind},{base64.b64encode(buffer.getvalue()).decode()}"


def _flatten(element: ElementTree.Element) -> None:
    """Drop groups that say nothing, empty definitions and white space between elements."""
    if element.tag == f"{SVG}text":
        return
    children: list[ElementTree.Element] = []
    for child in list(element):
        if not isinstance(child.tag, str):  # a comment
            continue
        _flatten(child)
        child.tail = None
        if child.tag in (f"{SVG}g", f"{SVG}defs") and not len(child):
            continue
        if child.tag == f"{SVG}path" and "d" not in child.attrib:
            continue
        children += list(child) if child.tag == f"{SVG}g" and not child.attrib else [child]
    element[:] = children
    element.text = None
