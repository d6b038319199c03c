"""Count right predictions on the device: the outputs of all networks are too many to move."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

# The outputs of all networks for B samples, [networks, B, C], and the labels of these samples.
Batch = tuple[Tensor, Tensor]


def count_hits(
    batches: Iterable[Batch], limits: Sequence[Sequence[int] | None], zeros: Tensor
) -> NDArray[np.int64]:
    """What `snap.metrics.hits` counts, for every network and limit: [networks, limits, C].

    `zeros` has the shape of the result and is on the device.
    """
    classes = zeros.shape[2]
    allowed = [range(classes) if among is None else sorted(among) for among in limits]
    columns = [torch.tensor(list(among), device=zeros.device) for among in allowed]
    counts = zeros
    for outputs, labels in batches:
        members = torch.nn.functional.one_hot(labels, classes).to(outputs.dtype)
        hits = []
        for among in columns:
            # Of equal outputs the first wins, as in numpy.
            predicted = among[outputs[:, :, among].argmax(dim=2)]
            right = (predicted == labels).to(outputs.dtype)
            hits.append(right @ members)  # whole numbers, and exact up to 2²⁴
        counts = counts + torch.stack(hits, dim=1).to(torch.int64)
    return counts.cpu().numpy()
