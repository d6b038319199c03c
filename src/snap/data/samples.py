"""Images and their labels in memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from snap.errors import SnapError


@dataclass(frozen=True, eq=False)
class Samples:
    """Images (N×D; uint8 pixels, or numbers taken as they are) and labels (N)."""

    images: NDArray[Any]
    labels: NDArray[Any]

    def __post_init__(self) -> None:
        if self.images.ndim != 2 or self.labels.shape != self.images.shape[:1]:
            raise SnapError(
                "samples must be images (N×D) and labels (N),"
                f" got {self.images.shape} and {self.labels.shape}"
            )
        for name, dtype in (("images", None), ("labels", np.int64)):
            # Never written to, and always said to be so: loops are compiled for one kind of array.
            array = np.ascontiguousarray(getattr(self, name), dtype).view()
            array.flags.writeable = False
            object.__setattr__(self, name, array)

    def __len__(self) -> int:
        return len(self.labels)

    def take(self, rows: NDArray[np.int64] | slice) -> Samples:
        return Samples(self.images[rows], self.labels[rows])

    def of_classes(self, classes: tuple[int, ...]) -> NDArray[np.int64]:
        """The numbers of the samples whose label is one of `classes`."""
        return np.flatnonzero(np.isin(self.labels, classes)).astype(np.int64)
