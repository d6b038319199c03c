"""Run the workflow for make: clean up after a killed run, then run Snakemake in two passes.

The passes make the pairs and then everything, or the target that the first argument names. In the
second pass, the jobs that depend on a selection run only if the selection changed. In a single pass
Snakemake would run them after every search, although nothing would be trained twice.

The terminal sends Ctrl-C to Snakemake and its jobs. SIGTERM is passed on to them as SIGINT, because
on SIGTERM Snakemake would wait for its jobs to finish, which may take hours.
"""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path

import profile_check
import psutil
import recover

from snap.errors import SnapError

received: list[int] = []  # signals received that stop this run


def main(arguments: list[str]) -> int:
    named = bool(arguments) and not arguments[0].startswith("-")
    last, options = (arguments[0], arguments[1:]) if named else ("all", arguments)
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    try:
        profile_check.check(options)
    except SnapError as error:
        print(f"snap: error: {error}", file=sys.stderr)
        return 2
    if code := recover.main():
        return code
    codes = []
    for target in ("pairs", last):
        before = time.time()
        process = subprocess.Popen([sys.executable, "-m", "snakemake", target, *options])
        if received:  # a signal that arrived before the process had started
            interrupt_jobs()
        code = process.wait()
        if received or code < 0:
            what = "stopped" if received else f"Snakemake was killed by signal {-code}"
            print(f"snap: {what}; run the same command again to resume", file=sys.stderr)
            return 128 + (received[0] if received else -code)
        codes.append(code)
        if code and not jobs_started_since(before):  # the next pass would fail in the same way
            break
    return max(codes)


def jobs_started_since(moment: float) -> bool:
    """Whether a run has started jobs. If so, the next pass can run those that did not fail."""
    plan_files = Path("results").glob("*/plan.json")
    return any(file.stat().st_mtime >= moment - 1 for file in plan_files)


def stop(number: int, _: object) -> None:
    received.append(number)
    if number == signal.SIGTERM:
        interrupt_jobs()


def interrupt_jobs() -> None:
    """Send SIGINT to Snakemake and its jobs, as Ctrl-C does."""
    for process in psutil.Process().children(recursive=True):
        try:
            process.send_signal(signal.SIGINT)
        except psutil.NoSuchProcess:
            continue


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
