"""What this process was given to work with: cores, and on a cluster a job and perhaps a GPU."""

from __future__ import annotations

import os
import socket

# What OpenMP (and so torch), OpenBLAS, MKL, numexpr and numba look at when they are imported.
LIMITS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMEXPR_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)


def cores() -> int:
    """The cores that this process may use: what SLURM or taskset left it, else all there are."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # macOS
        return os.cpu_count() or 1


def bind(threads: int) -> int:
    """Hold every library to this many threads, or to the cores there are if those are fewer.

    To be called before any of the libraries is imported. Returns the number.
    """
    threads = max(1, min(threads, cores()))
    os.environ.update(dict.fromkeys(LIMITS, str(threads)))
    return threads


def slurm_job() -> str | None:
    """The SLURM job that this process is part of, as squeue names it."""
    array, task = os.environ.get("SLURM_ARRAY_JOB_ID"), os.environ.get("SLURM_ARRAY_TASK_ID")
    return f"{array}_{task}" if array and task else os.environ.get("SLURM_JOB_ID")


def gpus() -> str:
    """The GPUs that this process may use, if a cluster granted some; empty otherwise."""
    return os.environ.get("CUDA_VISIBLE_DEVICES", "")


def text(threads: int) -> str:
    """All of it in a line for the log."""
    job = slurm_job()
    parts = [f"on {socket.gethostname()}", f"threads: {threads}", f"cores: {cores()}"]
    if job is not None:
        parts.append(f"SLURM job: {job}")
    parts.append(f"GPU granted: {gpus()}" if gpus() else "no GPU granted")
    return ", ".join(parts)
