"""The resources of this process: cores and, on a cluster, its SLURM job and GPUs."""

from __future__ import annotations

import os
import resource
import socket
import tempfile
import time
from pathlib import Path
from typing import Any

# Read by OpenMP (and so torch), OpenBLAS, MKL, numexpr and numba when they are imported.
LIMITS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)

_TAKEN: list[Any] = []  # the lock of the GPU that this process has taken


def cores() -> int:
    """The number of cores this process may use; SLURM or taskset may have restricted it."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def memory() -> int | None:
    """The memory of the machine in bytes."""
    try:
        return os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, OSError, ValueError):
        return None


def usable_memory() -> int | None:
    """The memory of the machine, or less if this process may not use so much (ulimit -v)."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    known = [memory(), None if limit == resource.RLIM_INFINITY else limit]
    return min((size for size in known if size is not None), default=None)


def bind(threads: int) -> int:
    """Limit every library to this many threads, or to the number of cores if that is smaller.

    Call this before any of the libraries is imported. Returns the number of threads.
    """
    threads = max(1, min(threads, cores()))
    os.environ.update(dict.fromkeys(LIMITS, str(threads)))
    return threads


def slurm_job() -> str | None:
    """The SLURM job of this process, with the id that squeue shows."""
    array, task = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    return f"{array}_{task}" if array and task else os.environ.get("SLURM_JOB_ID")


def slurm_start() -> str | None:
    """This start of the SLURM job of this process; SLURM may start a job again."""
    job = slurm_job()
    return f"{job} {os.environ.get('SLURM_RESTART_COUNT', 0)}" if job is not None else None


def gpus() -> str:
    """The GPUs that the cluster granted to this process; empty if none."""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "")


def take_gpu() -> None:
    """Of several GPUs of an allocation, take one that no other job of it uses; wait for one.

    Call this before torch is imported. The lock ends with the process.
    """
    devices = gpus().split(",")
    if len(devices) < 2 or (job := slurm_job()) is None:
        return
    from filelock import FileLock, Timeout

    locks = {
        device: FileLock(
            Path(tempfile.gettempdir()) / f"snap-gpu-{os.getuid()}-{job}-{device}.lock"
        )
        for device in devices
    }
    while True:
        for device, lock in locks.items():
            try:
                lock.acquire(timeout=0)
            except Timeout:
                continue
            _TAKEN.append(lock)
            os.environ["CUDA_VISIBLE_DEVICES"] = device
            return
        time.sleep(1)


def text(threads: int) -> str:
    """The resources in one line, for the log."""
    job = slurm_job()
    parts = [f"on {socket.gethostname()}", f"threads: {threads}", f"cores: {cores()}"]
    if job is not None:
        parts.append(f"SLURM job: {job}")
    parts.append(f"GPU granted: {gpus()}" if gpus() else "no GPU granted")
    return ", ".join(parts)
