"""What a cluster allows, and whether the jobs of a run fit: checked before anything is submitted.

SLURM's own commands are asked. What they do not answer is not checked.
"""

from __future__ import annotations

import getpass
import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

from snap.pipeline.cluster.slurm import ask, seconds


@dataclass(frozen=True)
class Request:
    """What the jobs of a rule ask for."""

    rule: str
    partition: str = ""
    account: str = ""
    qos: str = ""
    constraint: str = ""
    minutes: int = 0
    memory_mb: int = 0
    cores: int = 1
    gpus: int = 0
    gpu_type: str = ""


@dataclass
class Partition:
    """The limits of a partition: its own, and those of its largest node."""

    minutes: float = math.inf
    memory_mb: float = math.inf
    cores: float = math.inf
    up: bool = True
    accounts: frozenset[str] | None = None  # None: all
    gpus: dict[str, int] = field(default_factory=dict)  # the most on one node, by type; "" for any
    features: frozenset[str] = frozenset()
    has_nodes: bool = False


@dataclass
class Offer:
    """A cluster's partitions, and what it allows this user. None means that it did not say."""

    partitions: dict[str, Partition] | None = None
    default_partition: str = ""
    accounts: frozenset[str] | None = None
    qos: frozenset[str] | None = None
    submit_limit: float = math.inf
    accounting: bool = True  # whether SLURM keeps accounts of ended jobs

    def of(self, partition: str) -> Partition:
        """The limits of a partition; of several, separated by commas, the smallest."""
        found = [
            (self.partitions or {}).get(name, Partition())
            for name in (partition or self.default_partition).split(",")
        ]
        return min(found, key=lambda one: (one.minutes, one.memory_mb))


def offer() -> Offer:
    """Ask SLURM what it allows."""
    found = Offer()
    _read_partitions(found)
    _read_nodes(found)
    _read_associations(found)
    return found


def _read_partitions(found: Offer) -> None:
    lines = ask("scontrol", "show", "partition", "--oneliner", "--all", timeout=20)
    if lines is None:
        return
    found.partitions = {}
    for line in lines:
        values = dict(re.findall(r"(\w+)=(\S*)", line))
        name = values.get("PartitionName")
        if not name:
            continue
        one = found.partitions[name] = Partition(up=values.get("State", "UP") == "UP")
        if (limit := seconds(values.get("MaxTime", ""))) is not None:
            one.minutes = limit / 60
        if values.get("MaxMemPerNode", "").isdigit():
            one.memory_mb = int(values["MaxMemPerNode"]) or math.inf
        if (allowed := values.get("AllowAccounts", "ALL")) != "ALL":
            one.accounts = frozenset(allowed.lower().split(","))
        if values.get("Default") == "YES":
            found.default_partition = name


def _read_nodes(found: Offer) -> None:
    form = "--format=%R|%m|%c|%G|%f"
    lines = ask("sinfo", "--all", "--noheader", "--Node", form, timeout=20)
    largest: dict[str, tuple[int, int]] = {}
    for line in lines or ():
        name, memory, cores, gres, features = line.split("|", 4)
        one = (found.partitions or {}).get(name)
        if one is None:
            continue
        one.has_nodes = True
        most = largest.get(name, (0, 0))
        largest[name] = (max(most[0], _number(memory)), max(most[1], _number(cores)))
        one.features |= frozenset(features.split(",")) - {"(null)"}
        counts: dict[str, int] = {}
        for kind, count in re.findall(r"\bgpu(?::([\w.-]*[A-Za-z_][\w.-]*))?(?::(\d+))?", gres):
            counts[kind.lower()] = counts.get(kind.lower(), 0) + int(count or 1)
        counts[""] = sum(counts.values())
        for kind, count in counts.items():
            one.gpus[kind] = max(one.gpus.get(kind, 0), count)
    for name, (memory_mb, most_cores) in largest.items():
        one = (found.partitions or {})[name]
        one.memory_mb = min(one.memory_mb, memory_mb or math.inf)
        one.cores = most_cores or math.inf


def _number(text: str) -> int:
    """The number that a text starts with: SLURM writes 9000+ for nodes that differ."""
    digits = re.match(r"\d+", text)
    return int(digits[0]) if digits else 0


