"""snap configurations, snap protocol: list the available choices."""

from __future__ import annotations

import argparse
import json
from typing import Any

from snap.cli.options import add_json
from snap.learners import HEBBIAN, LEARNERS
from snap.protocol import AGREED, NAMED, SWITCHES, Protocol
from snap.trial import Configuration


def add(commands: Any) -> None:
    configurations = commands.add_parser(
        "configurations", help="list the configurations of the paper"
    )
    configurations.set_defaults(command=_configurations)
    protocol = commands.add_parser("protocol", help="show a protocol's switches")
    protocol.add_argument(
        "name",
        nargs="?",
        default="reference",
        help=f"{' or '.join(NAMED)}, or a mixture such as reference+output_rule=error-softmax",
    )
    protocol.add_argument(
        "--learner",
        choices=LEARNERS,
        default=HEBBIAN.name,
        help="`code` depends on it (default: %(default)s)",
    )
    protocol.set_defaults(command=_protocol)
    for command in (configurations, protocol):
        add_json(command)


def _configurations(options: argparse.Namespace) -> None:
    def describe(configuration: Configuration) -> dict[str, Any]:
        learners = [
            learner.name
            for learner in LEARNERS.values()
            if configuration.name in learner.paper_configurations
        ]
        return {"name": configuration.name, **vars(configuration), "learners": learners}

    names = dict.fromkeys(
        name for learner in LEARNERS.values() for name in learner.paper_configurations
    )
    rows = [describe(Configuration.parse(name)) for name in names]
    if options.json:
        print(json.dumps(rows))
        return
    print(f"{'name':32}{'hidden':13}{'output':13}{'focus':9}in the paper for")
    for row in rows:
        learners = ", ".join(row["learners"])
        print(f"{row['name']:32}{row['hidden']:13}{row['output']:13}{row['focus']:9}{learners}")
    print("Any other combination is named by its parts: hidden-output-focus.")


def _protocol(options: argparse.Namespace) -> None:
    protocol = Protocol.parse(options.name, options.learner)
    name = protocol.text_for(options.learner)
    if options.json:
        print(json.dumps({"name": name, **vars(protocol)}))
        return
    print(f"{name}:")
    for name, switch in SWITCHES.items():
        value = getattr(protocol, name)
        others = ", ".join(v for v in switch.values if v != value)
        print(f"  {name} = {value}   (or: {others}; for {', '.join(switch.learners)})")
        print(f"      {switch.meaning}")
    print("The same in every protocol:")
    for name, meaning in AGREED.items():
        print(f"  {name}: {meaning}")
