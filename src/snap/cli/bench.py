"""snap bench, snap compile: measure and compile the engines on this machine."""

from __future__ import annotations

import argparse
import json
from typing import Any

from snap.cli.options import add_json


def add(commands: Any) -> None:
    _add_bench(commands)
    _add_compile(commands)


def _add_bench(commands: Any) -> None:
    bench = commands.add_parser(
        "bench",
        help="measure the engines on this machine",
        description="Print the microseconds per training sample of each engine on one core, and how"
        " far the cpu engine is from the fastest possible time. All ratios come from one run.",
    )
    add_json(bench)
    bench.add_argument(
        "--hidden", action="append", metavar="H", help="hidden widths (default: 64 and 96)"
    )
    bench.add_argument(
        "--quick", action="store_true", help="fewer repetitions, less precise (engine cpu)"
    )
    bench.add_argument(
        "--engine",
        choices=("cpu", "triton"),
        default="cpu",
        help="triton: check and measure it on a GPU instead",
    )
    bench.add_argument(
        "--controls", action="store_true", help="measure the controls instead (engine cpu)"
    )
    bench.add_argument("--device", default="auto", help="cuda, cuda:1, … (engine triton)")
    bench.set_defaults(command=_bench)


def _bench(options: argparse.Namespace) -> None:
    from snap.errors import SnapError
    from snap.numbers import parse_whole

    widths = [parse_whole(h, "hidden", least=1) for h in options.hidden or (64, 96)]
    if options.controls and options.engine != "cpu":
        raise SnapError("--controls measures the cpu engine: leave out --engine")
    if options.controls:
        from snap import control_bench

        report = control_bench.measure(widths, quick=options.quick)
        print(json.dumps(report) if options.json else control_bench.table(report))
    elif options.engine == "triton":
        from snap import gpu_bench

        report = gpu_bench.measure(widths, gpu_bench.device_to_measure(options.device))
        print(json.dumps(report) if options.json else gpu_bench.table(report))
    else:
        from snap import bench

        report = bench.measure(widths, quick=options.quick)
        print(json.dumps(report) if options.json else bench.table(report))


def _add_compile(commands: Any) -> None:
    command = commands.add_parser(
        "compile",
        help="compile the cpu engine now",
        description="Compile the loops of the cpu engine, once for this machine. Otherwise the"
        " first training compiles them.",
    )
    command.set_defaults(command=_compile)


def _compile(_: argparse.Namespace) -> None:
    from snap.engines.cpu_population import compile_all

    compile_all()
