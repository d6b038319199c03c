"""Measure networks on the device: outputs by batched products, and counts of right predictions.

The outputs of all networks are too many to move, so they are counted where they are.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from snap.data.samples import Samples
from snap.engines.population import Population
from snap.engines.torch_steps import LEARNING, Rule, row_norms

# The outputs of all networks for B samples, [networks, B, C], and the labels of these samples.
Batch = tuple[Tensor, Tensor]
ACTIVITIES = 2**24  # the most hidden activities at a time when measuring: 64 MB in float32


def batched_outputs(
    W: Tensor, V: Tensor, rule: Rule, images: Tensor, labels: Tensor
) -> Iterator[Batch]:
    """The outputs of all networks and the labels, for a bounded number of samples at a time."""
    activity = LEARNING[rule.trial.learner].activity
    norms, rows = row_norms(W).squeeze(2), W.flatten(0, 1)
    batch = min(2048, max(1, ACTIVITIES // len(rows)))
    for start in range(0, len(labels) or 1, batch):
        part = slice(start, start + batch)
        x = images[part].to(W.dtype)
        if images.dtype == torch.uint8:
            x = x / 255
        # One product for the hidden layers of all networks: [B, networks, H].
        h = activity((x @ rows.T).view(len(x), *W.shape[:2]), norms, rule)
        outputs = torch.bmm(h.transpose(0, 1), V.transpose(1, 2))
        yield outputs + rule.output_bias.unsqueeze(1), labels[part]


def exact_products(device: torch.device) -> None:
    """Turn TF32 off, which would round the factors of a product to 10 bits."""
    if device.type == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = False


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


class DevicePopulation(Population):
    """A population whose networks are measured on its device, all that are asked for in one go."""

    device: torch.device
    classes: int

    @abstractmethod
    def batches(self, networks: Sequence[int], samples: Samples) -> Iterator[Batch]:
        """The outputs of some networks."""

    def outputs(self, network: int, samples: Samples) -> NDArray[Any]:
        parts = [outputs for outputs, _ in self.batches([network], samples)]
        return torch.cat(parts, dim=1)[0].cpu().numpy()

    def hits(
        self,
        networks: Sequence[int],
        samples: Samples,
        limits: Sequence[Sequence[int] | None] = (None,),
    ) -> NDArray[np.int64]:
        shape = (len(networks), len(limits), self.classes)
        zeros = torch.zeros(shape, dtype=torch.int64, device=self.device)
        return count_hits(self.batches(networks, samples), limits, zeros)
