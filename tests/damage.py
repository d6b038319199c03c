"""Damage every file of a finished run, and check that it is noticed and made again.

Run by `make test-damage`. It runs the `smoke` preset and damages its results and data, every file
in every way: a bit is flipped, the file is cut, emptied, filled with zeros, removed, or replaced by
a folder. `snap verify` must name exactly the damaged files, and `snap verify --remove` must remove
them. Then whole stages are damaged, and random halves of all files; the next run must make them
again. Some of these runs start without `snap verify`, as after damage that nobody has noticed.

What depends on the time is compared without it: the page without its provenance, trials without
their seconds. The plan, the provenance and the accounts of time must only be whole; an account that
was damaged is gone. `snap verify` cannot miss a removed trial, stamp or record of an account.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from snap.files import record_of
from snap.pipeline.verify import check
from workspace import PRESET, Workspace

RECORD = re.compile(r"\.(?P<name>.+)\.sha256")
TRIALS = "results/trials/"
ACCOUNTS = re.compile(r"results/[^/]+/(plan|provenance|invocations/\d+)\.json")
PAGE = re.compile(r'<section id="provenance".*?</section>|<p class="eyebrow">.*?</p>', re.DOTALL)
TRAINED = re.compile(
    r"results/.*/(search|select|iid|sequential|ladder|portrait|control)/|results/trials/|data/"
)
Damage = Callable[[Path], None]


def flipped(path: Path) -> None:
    content = bytearray(path.read_bytes())
    place = random.Random(str(path)).randrange(8 * len(content))
    content[place // 8] ^= 1 << place % 8
    path.write_bytes(content)


def cut(path: Path) -> None:
    content = path.read_bytes()
    path.write_bytes(content[: len(content) // 2])


def emptied(path: Path) -> None:
    path.write_bytes(b"")


def zeroed(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def removed(path: Path) -> None:
    path.unlink()


def replaced(path: Path) -> None:
    path.unlink()
    path.mkdir()


WAYS: Sequence[Damage] = (flipped, cut, emptied, zeroed, removed, replaced)


class Run:
    """A finished run, and what its files were."""

    def __init__(self, folder: Path) -> None:
        self.workspace = Workspace(folder)
        self.folder = folder
        self.before = self.files()
        self.named = self.gone = self.again = self.damaged = 0
        self.accounts = 0
        self.failures: list[str] = []

    def files(self) -> dict[str, bytes]:
        paths = (p for part in ("results", "data") for p in (self.folder / part).rglob("*"))
        files = (path for path in paths if path.is_file() and not path.name.endswith(".lock"))
        return {str(path.relative_to(self.folder)): path.read_bytes() for path in files}

    def wrong(self) -> set[str]:
        """What verify names."""
        checked = check(self.folder / "results", self.folder / "data")
        return {str(c.path.relative_to(self.folder)) for c in checked if c.fault is not None}

    def put_back(self) -> None:
        for name, content in self.before.items():
            path = self.folder / name
            if path.is_dir():
                path.rmdir()
            path.write_bytes(content)

    def expect(self, what: str, found: Iterable[str], wanted: Iterable[str]) -> int:
        """Count what is found as wanted, and note the rest."""
        found, wanted = set(found), set(wanted)
        self.failures += [f"{what}: not {name}" for name in sorted(wanted - found)]
        self.failures += [f"{what}: also {name}" for name in sorted(found - wanted)]
        return len(found & wanted)

    def name_and_remove(self, damage: Damage, names: Sequence[str]) -> None:
        """Damage some files, no two of one result; verify must name and remove exactly these."""
        for name in names:
            damage(self.folder / name)
        self.damaged += len(names)
        wanted = {unit(name) for name in names if noticed(name, damage)}
        what = f"{damage.__name__}, verify"
        self.named += self.expect(what, self.wrong(), wanted)
        self.verify_and_remove()
        left = {name for name in wanted if (self.folder / name).exists()}
        left |= {name for name in wanted if record_of(self.folder / name).exists()}
        self.gone += len(wanted) - len(left)
        self.expect(f"{damage.__name__}, removed", left, ())
        self.put_back()

    def verify_and_remove(self) -> None:
        for checked in list(check(self.folder / "results", self.folder / "data")):
            if checked.fault is not None:
                checked.remove()

    def make_again(self, names: Sequence[str], verify_first: bool) -> None:
        """Damage some files in all ways; the next run must make them again."""
        for number, name in enumerate(sorted(names)):
            ways = [way for way in WAYS if noticed(name, way)]
            ways[number % len(ways)](self.folder / name)
        if verify_first:
            self.verify_and_remove()
        done = subprocess.run(
            self.workspace.run_command(), cwd=self.folder, capture_output=True, text=True
        )
        what = f"run after damage to {len(names)} files"
        if done.returncode:
            self.failures.append(f"{what}: code {done.returncode}: {done.stderr[-2000:]}")
        after = self.files()
        units = {unit(name) for name in names}
        for name, content in self.before.items():
            if ACCOUNTS.fullmatch(unit(name)):
                self.accounts += unit(name) in units
            elif name in after and comparable(name, after[name]) == comparable(name, content):
                self.again += unit(name) in units
            else:
                self.failures.append(f"{what}: {name} is not the same")
        self.expect(f"{what}, then verify", self.wrong(), ())
        self.before = after


def unit(name: str) -> str:
    """The result that a file belongs to: itself, or the one that it is the record of."""
    path = Path(name)
    record = RECORD.fullmatch(path.name)
    return str(path.with_name(record["name"])) if record else name


def noticed(name: str, damage: Damage) -> bool:
    """Whether verify can notice a kind of damage: nothing records that these files exist."""
    unrecorded = name.startswith((TRIALS, "data/")) and "/raw/" not in name
    account = "/invocations/." in name
    return damage is not removed or not (unrecorded or account)


def comparable(name: str, content: bytes) -> object:
    """The content of a file without times."""
    if name.startswith(TRIALS):
        return {**json.loads(content)["result"], "seconds": 0}
    if name.endswith(".report.html.sha256"):
        return None
    return PAGE.sub("", content.decode()) if name.endswith("report.html") else content


def name_all(run: Run) -> None:
    """Damage every file in every way. A result and its record are never damaged together."""
    results = sorted(name for name in run.before if unit(name) == name)
    records = sorted(set(run.before) - set(results))
    for damage in WAYS:
        for group in (results, records):
            for half in (group[::2], group[1::2]):
                run.name_and_remove(damage, half)


def make_all_again(run: Run, rng: random.Random) -> None:
    """Damage whole stages, then random halves, through real runs."""
    everything = sorted(name for name in run.before if unit(name) == name)
    trained = [name for name in everything if TRAINED.match(name)]
    report("training, trials and data", run, trained, True)
    report("all that is made from them", run, sorted({*everything} - {*trained}), False)
    # Results or their records, but no trials: with its results whole, no job needs one again.
    units = sorted({unit(n) for n in run.before if not n.startswith((TRIALS, "data/"))})
    rng.shuffle(units)
    for number, half in enumerate((units[::2], units[1::2])):
        names = [
            rng.choice([n for n in (one, str(record_of(Path(one)))) if n in run.before])
            for one in half
        ]
        report(f"random half {number + 1}", run, names, number == 0)


def report(title: str, run: Run, names: Sequence[str], verify_first: bool) -> None:
    begun = time.time()
    run.make_again(names, verify_first)
    print(f"{title}: {len(names)} files, {time.time() - begun:.0f} s", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--finished", type=Path, help="take a copy of this finished run")
    parser.add_argument("--alone", action="store_true", help="also one file of each kind alone")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place).resolve() / "run"
        if options.finished:
            shutil.copytree(options.finished, folder, copy_function=shutil.copy2)
        else:
            folder.mkdir()
            Workspace(folder).configure(PRESET)
            subprocess.run(Workspace(folder).run_command(), cwd=folder, check=True)
        run = Run(folder)
        print(f"{len(run.before)} files × {len(WAYS)} ways", flush=True)
        name_all(run)
        print(f"{run.damaged} damaged, {run.named} named, {run.gone} removed", flush=True)
        make_all_again(run, random.Random(options.seed))
        for kind, name in kinds(run).items() if options.alone else ():
            report(f"{kind} alone", run, [name], False)
    counts = Counter(line.partition(":")[0] for line in run.failures)
    print(*run.failures[:50], *counts.most_common(), sep="\n")
    print(
        f"{run.damaged} damaged one way each, {run.named} named, {run.gone} removed;"
        f" {run.again} files made again the same, {run.accounts} with other times,"
        f" {len(run.failures)} failures"
    )
    return 1 if run.failures else 0


def kinds(run: Run) -> dict[str, str]:
    """One file of each kind."""
    found: dict[str, str] = {}
    for name in sorted(run.before):
        if unit(name) == name and not name.startswith(TRIALS):
            parts = Path(name).parts
            found.setdefault(" ".join((*parts[:1], *parts[2:3], Path(name).suffix)), name)
    return found


if __name__ == "__main__":
    sys.exit(main())
