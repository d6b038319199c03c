"""Run one machine as a SLURM cluster (munged, slurmctld and slurmd) during the tests.

The configuration must be in SLURM's own folder, because the processes that a Snakemake job starts
do not see SLURM_CONF. Everything else is in a separate folder. Needs root.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import time
from pathlib import Path
from typing import Self

import psutil

HERE = Path(__file__).parent
ETC = Path("/etc/slurm")
MARK = (HERE / "slurm.conf.in").read_text().splitlines()[0]
DAEMONS = ("munged", "slurmctld", "slurmd")
SYSTEM = "/usr/sbin"  # where the daemons are if they are not on the PATH


def program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path=SYSTEM)


def missing() -> str | None:
    """Why the cluster cannot run here and what to do about it; None if it can."""
    absent = [name for name in DAEMONS if program(name) is None]
    if absent:
        return (
            f"SLURM is not installed ({', '.join(absent)} missing): on Debian,"
            " apt-get install --no-install-recommends slurm-wlm munge"
        )
    if os.geteuid() != 0:
        return "SLURM's daemons need root: run make test-slurm as root"
    conf = ETC / "slurm.conf"
    if conf.exists() and not conf.read_text().startswith(MARK):
        return f"this machine has its own SLURM configuration, {conf}, which the tests do not touch"
    return None


class Cluster:
    """A cluster with one node, two fake GPUs, and two partitions, cpu and gpu."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.processes: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        self._end_leftovers()
        self._configure()
        self.start("munged")
        self._until("munged", lambda: (self.folder / "munge.socket").exists())
        self.start("slurmctld")
        self.start("slurmd")
        self.until_node("idle")
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["scancel", "--user=root"], check=False)
        for name in reversed(DAEMONS):
            self.processes[name].terminate()
            self.processes[name].wait(timeout=30)
        for name in ("slurm.conf", "gres.conf"):
            (ETC / name).unlink()

    def _end_leftovers(self) -> None:
        """End the daemons that a killed test run has left behind."""
        conf = ETC / "slurm.conf"
        if not conf.exists():
            return
        settings = dict(line.split("=", 1) for line in conf.read_text().splitlines() if "=" in line)
        folder = Path(settings["StateSaveLocation"]).parent
        for name in DAEMONS:
            try:
                process = psutil.Process(int((folder / f"{name}.pid").read_text()))
                if process.name() == name:  # the pid may have been reused
                    process.kill()
            except (OSError, ValueError, psutil.Error):
                continue

    def _configure(self) -> None:
        for name in ("state", "spool"):
            (self.folder / name).mkdir()
        with Path("/proc/meminfo").open() as file:
            memory = int(file.readline().split()[1]) // 1024
        values = {
            "DIR": str(self.folder),
            "HOST": socket.gethostname().split(".")[0],
            "CPUS": str(os.cpu_count()),
            "MEMORY": str(int(memory * 0.9)),
        }
        text = (HERE / "slurm.conf.in").read_text()
        for key, value in values.items():
            text = text.replace(f"@{key}@", value)
        ETC.mkdir(exist_ok=True)
        (ETC / "slurm.conf").write_text(text)
        shutil.copy(HERE / "gres.conf", ETC)
        key = self.folder / "munge.key"
        key.touch(mode=0o600)
        key.write_bytes(os.urandom(128))

    def start(self, name: str) -> None:
        """Start a daemon in the foreground, in its own process group."""
        at = self.folder
        command = {
            "munged": ["munged", "--foreground", "--force", f"--socket={at}/munge.socket"]
            + [f"--{kind}-file={at}/munged.{kind}" for kind in ("log", "pid", "seed")]
            + [f"--key-file={at}/munge.key"],
            "slurmctld": ["slurmctld", "-D", "-c"],  # -c: forget an earlier run
            "slurmd": ["slurmd", "-D"],
        }[name]
        command[0] = program(name) or name
        with (at / f"{name}.out").open("ab") as out:
            self.processes[name] = subprocess.Popen(
                command, stdout=out, stderr=out, start_new_session=True
            )

    def kill(self, name: str) -> None:
        self.processes[name].kill()
        self.processes[name].wait()

    def resume(self, node: str) -> None:
        """Return a node that is down to service; SLURM refuses if it has already returned."""
        command = ["scontrol", "update", f"nodename={node}", "state=resume"]
        subprocess.run(command, capture_output=True, check=False)
        self.until_node("mixed", "allocated", "idle")

    def until_node(self, *states: str) -> None:
        """Wait until the node is in one of these states."""

        def reached() -> bool:
            done = subprocess.run(["sinfo", "-h", "-o", "%T"], capture_output=True, text=True)
            return bool(set(done.stdout.split()) & set(states))

        self._until(f"node that is {' or '.join(states)}", reached)

    def _until(self, what: str, condition) -> None:
        deadline = time.monotonic() + 30
        while not condition():
            if time.monotonic() > deadline:
                logs = [*self.folder.glob("*.out"), *self.folder.glob("*.log")]
                text = "\n".join(f"--- {log}\n{log.read_text()[-2000:]}" for log in logs)
                raise TimeoutError(f"no {what} within 30 s\n{text}")
            time.sleep(0.1)
