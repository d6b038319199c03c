"""A SLURM cluster on one machine: accounting, two login nodes, two CPU and two GPU nodes.

Each node is a set of namespaces (nodes.py). SLURM, its database and munge are the real ones. The
GPUs are pretended. Jobs are those of an ordinary user with an account. Needs root.
"""

from __future__ import annotations

import os
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Self

import psutil
from nodes import ADDRESSES, HEAD, Node, until

HERE = Path(__file__).parent
DAEMONS = ("munged", "mariadbd", "slurmdbd", "slurmctld", "slurmd")
TOOLS = ("unshare", "nsenter", "setpriv", "ip")
PACKAGES = "slurm-wlm slurmdbd mariadb-server munge iproute2"
SYSTEM = "/usr/sbin:/sbin"  # where the daemons are if they are not on the PATH
COMPUTE = ("gpu1", "gpu2", "cpu1", "cpu2")
USER, UID, ACCOUNT = "alice", 5001, "physics"
PREFIX = "snap-slurm-"


def program(name: str) -> str | None:
    return shutil.which(name) or shutil.which(name, path=SYSTEM)


def missing() -> str | None:
    """Why the cluster cannot run here and what to do about it; None if it can."""
    absent = [name for name in (*DAEMONS, *TOOLS) if program(name) is None]
    if absent:
        return (
            f"SLURM is not installed ({', '.join(absent)} missing): on Debian,"
            f" apt-get install --no-install-recommends {PACKAGES}"
        )
    if os.geteuid() != 0:
        return "SLURM's daemons and the nodes' namespaces need root: run make test-slurm as root"
    tried = subprocess.run(
        ["unshare", "--mount", "--net", "--pid", "--fork", "mount", "-t", "tmpfs", "none", "/mnt"],
        capture_output=True,
        text=True,
    )
    if tried.returncode != 0:
        return (
            f"this machine allows no namespaces ({tried.stderr.strip()}): run on a machine, or in a"
            " container with --privileged"
        )
    return None


def no_slow_files() -> str | None:
    """Why there is no delayed file system here; None if there is one."""
    if program("bindfs") is None:
        return "no delayed file system (bindfs missing): apt-get install bindfs"
    if not Path("/dev/fuse").exists():
        return "no delayed file system: this machine has no /dev/fuse"
    return None


