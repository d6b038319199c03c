"""Kill the workflow, again and again, and see what is left of it.

Run by `make test-kill KILLS=200`. A run of the `smoke` preset is started as make starts it, its
whole process group is killed with SIGKILL after a random while, and it is started again with the
same command, until it comes to its end; then the next one begins in an empty folder. Every table,
figure and verdict is compared with those of a run that nobody touched, byte for byte. The last line
tells how many kills there were, after how many of them the run came to its end, how many finished
points were trained again (there should be none), how many were under way when killed, and how many
bytes differ.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from workspace import ROOT, SMOKE, Workspace

COMPARED = ("tables/*.csv", "figures/*.csv", "figures/*.png", "paper/*", "claims.*")
PATIENCE = 600  # seconds in which a run that nobody kills must end


def command(workspace: Workspace) -> str:
    """What make runs, in one line."""
    recover = f"{sys.executable} {ROOT}/workflow/recover.py --snakefile {ROOT}/Snakefile"
    passes = [" ".join(workspace.command(target)) for target in ("pairs", "all")]
    return f"{recover} && {{ {passes[0]}; {passes[1]}; }}"


def start(workspace: Workspace) -> subprocess.Popen[bytes]:
    log = (workspace.folder / "output.txt").open("ab")
    return subprocess.Popen(
        ["bash", "-c", command(workspace)],
        cwd=workspace.folder,
        stdout=log,
        stderr=log,
        start_new_session=True,
    )


def outcome(workspace: Workspace) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for pattern in COMPARED:
        found |= workspace.files(pattern)
    return found


def differing(found: dict[str, bytes], expected: dict[str, bytes]) -> int:
    """Bytes that differ; a file that is missing or too many differs in all of its bytes."""
    count = 0
    for name in found.keys() | expected.keys():
        one, two = found.get(name, b""), expected.get(name, b"")
        count += sum(a != b for a, b in zip(one, two, strict=False)) + abs(len(one) - len(two))
    return count


def stored(workspace: Workspace) -> dict[str, int]:
    """Finished points; one that is trained again is another file."""
    return {
        path.name: path.stat().st_ino
        for path in (workspace.folder / "results/trials").glob("*/*.json")
    }


def stage(workspace: Workspace) -> str:
    """How far a run is, by what there is already."""
    for name in ("figures", "tables", "sequential", "iid", "select", "search"):
        if list((workspace.folder / "results/smoke").glob(f"{name}/**/[!.]*.*")):
            return name
    return "start"


def fresh(folder: Path) -> Workspace:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    workspace = Workspace(folder)
    workspace.configure(SMOKE)
    return workspace


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rng = random.Random(options.seed)
    with tempfile.TemporaryDirectory() as place:
        untouched = fresh(Path(place) / "untouched")
        begun = time.time()
        if start(untouched).wait(PATIENCE):
            print((untouched.folder / "output.txt").read_text()[-3000:])
            return 1
        took, expected = time.time() - begun, outcome(untouched)
        print(f"untouched: {took:.0f} s, {len(expected)} files to compare", flush=True)

        kills = survived = repeated = under_way = bytes_off = open_kills = 0
        stages: Counter[str] = Counter()
        workspace, known = fresh(Path(place) / "killed"), {}
        while kills < options.kills or open_kills:
            process = start(workspace)
            last = kills >= options.kills
            try:
                code = process.wait(PATIENCE if last else rng.uniform(0.5, 0.2 * took))
            except subprocess.TimeoutExpired:
                if last:
                    print((workspace.folder / "output.txt").read_text()[-3000:])
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                kills, open_kills = kills + 1, open_kills + 1
                stages[stage(workspace)] += 1
                under_way += len(list(workspace.folder.glob("results/smoke/running/*.json")))
                for beat in workspace.folder.glob("results/smoke/running/*.json"):
                    beat.unlink()
                now = stored(workspace)
                repeated += sum(now.get(name, inode) != inode for name, inode in known.items())
                known = now
                if last:
                    return 1
                continue
            now = stored(workspace)
            repeated += sum(now.get(name, inode) != inode for name, inode in known.items())
            if code == 0:
                survived += open_kills
            else:
                print((workspace.folder / "output.txt").read_text()[-3000:])
            bytes_off += differing(outcome(workspace), expected)
            open_kills, known, workspace = 0, {}, fresh(Path(place) / "killed")
        print("killed after the first file of:", dict(stages))
        print(
            f"{kills} kills, {survived} survived, {repeated} finished points trained again,"
            f" {under_way} under way when killed, {bytes_off} bytes differ"
        )
        return 0 if survived == kills and not repeated and not bytes_off else 1


if __name__ == "__main__":
    sys.exit(main())
