"""Folders of the project, from a notebook that runs in one of its subfolders or elsewhere."""

from __future__ import annotations

from pathlib import Path


def found(folder: str | Path) -> Path:
    """A folder where it is: here, in a folder above, or in the project that snap is installed from.

    Returns it as given if it is nowhere.
    """
    given = Path(folder)
    here = Path.cwd()
    bases = [] if given.exists() else [*here.parents, Path(__file__).resolve().parents[3]]
    return next((base / given for base in bases if (base / given).exists()), given)
