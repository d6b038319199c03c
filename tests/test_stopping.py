"""Stopping a job in the middle of a trial, and starting a run while another is active."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

import psutil
import pytest

from snap import Iid, Trial
from snap.pipeline.config import merge
from workspace import SMOKE, Make, until


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["ctrl-c", "sigterm"])
@pytest.mark.parametrize("threads", [1, 2])
def test_a_job_stops_in_the_middle_of_a_trial(tmp_path, synthetic_root, threads, number):
    long = Trial("linear-linear", 1, 4, 0, dataset="Synthetic", experiment=Iid(10**6), hidden=64)
    cell = {"trials": [long.text], "pairs": [(0.1, 0.1), (0.1, 0.2)], "then": []}
    spec = json.dumps({"engine": "cpu", "cells": [cell]})
    command = [sys.executable, "-m", "snap", "job", "search", "--spec", spec]
    command += ["--output", tmp_path / "out.csv", "--store", tmp_path / "trials"]
    command += ["--heartbeats", tmp_path / "heartbeats", "--ledger", tmp_path / "ledger.json"]
    command += ["--threads", str(threads), "--dir", synthetic_root]

    def reset_sigint() -> None:
        """Restore the default action of Ctrl-C, which a shell's background processes ignore."""
        signal.signal(signal.SIGINT, signal.SIG_DFL)

    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, preexec_fn=reset_sigint)

    def training():
        return any('"share": 0.0,' not in p.read_text() for p in tmp_path.glob("heartbeats/*.json"))

    try:
        until(training, process)
        begun = time.time()
        process.send_signal(number)
        _, said = process.communicate(timeout=30)
    finally:
        process.kill()
    took = time.time() - begun
    assert took < 10, f"{took:.1f} s from the signal to the end"
    assert process.returncode == (130 if number == signal.SIGINT else -signal.SIGTERM)
    assert "Traceback" not in said
    left = {p.name for p in tmp_path.rglob("*") if p.is_file() and p.parent.name != "heartbeats"}
    assert left == set(), "half a trial was stored"


def test_a_second_run_reports_that_the_first_is_active(tmp_path):
    make = Make(tmp_path, SMOKE)
    first = make.start()
    try:
        until(lambda: psutil.Process(first.pid).children(), first)
        (runner,) = psutil.Process(first.pid).children()
        started = time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(runner.create_time()))
        who = f"process {runner.pid} on {socket.gethostname()}, since {started}"
        for moment in ("before there is a lock", "while it trains"):
            if moment == "while it trains":
                until(make.stored, first)
            second = subprocess.run(
                first.args, cwd=tmp_path, capture_output=True, text=True, timeout=60
            )
            assert second.returncode != 0, moment
            assert f"another run is active in this folder: {who}" in second.stderr, moment
        assert make.locked()
        trained = len(make.stored())
        until(lambda: len(make.stored()) > trained, first)
    finally:
        os.killpg(first.pid, signal.SIGKILL)
        first.wait()


def test_jobs_end_with_their_shell_and_with_the_run(tmp_path):
    """Then nothing is written after a clean-up, and the next run trains their trials itself."""
    make = Make(tmp_path, merge(SMOKE, {"search": {"epochs": 10**6}}))
    beats = tmp_path / "results/smoke/heartbeats"

    def jobs() -> list[psutil.Process]:
        numbers = [json.loads(beat.read_text())["pid"] for beat in beats.glob("*.json")]
        return [psutil.Process(number) for number in numbers if psutil.pid_exists(number)]

    started = [make.start()]
    try:
        for killed in ("shell", "run.py", "snakemake"):
            until(jobs, started[-1])
            job = jobs()[0]
            (runner,) = psutil.Process(started[-1].pid).children()
            (snakemake,) = runner.children()
            {"shell": job.parent(), "run.py": runner, "snakemake": snakemake}[killed].kill()
            if killed == "shell":
                until(lambda job=job: not job.is_running(), started[-1], seconds=5)
                assert snakemake.is_running()
                continue
            assert started[-1].wait(timeout=60) != 0
            psutil.wait_procs([snakemake, job], timeout=5)
            assert make.alive() == 0, killed
            if killed == "run.py":
                shutil.rmtree(beats)
                started.append(make.start())
        assert "snap: Snakemake was killed by signal 9; run the same command again" in make.said()
        make.configure(SMOKE)
        started.append(make.start())
        until(make.stored, started[-1])
        assert "removing its lock" in make.said()
    finally:
        for process in started:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