def _read_associations(found: Offer) -> None:
    config = "\n".join(ask("scontrol", "show", "config", timeout=20) or ())
    found.accounting = re.search(r"AccountingStorageType\s*=.*none", config) is None
    what = ("sacctmgr", "--noheader", "--parsable2", "show")
    form = "format=account,qos,maxsubmitjobs"
    lines = ask(*what, "associations", f"user={getpass.getuser()}", form, timeout=20)
    if not lines:
        if lines is not None and re.search(r"AccountingStorageEnforce\s*=.*associations", config):
            found.accounts = frozenset()
        return
    accounts, qos, limits = set(), set(), []
    for line in lines:
        account, allowed, limit = line.split("|")[:3]
        accounts.add(account.lower())
        qos |= set(filter(None, allowed.split(",")))
        limits.append(int(limit) if limit.isdigit() else math.inf)
    found.accounts, found.qos = frozenset(accounts), frozenset(qos)
    found.submit_limit = max(limits)
    for line in ask(*what, "qos", "format=name,maxsubmitjobsperuser", timeout=20) or ():
        name, limit = line.split("|")[:2]
        if limit.isdigit() and found.qos == {name}:  # the only one that this user has
            found.submit_limit = min(found.submit_limit, int(limit))


def problems(requests: Iterable[Request], offered: Offer) -> list[str]:
    """What is wrong with the requests, one sentence each, without repetitions."""
    if offered.accounts is not None and not offered.accounts:
        return ["you have no account on this cluster, and it requires one"]
    found: dict[str, list[str]] = {}
    for request in requests:
        for problem in _problems(request, offered):
            found.setdefault(problem, []).append(request.rule)
    texts = [f"{problem} ({', '.join(dict.fromkeys(rules))})" for problem, rules in found.items()]
    if offered.submit_limit == 0:
        texts.append("your account may not submit any job (MaxSubmitJobs is 0)")
    return texts


def _problems(request: Request, offered: Offer) -> list[str]:
    found = []
    if offered.accounts is not None:
        if request.account and request.account.lower() not in offered.accounts:
            found.append(f"account {request.account}: you have {_names(offered.accounts)}")
            request = replace(request, account="")
        if request.qos and offered.qos and request.qos not in offered.qos:
            found.append(f"QOS {request.qos}: you have {_names(offered.qos)}")
    if offered.partitions is None:
        return found
    names = (request.partition or offered.default_partition).split(",")
    faults: dict[str, list[str]] = {}
    for name in names:
        if name not in offered.partitions:
            given = (
                f"partition {name}" if name else "no partition is given, and none is the default"
            )
            return [*found, f"{given}: there are {_names(offered.partitions)}"]
        faults[name] = _misfits(request, offered.of(name))
    if not all(faults.values()):  # SLURM takes the one that fits
        return found
    return [*found, *(f"partition {name}: {fault}" for name in names for fault in faults[name])]


def _misfits(request: Request, partition: Partition) -> list[str]:
    """Where a request exceeds a partition."""
    found = []
    if not partition.up:
        found.append("it is not up")
    allowed = partition.accounts
    if request.account and allowed is not None and request.account.lower() not in allowed:
        found.append(f"account {request.account} may not use it, only {_names(allowed)}")
    if request.minutes > partition.minutes:
        found.append(f"a time limit of {request.minutes} min exceeds its {partition.minutes:.0f}")
    if not partition.has_nodes:
        return found
    if request.memory_mb > partition.memory_mb:
        most = f"{partition.memory_mb:.0f}"
        found.append(f"{request.memory_mb} MB of memory exceed the {most} of its largest node")
    if request.cores > partition.cores:
        found.append(f"{request.cores} cores exceed the {partition.cores:.0f} of its largest node")
    if request.gpus and not partition.gpus.get(""):
        found.append("its nodes have no GPU")
    elif request.gpus > partition.gpus.get(request.gpu_type.lower(), 0):
        types = sorted(filter(None, partition.gpus)) or ["GPUs without a type"]
        wanted = f"{request.gpus} GPU" + (
            f" of type {request.gpu_type}" if request.gpu_type else ""
        )
        found.append(f"no node has {wanted}; there is {', '.join(types)}")
    plain = re.fullmatch(r"[\w.-]+", request.constraint)  # not an expression of several features
    if plain and request.constraint not in partition.features:
        found.append(f"no node has the feature {request.constraint}")
    return found


def _names(values: Iterable[str] | Mapping[str, object]) -> str:
    return ", ".join(sorted(values)) or "none"
