"""The command line: `snap`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from snap import __version__
from snap.cli import bench, data, job, lists, report, runs, streams, train
from snap.errors import SnapError, printable

DESCRIPTION = """\
Hebbian and SGD learning with linear, sigmoid and exponential weight growth.

A first look, in a minute:
  snap data fetch --dataset MNIST
  snap train --configuration sigmoid-sigmoid-neuron --lambda 16 --eta 0.003 --alpha 0.3 \\
             --experiment sequential
"""


LONGEST = 2000  # letters of an error
OUT_OF_MEMORY = "can't allocate memory"  # what torch says instead of a MemoryError


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; bad input gives one sentence on standard error and exit code 2."""
    streams.prepare()
    os.environ.pop("MPLBACKEND", None)  # no command shows a figure, and some values are errors
    try:
        options = parser().parse_args(arguments)
        code = int(options.command(options) or 0)
        sys.stdout.flush()
        return code
    except SnapError as error:
        streams.say(f"snap: error: {printable(str(error), LONGEST)}")
        return 2
    except MemoryError as error:
        streams.say(f"snap: error: not enough memory: {error}")
        return 2
    except RuntimeError as error:
        if OUT_OF_MEMORY not in str(error):
            raise
        streams.say("snap: error: not enough memory for the networks: choose fewer hidden neurons")
        return 2
    except BrokenPipeError:  # the reader of our output has exited
        return 141
    except OSError as error:
        where = f" ({printable(str(error.filename), 200)})" if error.filename else ""
        streams.say(f"snap: error: {error.strerror or error}{where}")
        return 2
    except KeyboardInterrupt:
        streams.say("snap: interrupted")
        return 130
    finally:
        streams.finish()


class Parser(argparse.ArgumentParser):
    """Its subcommands are of this class too."""

    def error(self, message: str) -> NoReturn:
        super().error(printable(message, LONGEST))


def parser() -> argparse.ArgumentParser:
    top = Parser(
        prog="snap",
        description=DESCRIPTION,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    top.add_argument("--version", action="version", version=__version__)
    commands = top.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for module in (data, train, lists, bench, job, runs, report):
        module.add(commands)
    return top


if __name__ == "__main__":
    sys.exit(main())
