"""The results of a run in a folder, as data frames and figures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from snap.errors import SnapError
from snap.notebook import places
from snap.pipeline.layout import READINGS
from snap.report import catalog, frames

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CLAIMS = "claims"


@dataclass(frozen=True, repr=False)
class Results:
    """The tidy tables of a run, by name, and the verdicts on the paper's claims as `claims`."""

    folder: Path

    @property
    def tables(self) -> frames.Tables:
        """The tables as figures read them."""
        return frames.Tables(self.folder / "tables")

    @property
    def names(self) -> list[str]:
        """The names of its tables."""
        claims = {CLAIMS} if (self.folder / f"{CLAIMS}.csv").is_file() else set()
        return sorted(self.tables.names | claims)

    def __getitem__(self, name: str) -> frames.Frame:
        if name not in self.names:
            raise SnapError(
                f"{self.folder} has no table {name!r}: choose from {', '.join(self.names)}"
            )
        if name == CLAIMS:
            return frames.read_any(self.folder / f"{CLAIMS}.csv")
        return self.tables.table(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<results in {self.folder}: {', '.join(self.names)}>"

    def _ipython_key_completions_(self) -> list[str]:
        return self.names

    @property
    def figures(self) -> list[str]:
        """The names of the figures that `snap.figure` can draw."""
        return catalog.names(self.tables.datasets)

    @property
    def readings(self) -> dict[str, Results]:
        """The same for the other readings of the run, by their names."""
        folders = sorted((self.folder / READINGS).glob("*/tables"))
        return {folder.parent.name: Results(folder.parent) for folder in folders}


def results(folder: str | Path) -> Results:
    """Open the results of a run: a folder such as results/quick, or published, reports/paper.

    The folder is looked for here, in the folders above, and in the project of this package.
    """
    if not isinstance(folder, str | Path):
        raise SnapError(f"results must be the folder of a run, got a {type(folder).__name__}")
    found = Results(places.found(Path(folder) / "tables").parent)
    if not found.tables.names:
        parents = (found.folder.parent, places.found("results"), places.found("reports"))
        others = sorted({str(t.parent) for p in parents for t in p.glob("*/tables")})
        choice = f"choose from {', '.join(others)}" if others else "run make reproduce first"
        raise SnapError(f"{folder} has no results of a run: {choice}")
    return found


_open = results  # `figure` has an argument of this name


def figure(name: str, results: Results | str | Path) -> Figure:
    """Draw a figure of the report, such as headline or curves-MNIST, from the results of a run.

    The figure takes no part in pyplot, and no file is written.
    """
    run = results if isinstance(results, Results) else _open(results)
    if name not in run.figures:
        raise SnapError(f"there is no figure {name!r}: choose from {', '.join(run.figures)}")
    from snap.notebook.drawing import show_figures
    from snap.report import figures

    show_figures()
    weights = {
        dataset: run.folder / "portrait" / f"{dataset}.npz" for dataset in run.tables.datasets
    }
    return figures.figure(name, run.tables, weights=weights)
