"""Compile the kernel of the triton engine for GPUs that are not here, and count what came out.

`python tests/compiled.py` prints the counts, and the estimate in docs/engines.md. It needs
triton, but no GPU. The compiler and the disassembler are in triton's package.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections import Counter
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import triton
from triton.backends.compiler import GPUTarget
from triton.compiler import ASTSource

from snap import Trial
from snap.engines import triton_kernels
from snap.engines.rule import rule_of
from snap.engines.triton_population import OutputKind, Program, program_of
from snap.learners import SGD
from snap.trial import Configuration

TOOLS = Path(triton.__file__).parent / "backends/nvidia/bin"
ARCHITECTURES = (80, 90)  # A100, H100
WIDTHS = (64, 96)
# The paper's configurations: those in a row share a hidden layer and so a program.
LAYERS = (
    ("linear-linear",),
    ("exponential-linear-neuron", "exponential-exponential-neuron"),
    ("sigmoid-linear-neuron", "sigmoid-sigmoid-neuron"),
    ("sigmoid-linear-synapse", "sigmoid-sigmoid-synapse"),
)


@dataclass
class Count:
    """What was counted in one compiled program."""

    learner: str
    configuration: str
    hidden: int
    precision: str
    architecture: int
    registers: int
    shared_bytes: int
    spills_in_row_loop: int
    row_conversions: int  # changes of layout of a row tensor inside the sample loop
    row_loop: int  # instructions per warp for one block of rows
    sample_loop: int  # instructions per warp outside the row loop, per sample
    per_weight: float  # instructions per weight and sample, counted per thread
    barriers: int  # that the kernel asks for, without those of its sums


def program(trials, hidden: int, dtype) -> Program:
    shape = (hidden, 784, 10)
    W, V = np.zeros(shape[:2], dtype), np.zeros((10, hidden), dtype)
    return program_of(trials[0], rule_of(trials, W, V), [OutputKind.of(t) for t in trials], shape)


def compiled(constants: Program, dtype, architecture: int):
    """The kernel, compiled ahead of time as a launch would compile it."""
    number = "*fp32" if dtype == np.float32 else "*fp64"
    whole = {"labels", "order", "spans", "powers", "diverged"}
    names = [name for name in triton_kernels.train.arg_names if name not in asdict(constants)]
    signature = {name: "*i32" if name in whole else number for name in names}
    signature |= dict.fromkeys(asdict(constants), "constexpr")
    aligned = {(n,): [["tt.divisibility", 16]] for n in range(len(names))}
    source = ASTSource(triton_kernels.train, signature, asdict(constants), aligned)
    target = GPUTarget("cuda", architecture, 32)
    return triton.compile(source, target=target, options={"num_warps": constants.warps})


def tool(name: str, option: str, cubin: bytes) -> str:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        Path(file.name).write_bytes(cubin)
        call = [TOOLS / name, option, file.name]
        return subprocess.run(call, capture_output=True, text=True, check=True).stdout


def instructions(listing: str) -> list[tuple[int, str]]:
    found = re.findall(r"^\s+/\*([0-9a-f]{4,})\*/\s+(.*?);", listing, re.MULTILINE)
    return [(int(address, 16), text) for address, text in found]


def loops(listing: list[tuple[int, str]]) -> list[tuple[int, int]]:
    """The loops, as positions of their first and last instruction: jumps backwards."""
    place = {address: n for n, (address, _) in enumerate(listing)}
    found = []
    for n, (address, text) in enumerate(listing):
        jump = re.search(r"\bBRA\b.*?0x([0-9a-f]+)", text)
        if jump and int(jump[1], 16) <= address:
            found.append((place[int(jump[1], 16)], n))
    return found


def operation(text: str) -> str:
    return re.sub(r"^@!?U?P\w+\s+", "", text).split()[0].split(".")[0]


def count(trials, hidden: int, dtype, architecture: int) -> Count:
    constants = program(trials, hidden, dtype)
    kernel = compiled(constants, dtype, architecture)
    listing = instructions(tool("cuobjdump", "-sass", kernel.asm["cubin"]))
    usage = tool("cuobjdump", "-res-usage", kernel.asm["cubin"])
    whole = loops(listing)
    # The sample loop is the longest. The row loop is the longest that it contains.
    outer = max(whole, key=lambda loop: loop[1] - loop[0])
    inside = [loop for loop in whole if outer[0] < loop[0] and loop[1] < outer[1]]
    inner = max(inside, key=lambda loop: loop[1] - loop[0])
    body = Counter(operation(text) for _, text in listing[inner[0] : inner[1] + 1])
    length = inner[1] - inner[0] + 1
    lanes = constants.warps * 32
    return Count(
        learner=trials[0].learner,
        configuration=trials[-1].configuration.name,
        hidden=hidden,
        precision=np.dtype(dtype).name,
        architecture=architecture,
        registers=int(re.search(r"REG:(\d+)", usage)[1]),
        shared_bytes=kernel.metadata.shared,
        spills_in_row_loop=body["LDL"] + body["STL"],
        row_conversions=conversions(kernel.asm["ttgir"], constants.LANES),
        row_loop=length,
        sample_loop=outer[1] - outer[0] + 1 - length,
        per_weight=length * lanes / (constants.ROWS * constants.D),
        barriers=kernel.asm["ttgir"].count("ttg.barrier"),
    )


def conversions(ttgir: str, lanes: int) -> int:
    """Changes of layout of tensors as long as a row. The loop that they stand in does not matter:
    before it there is only the first product."""
    return len(re.findall(rf"ttg\.convert_layout .*tensor<{lanes}[x>]", ttgir))


def populations(hidden: int):
    for names in LAYERS:
        yield [Trial(name, 0.03, 2, 0.1, hidden=hidden) for name in names]
    for name in SGD.paper_configurations:
        yield [Trial(name, 0.03, learner="sgd", hidden=hidden)]


def counts() -> list[Count]:
    """Every configuration of the paper, and one in float64, which only the self-check uses."""
    found = [
        count(trials, hidden, np.float32, architecture)
        for architecture in ARCHITECTURES
        for hidden in WIDTHS
        for trials in populations(hidden)
    ]
    trials = [Trial(name, 0.03, 2, 0.1, hidden=64) for name in LAYERS[2]]
    return [*found, *(count(trials, 64, np.float64, sm) for sm in ARCHITECTURES)]


@dataclass(frozen=True)
class Device:
    """Numbers of a device, from its data sheet but for the bandwidth of its cache."""

    name: str
    architecture: int
    processors: int
    gigahertz: float
    cache_mb: int
    cache_tb_per_s: float  # assumed, from published microbenchmarks

    def seconds(self, counted: Count) -> tuple[float, float]:
        """A bound for the time per sample of a hidden layer on one multiprocessor, and twice that.

        Each of its four schedulers issues the instructions of one warp, one per cycle at best. W is
        read and written once per sample through the device's share of the cache. The longer counts.
        Waiting for memory and for barriers is not counted. Twice the bound is a guess at both.
        """
        blocks = -(-counted.hidden // 8)
        issued = (blocks * counted.row_loop + counted.sample_loop) / (self.gigahertz * 1e9)
        moved = 2 * 4 * counted.hidden * 784
        cached = moved / (self.cache_tb_per_s * 1e12 / self.processors)
        return max(issued, cached), 2 * max(issued, cached)


DEVICES = (
    Device("A100", 80, 108, 1.41, 40, 4.8),
    Device("H100", 90, 132, 1.755, 50, 5.7),
)


SEARCHED = 8 * 25 * 600_000  # samples of a hidden layer in the paper's search: λ, pairs, ten epochs


def estimate(found: list[Count]) -> str:
    """The table in docs/engines.md."""
    lines = [
        "| device | hidden layer | H | instructions per warp | µs per sample | million samples/s |",
        "| --- | --- | --- | --- | --- | --- |",
    ]
    for device in DEVICES:
        search = [0.0, 0.0]
        for one in found:
            if one.architecture != device.architecture or one.precision == "float64":
                continue
            if one.learner == "sgd" and one.configuration != "linear-linear":
                continue
            seconds = device.seconds(one)
            rates = [device.processors / most / 1e6 for most in reversed(seconds)]
            if one.learner == "hebbian":
                for n in range(2):
                    search[n] += SEARCHED * seconds[n] / device.processors / 60
            hidden = Configuration.parse(one.configuration).hidden_layer
            issued = -(-one.hidden // 8) * one.row_loop + one.sample_loop
            lines.append(
                f"| {device.name} | {one.learner}, {hidden} | {one.hidden} | {issued:,} |"
                f" {seconds[0] * 1e6:.1f} to {seconds[1] * 1e6:.1f} |"
                f" {rates[0]:.1f} to {rates[1]:.1f} |"
            )
        lines.append(
            f"| {device.name} | the whole search |  |  |  |"
            f" {search[0]:.1f} to {search[1]:.1f} minutes |"
        )
    return "\n".join(lines)


if __name__ == "__main__":
    everything = counts()
    if "--json" in sys.argv:
        print(
            json.dumps({"counts": [asdict(c) for c in everything], "table": estimate(everything)})
        )
    else:
        for one in everything:
            print(one)
        print(estimate(everything))