class Cluster:
    """The partitions are cpu, gpu, and urgent, which preempts the others."""

    def __init__(self) -> None:
        # A short path, because of the sockets. Root's own folders are closed to the user.
        self.folder = Path(tempfile.mkdtemp(prefix=PREFIX, dir="/var/tmp"))
        self.folder.chmod(0o755)
        (self.folder / "owner").write_text(str(os.getpid()))
        self.nodes: dict[str, Node] = {}
        self.daemons: dict[str, subprocess.Popen[bytes]] = {}
        self.password = secrets.token_hex(8)
        self.slow = no_slow_files() is None

    def __enter__(self) -> Self:
        end_leftovers()
        self._make_folders()
        self._configure()
        for name in ADDRESSES:
            self.nodes[name] = Node(name, self.folder, USER, self.nodes.get(HEAD))
            self.nodes[name].power_on(self._mounts())
        self._start_database()
        for name in ("slurmdbd", "slurmctld", *COMPUTE):
            self.start(name)
        self.until_nodes("idle")
        for command in (
            f"add account {ACCOUNT} Description=x Organization=x",
            f"add user {USER} Account={ACCOUNT}",
        ):
            self.nodes[HEAD].run("sacctmgr", "--immediate", *command.split())
        return self

    def __exit__(self, *_: object) -> None:
        for node in self.nodes.values():
            node.power_cut()
        for process in self.daemons.values():
            process.wait(timeout=30)
        shutil.rmtree(self.folder)

    def _make_folders(self) -> None:
        for name in ("log", "state", "spool", "munge", "mysql", "tmp", "shared", "disk", "slow"):
            (self.folder / name).mkdir()
        for name, owner in {"state": "slurm", "munge": "munge", "mysql": "mysql"}.items():
            shutil.chown(self.folder / name, owner)
        (self.folder / "munge").chmod(0o755)
        for parent in ("shared", "disk"):
            home = self.folder / parent / USER
            home.mkdir()
            os.chown(home, UID, UID)

    def _configure(self) -> None:
        etc = self.folder / "etc"
        shutil.copytree("/etc", etc, symlinks=True, ignore=shutil.ignore_patterns("slurm"))
        home = self.folder / "shared" / USER
        for file, line in {
            "passwd": f"{USER}:x:{UID}:{UID}::{home}:/bin/bash",
            "group": f"{USER}:x:{UID}:",
            "hosts": "\n".join(f"{address} {name}" for name, address in ADDRESSES.items()),
        }.items():
            with (etc / file).open("a") as out:
                out.write(f"\n{line}\n")
        shutil.copytree(HERE / "etc", etc / "slurm")
        for path in (etc / "slurm").iterdir():
            text = path.read_text().replace("@DIR@", str(self.folder))
            path.write_text(text.replace("@PASSWORD@", self.password))
        private = etc / "slurm/slurmdbd.conf"
        private.chmod(0o600)
        shutil.chown(private, "slurm", "slurm")
        key = etc / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o400)
        shutil.chown(key, "munge", "munge")

    def _mounts(self) -> str:
        """Shell commands: every node sees the folder `disk` as `slow`, 30 s late."""
        lines = reachable(sys.base_prefix, sys.prefix, str(HERE.parents[1]))
        if self.slow:
            # The kernel caches entries, attributes and absent names, as clients of NFS do.
            late = "entry_timeout=30,attr_timeout=30,negative_timeout=30,allow_other"
            lines.append(f"bindfs -o {late} {self.folder}/disk {self.folder}/slow")
        return "\n".join(lines)

    def _start_database(self) -> None:
        head, at = self.nodes[HEAD], self.folder
        munged = ["munged", "--foreground", "--force", "--socket=/run/munge/munge.socket.2"]
        munged += [f"--{kind}-file={at}/munge/munged.{kind}" for kind in ("log", "pid", "seed")]
        self._spawn("munged", HEAD, *munged, "--key-file=/etc/munge.key", user="munge")
        data = ("--no-defaults", "--user=mysql", f"--datadir={at}/mysql")
        tables = ["--skip-test-db", "--auth-root-authentication-method=normal"]
        head.run("mariadb-install-db", *data, *tables)
        socket = f"--socket={at}/mysql/mysqld.sock"
        server = [f"--pid-file={at}/mysql/mysqld.pid", "--innodb-lock-wait-timeout=900"]
        self._spawn(
            "mariadbd", HEAD, "mariadbd", *data, socket, "--bind-address=127.0.0.1", *server
        )
        client = ("mariadb", "--no-defaults", "--user=root", socket, "--execute")
        until("database", lambda: self._answers(*client, "select 1"), self.folder)
        for host in ("127.0.0.1", "localhost"):
            who = f"'slurm'@'{host}'"
            head.run(*client, f"create user {who} identified by '{self.password}'")
            head.run(*client, f"grant all on slurm_acct_db.* to {who}")

    def _answers(self, *command: str) -> bool:
        return (
            subprocess.run(self.nodes[HEAD].command(command), capture_output=True).returncode == 0
        )

    def _spawn(self, name: str, node: str, *command: str, user: str | None = None) -> None:
        line = [program(command[0]) or command[0], *command[1:]]
        if user is not None:
            line = ["runuser", "-u", user, "--", *line]
        with (self.folder / f"log/{name}.out").open("ab") as out:
            self.daemons[name] = subprocess.Popen(
                self.nodes[node].command(line),
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    def start(self, name: str) -> None:
        """Start slurmdbd, slurmctld, or the slurmd of a node, and wait until it answers."""
        if name in COMPUTE:
            self._spawn(name, name, "slurmd", "-D", "-N", name)
            return
        self._spawn(name, HEAD, name, "-D", user="slurm")
        asked = {"slurmdbd": ("sacctmgr", "-n", "show", "cluster"), "slurmctld": ("sinfo", "-h")}
        until(name, lambda: self._answers(*asked[name]), self.folder)

    def stop(self, name: str) -> None:
        """End a daemon; what it manages goes on. The controller may save its state first."""
        nsenter = psutil.Process(self.daemons[name].pid)
        kind = signal.SIGTERM if name == "slurmctld" else signal.SIGKILL
        for process in nsenter.children(recursive=True):
            if process.name() in DAEMONS:
                process.send_signal(kind)
        self.daemons[name].wait(timeout=30)

    def power_cut(self, name: str) -> None:
        self.nodes[name].power_cut()
        self.daemons[name].wait(timeout=30)

    def power_on(self, name: str) -> None:
        self.nodes[name].power_on(self._mounts())
        self.start(name)
        self.slurm("scontrol", "update", f"nodename={name}", "state=resume", check=False)
        self.until_nodes("idle", "mixed", "allocated", "completing", names=(name,))

    def restore(self) -> None:
        """Return to the state of the start: all daemons and nodes up, an empty queue, no limits."""
        for name in ("slurmdbd", "slurmctld"):
            if self.daemons[name].poll() is not None:
                self.start(name)
        for name in COMPUTE:
            if self.nodes[name].unshare is None:
                self.power_on(name)
        self.slurm("scancel", f"--user={USER}", "--signal=KILL", "--full", check=False)
        self.slurm("scancel", f"--user={USER}", check=False)
        self.limit(MaxSubmitJobs=-1)
        names = f"nodename={','.join(COMPUTE)}"
        self.slurm("scontrol", "update", names, "state=resume", check=False)
        self.until_nodes("idle")

    def limit(self, **limits: int) -> None:
        """Set limits of the user; -1 removes one."""
        pairs = [f"{key}={value}" for key, value in limits.items()]
        self.slurm("sacctmgr", "--immediate", "modify", "user", USER, "set", *pairs)

    def slurm(self, *command: str, check: bool = True) -> str:
        """Run a SLURM command as the administrator."""
        return self.nodes[HEAD].run(*command, check=check)

    def until_nodes(self, *states: str, names: Sequence[str] = COMPUTE) -> None:
        def reached() -> bool:
            if not self._answers("sinfo", "-h"):
                return False
            rows = self.slurm("sinfo", "-h", "-N", "-o", "%N %T", "-n", ",".join(names)).split("\n")
            seen: Mapping[str, str] = dict(row.split() for row in rows if row)
            return len(seen) == len(names) and set(seen.values()) <= set(states)

        until(f"node that is {' or '.join(states)}", reached, self.folder)


def reachable(*paths: str) -> list[str]:
    """Shell commands that let an ordinary user reach paths below a closed folder, such as /root."""
    aside, covered, back = ["mount -t tmpfs -o mode=755 none /mnt"], [], []
    for number, path in enumerate(dict.fromkeys(paths)):
        parents = reversed(Path(path).parents)
        closed = next((parent for parent in parents if not parent.stat().st_mode & 0o001), None)
        if closed is None:
            continue
        aside.append(f"mkdir /mnt/{number} && mount --bind {path} /mnt/{number}")
        covered.append(f"mount -t tmpfs -o mode=755 none {closed}")
        back.append(f"mkdir -p {path} && mount --bind /mnt/{number} {path}")
    return [*aside, *dict.fromkeys(covered), *back] if back else []


def end_leftovers() -> None:
    """End the nodes that a killed test run has left behind, and remove their folders."""
    for folder in Path("/var/tmp").glob(f"{PREFIX}*"):
        owner = folder / "owner"
        if owner.exists() and psutil.pid_exists(int(owner.read_text())):
            continue
        for process in psutil.process_iter(["cmdline"]):
            words = process.info["cmdline"] or [""]
            if "unshare" in words and f"{folder}/etc" in words[-1]:
                process.kill()
        shutil.rmtree(folder)
