"""Machines in namespaces of this one: each has a name, an address and processes of its own."""

from __future__ import annotations

import os
import shlex
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import psutil

HEAD = "head"  # the others are connected to its bridge
ADDRESSES = {
    HEAD: "10.77.0.1",
    "login1": "10.77.0.2",
    "login2": "10.77.0.3",
    "gpu1": "10.77.0.11",
    "gpu2": "10.77.0.12",
    "cpu1": "10.77.0.21",
    "cpu2": "10.77.0.22",
}


class Node:
    """A machine. Killing its first process is a power cut."""

    def __init__(self, name: str, folder: Path, user: str, head: Node | None = None) -> None:
        self.name, self.folder, self.user, self.head = name, folder, user, head
        self.unshare: subprocess.Popen[bytes] | None = None
        self.first = 0  # the process id of the node's first process, as seen from this machine

    def power_on(self, mounts: str = "") -> None:
        """Start the node. `mounts` are further shell commands that it runs first."""
        at = shlex.quote(str(self.folder))
        # Private copies of whole folders: the mount of a single file vanishes when it is replaced.
        setup = f"""
            set -e
            hostname {self.name}
            mount --bind {at}/etc /etc
            mkdir -p /run/munge
            mount --bind {at}/munge /run/munge
            mkdir -p {at}/tmp/{self.name}
            chmod 1777 {at}/tmp/{self.name}
            mount --bind {at}/tmp/{self.name} /tmp
            ip link set lo up
            {mounts}
            exec sleep infinity"""
        kinds = "--mount --uts --net --pid --ipc --fork --kill-child --mount-proc".split()
        with (self.folder / f"log/{self.name}.out").open("ab") as out:
            self.unshare = subprocess.Popen(
                # The node ends with the tests, even if they are killed.
                [
                    "setpriv",
                    "--pdeathsig",
                    "KILL",
                    "unshare",
                    *kinds,
                    "--propagation=private",
                    "bash",
                    "-c",
                    setup,
                ],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )
        until(f"start of {self.name}", self._find_first, self.folder)
        self._connect()

    def _find_first(self) -> bool:
        assert self.unshare is not None
        assert self.unshare.poll() is None, (self.folder / f"log/{self.name}.out").read_text()
        for child in psutil.Process(self.unshare.pid).children():
            if child.name() == "sleep":
                self.first = child.pid
                return True
        return False

    def _connect(self) -> None:
        address = f"{ADDRESSES[self.name]}/24"
        if self.head is None:
            steps = ["link add br0 type bridge", f"addr add {address} dev br0", "link set br0 up"]
            inside = self.first
        else:
            inside, veth = self.head.first, f"v-{self.name}"
            ip(inside, f"link del {veth}", check=False)  # left by a power cut
            ip(inside, f"link add {veth} type veth peer name eth0 netns {self.first}")
            ip(inside, f"link set {veth} master br0 up")
            steps = [f"addr add {address} dev eth0", "link set eth0 up"]
            inside = self.first
        for step in steps:
            ip(inside, step)

    def power_cut(self) -> None:
        """End every process of the node at once."""
        if self.unshare is None:
            return
        if psutil.pid_exists(self.first):
            os.kill(self.first, signal.SIGKILL)
        self.unshare.wait(timeout=30)
        self.unshare = None

    def command(
        self,
        command: Sequence[str],
        user: str | None = None,
        environment: Mapping[str, str] | None = None,
        at: Path | None = None,
    ) -> list[str]:
        """The command line that runs a command on the node, as root or as a user in a folder."""
        enter = ["nsenter", "-t", str(self.first), "-m", "-u", "-n", "-p", "-i"]
        if user is None:
            return [*enter, *command]
        home = self.folder / "shared" / user
        values = {"HOME": str(home), "USER": user, "LOGNAME": user, "LANG": "C.UTF-8"}
        values |= {"PATH": "/usr/local/bin:/usr/bin:/bin", "TERM": "dumb", **(environment or {})}
        pairs = [f"{key}={value}" for key, value in values.items()]
        where = ["-C", str(at or home)]  # nsenter's own --wd would be outside the node's mounts
        return [*enter, "runuser", "-u", user, "--", "env", "-i", *where, *pairs, *command]

    def run(self, *command: str, user: str | None = None, check: bool = True) -> str:
        done = subprocess.run(self.command(command, user), capture_output=True, text=True)
        if check and done.returncode != 0:
            raise RuntimeError(f"{self.name}: {shlex.join(command)}: {done.stderr}{done.stdout}")
        return done.stdout


def ip(process: int, arguments: str, check: bool = True) -> None:
    """Run `ip` in the network of a process."""
    command = ["nsenter", "-t", str(process), "-n", "ip", *arguments.split()]
    subprocess.run(command, check=check, capture_output=True)


def until(what: str, condition: Callable[[], bool], folder: Path, seconds: float = 60) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            logs = sorted((folder / "log").glob("*"))
            text = "\n".join(f"--- {log.name}\n{log.read_text()[-1500:]}" for log in logs)
            raise TimeoutError(f"no {what} within {seconds:.0f} s\n{text}")
        time.sleep(0.1)
