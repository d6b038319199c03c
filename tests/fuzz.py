"""Try thousands of hostile and valid inputs, and count what comes of them.

Run by `make fuzz N=2000 SEED=1`. Each case begins in a copy of a folder with a finished run. It
changes files there (configurations, specifications, data, trials, a publication) and calls `snap`,
`snakemake --dry-run`, or `workflow/run.py`, which is what make calls. Subcommands are found in the
parsers of `snap`, so new ones are tried too. Most cases run in a fork of this process, which has
imported everything; some in a process of their own.

A case is valid if its exit code is 0, or if `snap verify` has counted what is damaged. It is
refused with a sentence if the last line of standard error is `snap: error: …`, also as argparse and
Snakemake write it. Anything else counts as a traceback. A hang is a case that needs more than a
minute of a core, or ten in all. A case that is refused may not have changed a file, with two
exceptions: the notes that Snakemake makes whenever it reads a workflow, in .snakemake and logs, and
files that lock a folder, because another process may be waiting for one.

`make fuzz SEED=1 CASE=17` runs one case again, shows all that it said, and keeps its folder.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import random
import re
import resource
import select
import shlex
import shutil
import signal
import stat
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

from snap.pipeline import resources

resources.bind(1)  # threads do not survive a fork

import fuzz_cases  # noqa: E402
import fuzz_place  # noqa: E402
from fuzz_place import ROOT, Case  # noqa: E402

VALID, REFUSED = "valid", "refused"
FAULTS = ("traceback", "hang", "written")
CORE_SECONDS, SECONDS = 60, 600
MEMORY = 6 * 2**30  # bytes of addresses that a case may use beyond those of this process
SENTENCE = re.compile(r"(snap( [a-z]+)*|run\.py): error: \S[^\n]*")
# Snakemake reads a --configfile before the workflow can. Its dry run says so on standard output.
SNAKEMAKES = re.compile(r"\AWorkflowError:\n[^\n]+\n\Z")
COUNTED = re.compile(r"\d+ files checked, \d+ missing or damaged\n\Z")
IGNORED = re.compile(r"(\.snakemake|logs)(/.*)?|(.*/)?\.[^/]*\.lock")
IMPORTED = (
    *("matplotlib.pyplot", "snakemake.cli", "snakemake.workflow", "torch", "run"),
    *(
        "snap.experiments",
        "snap.notebook.trained",
        "snap.pipeline.controls",
        "snap.pipeline.ladder",
    ),
    *("snap.pipeline.portrait", "snap.pipeline.restore", "snap.publishing.publish"),
    *(
        "snap.report.claims",
        "snap.report.control_tables",
        "snap.report.figures",
        "snap.report.page",
    ),
    *("snap.report.metric_tables", "snap.report.result_tables", "snap.report.setting_tables"),
)
NO_NETWORK = {f"{name}_proxy": "http://127.0.0.1:9" for name in ("http", "https")}


@dataclass(frozen=True)
class Outcome:
    kind: str
    code: int
    output: str
    error: str
    changed: list[str]  # files

    @property
    def verdict(self) -> str:
        last = self.error.rstrip("\n").rpartition("\n")[2]
        if -self.code in (signal.SIGXCPU, signal.SIGKILL):
            return "hang"
        if self.code == 0 or (self.code == 1 and COUNTED.search(self.output)):
            return VALID
        sentence = SENTENCE.fullmatch(last) and last.isprintable()
        if "Traceback" in self.error or not (sentence or SNAKEMAKES.search(self.output)):
            return "traceback"
        return "written" if self.changed else REFUSED


def imported() -> None:
    """Import what commands import, so that the forks need not."""
    sys.path.insert(0, str(ROOT / "workflow"))
    for name in IMPORTED:
        import_module(name)


def try_case(seed: int, number: int, place: Path, begin: Path) -> tuple[Case, Outcome]:
    """Run a case in a new folder. It is some levels below `place`, so that `../..` is in it."""
    folder = place / "deep/down"
    shutil.copytree(begin, folder, symlinks=True)
    kind, case = fuzz_cases.make(seed, number, folder)
    before = contents(place)
    said = [place.parent / f"{number}.{name}" for name in ("out", "err")]
    code = run_case(case, folder, *said)
    after = contents(place)
    differing = before.items() ^ after.items()
    changed = sorted({name for name, _ in differing if not IGNORED.fullmatch(inner(name))})
    output, error = (path.read_text(encoding="utf-8", errors="replace") for path in said)
    for path in said:
        path.unlink()
    return case, Outcome(kind, code, output, error, changed)


def inner(name: str) -> str:
    return name.removeprefix("deep/down/")


def contents(place: Path) -> dict[str, tuple[int, ...]]:
    """Every file below a folder, with what changes when it is written to, and every folder."""
    found = {}
    for top, folders, names in os.walk(place):
        for name in (*folders, *names):
            path = os.path.join(top, name)  # noqa: PTH118
            state = os.lstat(path)
            what: tuple[int, ...] = (state.st_mode, state.st_ino)
            if not stat.S_ISDIR(state.st_mode):
                what += (state.st_size, state.st_mtime_ns)
            found[os.path.relpath(path, place)] = what
    return found


def run_case(case: Case, folder: Path, output: Path, error: Path) -> int:
    """Run the program of a case, and return its exit code; that of a hang is -9."""
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            become(case, folder, output, error)
        finally:
            os._exit(70)
    handle = os.pidfd_open(child)
    try:
        waiting = select.poll()
        waiting.register(handle, select.POLLIN)
        waiting.poll(SECONDS * 1000)
    finally:
        os.close(handle)
        with contextlib.suppress(ProcessLookupError):
            if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is None:
                os.killpg(child, signal.SIGKILL)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what it has left behind
    return code


def become(case: Case, folder: Path, output: Path, error: Path) -> None:
    """Run the program of a case in this process, and end it."""
    os.chdir(folder)
    for number, name, mode in (
        (0, os.devnull, os.O_RDONLY),
        (1, output, os.O_WRONLY | os.O_CREAT),
        (2, error, os.O_WRONLY | os.O_CREAT),
    ):
        os.dup2(os.open(name, mode, 0o600), number)
    for name, value in {**NO_NETWORK, **case.variables}.items():
        os.environ.pop(name, None)
        if value is not None:
            os.environ[name] = value
    resource.setrlimit(resource.RLIMIT_CPU, (CORE_SECONDS, CORE_SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    limit = MEMORY + addresses()
    resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
    if case.own_process or case.shell:
        command = ["bash", "-c", f'"$@" {case.shell}', "bash", *case.command]
        os.execvp("bash", [os.fsencode(word) for word in command])
    sys.argv = [case.program, *case.arguments]
    try:
        code = entry(case)
    except SystemExit as error_:
        code = error_.code
    except BaseException:
        traceback.print_exc()
        code = 1
    if isinstance(code, str):
        print(code, file=sys.stderr)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def entry(case: Case) -> object:
    if case.program == "snakemake":
        from snakemake.cli import main

        return main(list(case.arguments))
    if case.program == "run.py":
        import run

        return run.main(list(case.arguments))
    from snap.cli.main import main

    return main(list(case.arguments))


def addresses() -> int:
    """The bytes of addresses that this process uses."""
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    return pages * resource.getpagesize()


def cases(options: argparse.Namespace) -> Iterator[int]:
    if options.case is not None:
        yield options.case
    else:
        yield from range(options.first, options.first + options.number)


def describe(seed: int, number: int, case: Case, outcome: Outcome) -> str:
    words = [f"{name}={value!r}" for name, value in case.variables.items()]
    words += [case.program, *map(shlex.quote, case.arguments), case.shell]
    what = f"{outcome.verdict}: {outcome.kind}, exit code {outcome.code}"
    if outcome.changed:
        what += f", changed: {', '.join(map(repr, map(inner, outcome.changed[:5])))}"
    command = " ".join(word[:300] for word in words).encode("utf-8", "replace").decode()
    ending = "\n".join(line[:300] for line in outcome.error.splitlines()[-6:])
    return f"{what}\n  make fuzz SEED={seed} CASE={number}\n  {command!r}\n{ending}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--number", type=int, default=2000)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(10**6))
    parser.add_argument("--case", type=int, help="run this case only")
    options = parser.parse_args()
    print(f"seed {options.seed}", flush=True)
    counts: Counter[str] = Counter()
    kinds: Counter[tuple[str, str]] = Counter()
    top = Path(tempfile.mkdtemp(prefix="snap-fuzz-")).resolve()
    begin = top / "begin"
    with contextlib.redirect_stderr(io.StringIO()):
        fuzz_place.prepare(begin)
    imported()
    begun = time.monotonic()
    for number in cases(options):
        place = top / str(number)
        case, outcome = try_case(options.seed, number, place, begin)
        counts[outcome.verdict] += 1
        kinds[outcome.kind, outcome.verdict] += 1
        if outcome.verdict in FAULTS or options.case is not None:
            print(describe(options.seed, number, case, outcome), flush=True)
        if options.case is not None:
            print(outcome.output, outcome.error, f"the folder is kept: {place}", sep="\n")
            break
        shutil.rmtree(place)
        if sum(counts.values()) % 100 == 0:
            print(f"{time.monotonic() - begun:.0f} s: {sum(counts.values())} cases", flush=True)
    else:
        shutil.rmtree(top)
    for kind in sorted({kind for kind, _ in kinds}):
        numbers = ", ".join(f"{n} {v}" for (k, v), n in sorted(kinds.items()) if k == kind)
        print(f"{kind.replace('_', ' ')}: {numbers}")
    print(
        f"{sum(counts.values())} tried, {counts[VALID]} valid, {counts[REFUSED]} refused with a"
        f" sentence, {counts['traceback']} tracebacks, {counts['hang']} hangs, {counts['written']}"
        " files written by refused ones"
    )
    return 1 if any(counts[fault] for fault in FAULTS) else 0


if __name__ == "__main__":
    sys.exit(main())
