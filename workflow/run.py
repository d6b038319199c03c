"""Run the workflow, as make does: clear up after a run that was killed, then two passes.

In the second pass, what follows a selection runs only if the selection changed. In a single pass
Snakemake would run it after every search, although nothing would be trained twice.

The terminal sends Ctrl-C to Snakemake and its jobs. SIGTERM is passed on to them as if it were
Ctrl-C: otherwise Snakemake would wait until its jobs have ended, which may take hours.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import recover

PASSES = ("pairs", "all")
received: list[int] = []  # the signals that told this run to stop


def main(options: list[str]) -> int:
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    if code := recover.main():
        return code
    codes = []
    for target in PASSES:
        before = time.time()
        process = subprocess.Popen([sys.executable, "-m", "snakemake", target, *options])
        if received:  # before it was there
            interrupt_jobs()
        code = process.wait()
        if received or code < 0:
            what = "stopped" if received else f"Snakemake was killed by signal {-code}"
            print(f"snap: {what}; the same command goes on where it was", file=sys.stderr)
            return 128 + (received[0] if received else -code)
        codes.append(code)
        if code and not begun_since(before):  # it would fail in the same way again
            break
    return max(codes)


def begun_since(moment: float) -> bool:
    """Whether a run got as far as starting jobs: those that do not need a failed one go on."""
    plans = Path("results").glob("*/plan.json")
    return any(plan.stat().st_mtime >= moment - 1 for plan in plans)


def stop(number: int, _: object) -> None:
    received.append(number)
    if number == signal.SIGTERM:
        interrupt_jobs()


def interrupt_jobs() -> None:
    """Do to Snakemake and its jobs what Ctrl-C does."""
    for process in psutil.Process().children(recursive=True):
        try:
            process.send_signal(signal.SIGINT)
        except psutil.NoSuchProcess:
            continue


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
