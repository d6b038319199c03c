"""The resources of this process: cores and, on a cluster, its SLURM job and GPUs."""

from __future__ import annotations

import os
import socket

# Read by OpenMP (and so torch), OpenBLAS, MKL, numexpr and numba when they are imported.
LIMITS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def cores() -> int:
    """The number of cores this process may use; SLURM or taskset may have restricted it."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


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


def gpus() -> str:
    """The GPUs that the cluster granted to this process; empty if none."""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "")


def text(threads: int) -> str:
    """The resources in one line, for the log."""
    job = slurm_job()
    parts = [f"on {socket.gethostname()}", f"threads: {threads}", f"cores: {cores()}"]
    if job is not None:
        parts.append(f"SLURM job: {job}")
    parts.append(f"GPU granted: {gpus()}" if gpus() else "no GPU granted")
    return ", ".join(parts)
