"""Run the workflow for make: clean up after a killed run, then run Snakemake in two passes.

The passes make the pairs and then everything, or the target that the first argument names. In the
second pass, the jobs that depend on a selection run only if the selection changed. In a single pass
Snakemake would run them after every search, although nothing would be trained twice.

The terminal sends Ctrl-C to Snakemake and its jobs. SIGTERM and SIGHUP are passed on to them as
SIGINT, because on SIGTERM Snakemake would wait for its jobs to finish, which may take hours. If
this process is killed, so are Snakemake and its jobs.

--configs NAME takes the configuration files from the environment variable NAME, so that no shell
reads what `make run CONFIG=…` is given. A run of everything ends with the path of its report.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterable
from functools import partial
from pathlib import Path

import folder_lock
import profile_check
import psutil
import recover

from snap.errors import SnapError, printable, shown
from snap.pipeline import keeper, verify
from snap.pipeline.config import read
from snap.pipeline.status import RUNNER, kept_words, state

received: list[int] = []  # signals received that stop this run
AGAIN = 2.0  # seconds after which jobs that have not ended are interrupted again


def main(arguments: list[str]) -> int:
    named = bool(arguments) and not arguments[0].startswith("-")
    last, options = (arguments[0], arguments[1:]) if named else ("all", arguments)
    signal.signal(signal.SIGINT, stop)
    signal.signal(signal.SIGTERM, stop)
    if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # nohup
        signal.signal(signal.SIGHUP, stop)
    try:
        options = with_configs(options)
        profile_check.check(options)
        report = report_of(options)
    except SnapError as error:
        print(f"snap: error: {error}", file=sys.stderr)
        return 2
    if code := recover.main():
        return code
    try:
        remove_damaged(report.parent)
    except (SnapError, OSError) as error:
        print(f"snap: error: {error}", file=sys.stderr)
        return 2
    os.environ[RUNNER] = str(os.getpid())
    codes = []
    begun = time.time()
    for target in ("pairs", last):
        before = time.time()
        process = subprocess.Popen(
            [sys.executable, "-m", "snakemake", target, *options],
            pass_fds=folder_lock.inherited(),
            preexec_fn=partial(keeper.end_with_parent, os.getpid()),
        )
        if received:  # a signal that arrived before the process had started
            interrupt([psutil.Process(process.pid)])
        code = process.wait()
        signal.setitimer(signal.ITIMER_REAL, 0)
        if received or code < 0:
            what = f"Snakemake was killed by signal {-code}"
            if received:
                what = "; ".join(["stopped", *kept(report.with_name("plan.json"), begun)])
            print(f"snap: {what}; run the same command again to resume", file=sys.stderr)
            return 128 + (received[0] if received else -code)
        codes.append(code)
        if code and not jobs_started_since(before):  # the next pass would fail in the same way
            break
    if last == "all" and not any(codes) and report.exists():
        print(f"Done: open {report}")
    return max(codes)


def remove_damaged(folder: Path) -> None:
    """Remove what does not match its record, of the data and of the run, so that it is made again.

    Snakemake would not notice a changed file that no job reads. Trials are checked when they are
    used.
    """
    checked = itertools.chain(verify.check_data(Path("data")), verify.check_run(folder))
    for file in [file for file in checked if file.fault is not None]:
        if file.remove():
            fault = re.sub("[;:] fetch it again$", "", str(file.fault))  # the run does
            print(f"snap: {file.path} {fault}; it is made again", file=sys.stderr)


def with_configs(options: list[str]) -> list[str]:
    """Replace --configs NAME by the configuration files in the variable NAME and the run's name."""
    if options[:1] != ["--configs"]:
        return options
    variable, *others = options[1:]
    files = files_in(variable)
    for file in files:
        shown = printable(file, 200)
        if not is_file(file):
            raise SnapError(
                f"{variable} names {shown}, which is not a file (spaces separate files: put quotes"
                " around a path that has some)"
            )
        if not read([Path(file)]):
            raise SnapError(f"{shown} is empty: write the keys into it that you want to change")
    return ["--configfile", *files, *named_after(files[-1]), *others]


def files_in(variable: str) -> list[str]:
    """The files that an environment variable lists: a single path, or several as in a shell."""
    text = os.environ.get(variable, "")
    try:
        files = [text] if is_file(text) else shlex.split(text)
    except ValueError as error:
        raise SnapError(f"{variable} cannot be read as a list of files: {error}") from None
    if not files:
        raise SnapError(f"name the file with your configuration: make run {variable}=mine.yaml")
    return [f"./{file}" if file.startswith("-") else file for file in files]


def is_file(path: str) -> bool:
    try:
        return Path(path).is_file()
    except OSError:  # the name is too long
        return False


def named_after(file: str) -> list[str]:
    """The option that calls a run like the last of its files, unless that file sets `run`.

    So no run replaces the results of the paper, or of a preset below it, by an oversight.
    """
    name = Path(file).stem
    if "run" in read([Path(file)]):
        return []
    if not re.fullmatch("[A-Za-z][A-Za-z0-9_-]*", name) or name in ("paper", "trials"):
        raise SnapError(
            f"{printable(file, 200)} sets no `run`, and the run cannot be called like the file: add"
            " `run: NAME`, with letters, digits, - and _"
        )
    return ["--config", f"run={name}"]


def report_of(options: list[str]) -> Path:
    """The report of a run with these options."""
    parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
    parser.add_argument("--configfile", "--configfiles", nargs="+", type=Path, default=[])
    parser.add_argument("--config", "-C", nargs="*", default=[])
    given, _ = parser.parse_known_args(options)
    run = read([Path("config.yaml"), *given.configfile]).get("run", "paper")
    for item in given.config:
        key, equals, value = item.partition("=")
        if not equals or not re.fullmatch(r"[A-Za-z_]\w*", key):
            raise SnapError(f"--config takes KEY=VALUE, got {shown(item)}")
        run = value if key == "run" else run
    return Path.cwd() / "results" / str(run) / "report.html"


def kept(plan_file: Path, begun: float) -> list[str]:
    """What is kept of a run; nothing is known if it was stopped before it made its plan."""
    if not plan_file.exists() or plan_file.stat().st_mtime < begun:
        return []
    return [kept_words(state(plan_file))]


def jobs_started_since(moment: float) -> bool:
    """Whether a run has started jobs. If so, the next pass can run those that did not fail."""
    plan_files = Path("results").glob("*/plan.json")
    return any(file.stat().st_mtime >= moment - 1 for file in plan_files)


def stop(number: int, _: object) -> None:
    received.append(number)
    if number != signal.SIGINT:
        interrupt(psutil.Process().children(recursive=True))
    # Snakemake may just be starting a job, and would wait until it ends.
    signal.signal(signal.SIGALRM, interrupt_jobs)
    signal.setitimer(signal.ITIMER_REAL, AGAIN, AGAIN)


def interrupt_jobs(*_: object) -> None:
    me = psutil.Process()
    snakemake = me.children()
    interrupt([process for process in me.children(recursive=True) if process not in snakemake])


def interrupt(processes: Iterable[psutil.Process]) -> None:
    """Send SIGINT, as Ctrl-C does."""
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGINT)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
