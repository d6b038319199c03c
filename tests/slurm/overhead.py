"""Run `quick` on CPU nodes of the test cluster, and print how much of what it takes is training.

As root: `.venv/bin/python tests/slurm/overhead.py`. Data must be in data/ before.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from cluster import Cluster
from on_slurm import ON_CPU, Run, compile_modules, own

from snap.pipeline.config import read
from workspace import ROOT

CORES = "2 8 16 32 64 128".split()


def main() -> None:
    config = read([ROOT / "config.yaml", ROOT / "workflow/presets/quick.yaml"])
    compile_modules()
    with Cluster() as cluster:
        run = Run(cluster, "overhead", config, ON_CPU)
        shutil.copytree(ROOT / "data", run.folder / "data")
        own(run.folder)
        run.start("tables", make=True)
        if run.process.wait():
            sys.exit(run.output())
        print(run.snap("costs", "--project", str(ROOT / "config.yaml"), "--cores", *CORES))
        jobs = ",".join(run.jobs())
        # Beside other work, the CPU time says more than the time that passed.
        form = ["--format=jobid,elapsedraw,totalcpu", f"--jobs={jobs}"]
        print(cluster.slurm("sacct", "--allocations", *form))


if __name__ == "__main__":
    main()
