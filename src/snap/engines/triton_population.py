"""The triton engine: one program of a GPU per hidden layer, one launch per chunk of samples."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
import triton
from numpy.typing import NDArray
from torch import Tensor

from snap.data.samples import Samples
from snap.engines import torch_steps
from snap.engines import triton_kernels as kernels
from snap.engines.rule import Rule, rule_of
from snap.engines.sharing import alike, sharing
from snap.engines.torch_hits import (
    Batch,
    DevicePopulation,
    batched_outputs,
    exact_products,
)
from snap.engines.triton_math import INTERPRETED
from snap.errors import SnapError
from snap.growth import GROWTHS, LINEAR
from snap.initial import Weights
from snap.learners import HEBBIAN, SGD
from snap.trial import Trial


@dataclass(frozen=True)
class OutputKind:
    """How an output layer grows. Networks of different kinds can share a hidden layer."""

    growth: int
    synapse: bool
    divisor: float  # a row's norm over this is its strength

    @classmethod
    def of(cls, trial: Trial) -> OutputKind:
        configuration = trial.configuration
        return cls(
            GROWTHS.index(configuration.output),
            configuration.focus == "synapse",
            trial.strength_divisor("output", trial.record.classes, trial.hidden),
        )


@dataclass(frozen=True)
class Program:
    """The constants of a compiled kernel. The names are those of its parameters."""

    HEBBIAN: bool
    HIDDEN_GROWTH: int
    SYNAPSE: int
    UNIT: bool
    NORMALIZED: bool
    NORM_RATIO: bool
    EPSILON: bool
    CLAMPED: bool
    NON_NEGATIVE: bool
    OUTPUT_UNIT: bool
    OUTPUT_RULE: int
    OUTPUT_GROWTHS: tuple[int, ...]
    OUTPUT_SYNAPSES: tuple[bool, ...]
    SLOTS: int
    H: int
    D: int
    C: int
    PADDED: int  # H, rounded up to whole blocks of rows
    ROW_LANES: int
    LANES: int
    CLASS_LANES: int
    ROWS: int

    @property
    def warps(self) -> int:
        """With float64, four warps would have to spill registers; then ROWS is 4 as well."""
        return 4 if self.ROWS == 8 else 8


def program_of(
    trial: Trial, rule: Rule, kinds: Sequence[OutputKind], shape: tuple[int, int, int]
) -> Program:
    """The program of a layer with these output kinds and the shape (H, D, C)."""
    hidden, width, classes = shape
    hebbian = trial.learner == HEBBIAN.name
    configuration = trial.configuration
    synapse = configuration.focus == "synapse"
    rows = 8 if rule.alpha.dtype == np.float32 else 4
    return Program(
        HEBBIAN=hebbian,
        HIDDEN_GROWTH=rule.hidden_growth,
        SYNAPSE=GROWTHS.index(configuration.hidden) if synapse else LINEAR,
        UNIT=trial.keeps_unit_rows(configuration.hidden),
        NORMALIZED=rule.normalized,
        NORM_RATIO=rule.norm_ratio,
        EPSILON=bool(rule.epsilon),
        CLAMPED=math.isfinite(rule.cap),
        NON_NEGATIVE=hebbian and math.isfinite(rule.least),
        OUTPUT_UNIT=rule.output_unit,
        OUTPUT_RULE=rule.output_rule,
        OUTPUT_GROWTHS=tuple(kind.growth for kind in kinds),
        OUTPUT_SYNAPSES=tuple(kind.synapse for kind in kinds),
        SLOTS=len(kinds),
        H=hidden,
        D=width,
        C=classes,
        PADDED=-(-hidden // rows) * rows,
        ROW_LANES=triton.next_power_of_2(hidden),
        LANES=triton.next_power_of_2(width),
        CLASS_LANES=triton.next_power_of_2(classes),
        ROWS=rows,
    )


def powers_of(lateral_inhibition: float) -> tuple[int, int]:
    """λ as a number of squarings and one of square roots; (-1, 0) if it is no power of two."""
    exponent = math.log2(lateral_inhibition)
    if not exponent.is_integer():
        return -1, 0
    return max(int(exponent), 0), max(-int(exponent), 0)


class TritonPopulation(DevicePopulation):
    name = "triton"
    learners = (HEBBIAN.name, SGD.name)
    chunk = 4096  # samples per launch; a launch then takes some hundredths of a second

    def __init__(
        self,
        trials: Sequence[Trial],
        weights: Sequence[Weights],
        samples: Samples,
        device: str = "cuda",
    ) -> None:
        super().__init__(trials, weights, samples, device)
        if (device == "cpu") != INTERPRETED:
            raise SnapError(
                "the triton engine runs on a GPU, or on the cpu if TRITON_INTERPRET=1 is set"
            )
        self.device = torch.device(device)
        exact_products(self.device)
        kinds = dict.fromkeys(OutputKind.of(trial) for trial in trials)
        slots = {kind: slot for slot, kind in enumerate(kinds)}
        groups = sharing(trials, weights, place=OutputKind.of)
        # For each layer, the network in each slot.
        self.layers: list[dict[int, int]] = [
            {slots[OutputKind.of(trials[g])]: g for g in group} for group in groups
        ]
        self.rules = [rule_of([trials[g] for g in group], *weights[group[0]]) for group in groups]
        W, V = weights[0]
        programs = {
            program_of(trials[group[0]], rule, list(kinds), (*W.shape, len(V)))
            for group, rule in zip(groups, self.rules, strict=True)
        }
        alone = trials[0].learner == SGD.name  # its hidden layer depends on its output layer
        if len(programs) > 1 or (alone and len(kinds) > 1):
            raise SnapError(
                "trials of one population must share learner, hidden growth, protocol and width;"
                " those of SGD the output growth too"
            )
        (self.program,) = programs
        self.classes = self.program.C
        padded = np.zeros((len(groups), self.program.PADDED, self.program.D), W.dtype)
        outputs = np.zeros((len(groups), len(kinds), *V.shape), V.dtype)
        for n, layer in enumerate(self.layers):
            for slot, g in layer.items():
                padded[n, : self.program.H], outputs[n, slot] = weights[g]
        self.W, self.V = self._place(padded), self._place(outputs)
        self.divisors = self._place(np.array([kind.divisor for kind in kinds], W.dtype))
        self._on_device: dict[int, tuple[Samples, Tensor, Tensor]] = {}
        self._place_rules()

    def _place(self, values: NDArray[Any]) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self.device)

    def _place_rules(self) -> None:
        number = self.W.dtype
        own = [(r.alpha, r.eta, r.lateral_inhibition, r.hidden_fan, r.epsilon) for r in self.rules]
        self.numbers = torch.tensor(own, dtype=number, device=self.device)
        powers = [powers_of(float(r.lateral_inhibition)) for r in self.rules]
        self.powers = torch.tensor(powers, dtype=torch.int32, device=self.device)
        self.hidden_bias = self._place(np.stack([r.hidden_bias for r in self.rules]))
        self.output_bias = self._place(np.stack([r.output_bias for r in self.rules]))
        values = self.program.PADDED * (kernels.FACTORS.value + kernels.SUMS.value)
        self.scratch = torch.zeros((len(self.rules), values), dtype=number, device=self.device)

    @staticmethod
    def groups(trials: Sequence[Trial], record: bool = False) -> list[list[int]]:
        """Trials that one launch can train: they share all but numbers and output growth.

        When one diverges, a layer that it shares keeps learning. Recorded trials therefore do not
        share a layer.
        """
        groups: dict[Any, list[int]] = {}
        for n, trial in enumerate(trials):
            samples = trial.dataset, trial.split, trial.train_limit, trial.test_limit
            hidden = trial.hidden_part.configuration
            key = (trial.learner, hidden, trial.protocol, trial.hidden, samples)
            apart = trial.configuration if record else None
            groups.setdefault((key, apart), []).append(n)
        return list(groups.values())

    def _samples(self, samples: Samples) -> tuple[Tensor, Tensor]:
        """The samples on the device, images as numbers; they are copied there once."""
        if id(samples) not in self._on_device:
            images = torch.tensor(samples.images, device=self.device)
            scale = 255 if images.dtype == torch.uint8 else 1
            labels = self._place(samples.labels.astype(np.int32))
            self._on_device[id(samples)] = (samples, images.to(self.W.dtype) / scale, labels)
        return self._on_device[id(samples)][1:]

    def _split(self, orders: Sequence[NDArray[np.int64]]) -> None:
        """Give networks that learn from different samples next a hidden layer each."""
        source: list[int] = []
        layers: list[dict[int, int]] = []
        for n, layer in enumerate(self.layers):
            places = list(layer.items())
            for part in alike([orders[g] for _, g in places]):
                source.append(n)
                layers.append(dict(places[at] for at in part))
        if len(layers) > len(self.layers):
            self.W, self.V = self.W[source].contiguous(), self.V[source].contiguous()
            self.rules = [self.rules[n] for n in source]
            self.layers = layers
            self._place_rules()

    def _train(self, orders: Sequence[NDArray[np.int64]]) -> list[int | None]:
        self._split(orders)
        own = [orders[next(iter(layer.values()))] for layer in self.layers]
        lengths = np.array([len(order) for order in own])
        result: list[int | None] = [None] * len(orders)
        if not lengths.any():
            return result
        spans = np.stack([np.cumsum(lengths) - lengths, lengths], axis=1).astype(np.int32)
        diverged = np.full((len(self.layers), self.program.SLOTS), -1, np.int32)
        for n, layer in enumerate(self.layers):
            for slot, g in layer.items():
                diverged[n, slot] = 0 if self.diverged[g] is None else -1
        images, labels = self._samples(self.samples)
        at = self._place(diverged)
        order = self._place(np.concatenate(own).astype(np.int32))
        data = (images, labels, order, self._place(spans))
        rules = (self.numbers, self.powers, self.hidden_bias, self.output_bias, self.divisors)
        arguments = (self.W, self.V, *data, *rules, at, self.scratch)
        launch(self.program, len(self.layers), arguments)
        for layer, row in zip(self.layers, at.tolist(), strict=True):
            for slot, g in layer.items():
                result[g] = row[slot] if row[slot] > 0 else None
        return result

    def batches(self, networks: Sequence[int], samples: Samples) -> Iterator[Batch]:
        places = torch.tensor([self._find(network) for network in networks], device=self.device)
        layers, slots = places[:, 0], places[:, 1]
        alpha, eta, power = (self.numbers[layers, n : n + 1] for n in range(3))
        biases = self.hidden_bias[layers], self.output_bias[layers]
        rule = torch_steps.Rule(self.trials[networks[0]], power, eta, alpha, *biases)
        W, V = self.W[layers, : self.program.H], self.V[layers, slots]
        images, labels = self._samples(samples)
        return batched_outputs(W, V, rule, images, labels.to(torch.int64))

    def weights(self, network: int) -> Weights:
        n, slot = self._find(network)
        W, V = self.W[n, : self.program.H], self.V[n, slot]
        return W.cpu().numpy().copy(), V.cpu().numpy().copy()

    def _find(self, network: int) -> tuple[int, int]:
        """The layer and the slot of a network."""
        return next(
            (n, slot)
            for n, layer in enumerate(self.layers)
            for slot, g in layer.items()
            if g == network
        )


def launch(program: Program, layers: int, arguments: tuple[Tensor, ...]) -> None:
    """Run one program per layer, and wait for none of them.

    Triton launches on the current device, which is another one if the weights are on cuda:1.
    """
    device = arguments[0].device
    with torch.cuda.device(device) if device.type == "cuda" else nullcontext():
        kernels.train[(layers,)](*arguments, **asdict(program), num_warps=program.warps)
